import { readSentBody } from '../../contract/exchange.ts'
import type { Caller, Operation, RawBody } from '../../contract/operation.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { runInTimeSlices } from '../concurrency/time-slices.ts'
import { isFailure } from '../failure.ts'
import { anonymousCaller } from './access.ts'
import type { Ports } from './binding.ts'

type RefusalContext = {
  readonly operation: Operation
  readonly caller: Caller
  readonly parameters: Readonly<Record<string, string>>
  readonly body: RawBody
}

/**
 * Tell of a refusal; a body that its shapes refused is read once more, for what it says of itself. Throws on where the store is away: a
 * refusal that is answered has its event, as a change has. Not told is what says nothing of the request itself: too many of them (429), a
 * busy service (503), and whatever comes before the caller is known.
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
      body: await runInTimeSlices(readSentBody(operation, body), caller.accountId),
      requestId,
      at,
    })
  } catch (error) {
    if (isFailure(error) && error.retriable) throw error
    ports.log.warn({ err: error, request_id: requestId }, 'a refusal could not be recorded')
  }
}
