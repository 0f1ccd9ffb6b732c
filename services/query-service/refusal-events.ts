import { failedEventData } from '../contract/events/event.ts'
import { readReference, referenceKinds } from '../domain/reference.ts'
import type { RefusedRequest } from '../platform/http/binding.ts'
import type { Database } from '../platform/postgres/database.ts'
import { writeEvents } from '../platform/postgres/events/events.ts'
import { withTenant } from '../platform/postgres/transaction.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { tenantOf } from './change.ts'

/** Events of refusals that one key can cause in a minute, in each process. */
export const maxRefusalEvents = 100

const windowMs = 60_000
const maxLoggedKeys = 10

const failingChange = /^(customer|location|device)_(create|update|delete)$/

const referenceIn = (body: unknown): string | null => {
  if (typeof body !== 'object' || body === null || !('reference_id' in body)) return null
  const reference = body.reference_id
  // Characters, not their halves: what is cut within one is no text that JSON can hold.
  return typeof reference === 'string' ? [...reference.slice(0, 510)].slice(0, 255).join('') : null
}

/** The object that a refused change named: by its id, or by an own reference that no object has. */
const objectOf = (
  id: string,
  referenceId: string | null,
): { readonly id: string | null; readonly referenceId: string | null } => {
  const reference = readReference(id, referenceKinds)
  if (reference === null) return { id: id === '' ? null : id, referenceId }
  return { id: null, referenceId: referenceId ?? reference.reference }
}

/** Count refusals of keys by the minute; at the end of a minute `report` gets the number of events left out, by key. */
const refusalCount = (report: (leftOut: ReadonlyMap<string, number>) => void): ((keyId: string) => boolean) => {
  let counts = new Map<string, number>()
  const endMinute = (): void => {
    const leftOut = new Map(
      [...counts].flatMap(([keyId, count]) => (count > maxRefusalEvents ? [[keyId, count - maxRefusalEvents]] : [])),
    )
    counts = new Map()
    if (leftOut.size > 0) report(leftOut)
  }
  return keyId => {
    if (counts.size === 0) setTimeout(endMinute, windowMs).unref()
    const count = (counts.get(keyId) ?? 0) + 1
    counts.set(keyId, count)
    return count <= maxRefusalEvents
  }
}

/**
 * Make the writer of the events of refused changes of customers, locations and devices; refusals of other operations leave none, nor does
 * a request whose twin goes on. A key causes at most 100 a minute: the rest is counted and logged, so that a caller without the right
 * to write cannot fill the store. Only valid keys are counted, so memory is bounded by the keys in use.
 * Source: docs/rules/events-and-webhooks.md #failed-requests.
 */
export const refusalEvents = (
  database: Database,
  logger: Pick<Logger, 'warn'>,
): ((refusedRequest: RefusedRequest) => Promise<void>) => {
  const isWithinLimit = refusalCount(leftOut => {
    const total = [...leftOut.values()].reduce((sum, count) => sum + count, 0)
    logger.warn(
      { left_out: total, key_ids: [...leftOut.keys()].slice(0, maxLoggedKeys) },
      'events of refused changes were left out',
    )
  })
  return async refusedRequest => {
    const { operation, refusal, caller, body, requestId, at } = refusedRequest
    const [, kind, verb] = failingChange.exec(operation.id) ?? []
    if (kind === undefined || refusal.code === 'idempotency_in_progress' || !isWithinLimit(caller.keyId)) return
    const namedObject = objectOf(refusedRequest.id, referenceIn(body))
    const event = {
      type: `${kind}.${verb}.failed`,
      objectId: namedObject.id,
      data: failedEventData(namedObject, refusal, requestId),
    }
    await withTenant(database, tenantOf({ caller }), transaction => writeEvents(transaction, [event], at))
  }
}
