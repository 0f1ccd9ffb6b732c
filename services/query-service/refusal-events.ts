import { failedEventData } from '../contract/events/event.ts'
import { readReference, referenceKinds } from '../domain/reference.ts'
import type { RefusedRequest } from '../platform/http/binding.ts'
import type { Database } from '../platform/postgres/database.ts'
import { writeEvents } from '../platform/postgres/events/events.ts'
import { withTenant } from '../platform/postgres/transaction.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { tenantOf } from './change.ts'

/** Maximum number of refusal events of one key per minute and process. */
export const maxRefusalEvents = 100

const windowMs = 60_000
const maxLoggedKeys = 10

const failingChange = /^(customer|location|device)_(create|update|delete)$/

const referenceIn = (body: unknown): string | null => {
  if (typeof body !== 'object' || body === null || !('reference_id' in body)) return null
  const reference = body.reference_id
  // Spread into whole characters: half of a surrogate pair is not valid text.
  return typeof reference === 'string' ? [...reference.slice(0, 510)].slice(0, 255).join('') : null
}

/** Identify the object of a refused change by its id, or by an own reference that no object has. */
const objectOf = (
  id: string,
  referenceId: string | null,
): { readonly id: string | null; readonly referenceId: string | null } => {
  const reference = readReference(id, referenceKinds)
  if (reference === null) return { id: id === '' ? null : id, referenceId }
  return { id: null, referenceId: referenceId ?? reference.reference }
}

/** Count the refusals of each key per minute. At the end of the minute `report` receives the skipped events by key. */
const refusalCount = (report: (skipped: ReadonlyMap<string, number>) => void): ((keyId: string) => boolean) => {
  let counts = new Map<string, number>()
  const endMinute = (): void => {
    const skipped = new Map(
      [...counts].flatMap(([keyId, count]) => (count > maxRefusalEvents ? [[keyId, count - maxRefusalEvents]] : [])),
    )
    counts = new Map()
    if (skipped.size > 0) report(skipped)
  }
  return keyId => {
    if (counts.size === 0) setTimeout(endMinute, windowMs).unref()
    const count = (counts.get(keyId) ?? 0) + 1
    counts.set(keyId, count)
    return count <= maxRefusalEvents
  }
}

/**
 * Create the function that writes the events of refused changes of customers, locations and devices. Refusals of other
 * operations write no event. A request that is refused because its duplicate is in progress writes none either.
 * Each key causes at most 100 events per minute, so that a caller without write access cannot fill the store. The
 * events above the limit are counted and logged. Only valid keys are counted, so the memory is bounded by the keys in
 * use.
 * Source: docs/rules/events-and-webhooks.md #failed-requests.
 */
export const refusalEvents = (
  database: Database,
  logger: Pick<Logger, 'warn'>,
): ((refusedRequest: RefusedRequest) => Promise<void>) => {
  const isWithinLimit = refusalCount(skipped => {
    const total = [...skipped.values()].reduce((sum, count) => sum + count, 0)
    logger.warn(
      { left_out: total, key_ids: [...skipped.keys()].slice(0, maxLoggedKeys) },
      'Refusal events over the limit skipped',
    )
  })
  return async refusedRequest => {
    const { operation, refusal, caller, readBody, requestId, at } = refusedRequest
    const [, kind, verb] = failingChange.exec(operation.id) ?? []
    if (kind === undefined || refusal.code === 'idempotency_in_progress' || !isWithinLimit(caller.keyId)) return
    const namedObject = objectOf(refusedRequest.id, referenceIn(await readBody()))
    const event = {
      type: `${kind}.${verb}.failed`,
      objectId: namedObject.id,
      data: failedEventData(namedObject, refusal, requestId),
    }
    await withTenant(database, tenantOf({ caller }), transaction => writeEvents(transaction, [event], at))
  }
}
