import { readSentBody } from '../../contract/exchange.ts'
import type { Caller, Operation, RawBody } from '../../contract/operation.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { isFailure } from '../failure.ts'
import { anonymousCaller } from './access.ts'
import type { Ports } from './binding.ts'
import { nextTurnFor } from './request-body.ts'

type RefusalContext = {
  readonly operation: Operation
  readonly caller: Caller
  readonly parameters: Readonly<Record<string, string>>
  readonly body: RawBody
}

/**
 * Emit the `*.failed` event of a refusal. The event contains the parts of an invalid body that can be read.
 * Throws if the store is unavailable, so that each answered refusal has its event.
 * Refusals before authentication, rate limits (429) and a busy service (503) emit no event, because they say nothing
 * about the request.
 * Source: docs/rules/events-and-webhooks.md #failed-requests.
 */
export const emitRefusalEvent = async (
  { operation, caller, parameters, body }: RefusalContext,
  refusal: Refusal,
  { requestId, at }: { readonly requestId: string; readonly at: number },
  ports: Ports,
): Promise<void> => {
  if (ports.onRefusal === undefined || caller === anonymousCaller) return
  try {
    await ports.onRefusal({
      operation,
      refusal,
      caller,
      id: parameters['id'] ?? '',
      readBody: async () => {
        await nextTurnFor(body, caller.accountId)
        return readSentBody(operation, body)
      },
      requestId,
      at,
    })
  } catch (error) {
    if (isFailure(error) && error.retriable) throw error
    ports.log.warn({ err: error, request_id: requestId }, 'Event of a refusal not stored')
  }
}
