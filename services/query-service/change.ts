import { answerInApiVersion } from '../contract/exchange.ts'
import { auditActionOf, isAudited, type Operation, type RequestOf } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import type { AuditEntry } from '../domain/registry/audit-entry.ts'
import { type EventDraft, writeEvents } from '../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../platform/postgres/events/outbox.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import { appendAudit } from '../platform/postgres/registry/audit-log.ts'
import { changeTenant, type Tenant, type TenantTransaction } from '../platform/postgres/transaction.ts'
import type { QueryServiceDependencies } from './dependencies.ts'

/** Audit entry of a change: the action as `resource.verb`, the id of the object, and the object. */
type AuditNote = Pick<AuditEntry, 'action' | 'objectId' | 'detail'>

/**
 * Result of a change, with its effects. The events and audit entries are written in its transaction.
 * The recost requests and changed prices are sent to the partitions after the commit.
 */
export type Change<T> = {
  readonly value: T
  /** Finished answer that replaces `value`: UTF-8 text in the API version of the request. */
  readonly bytes?: Buffer
  readonly events: readonly EventDraft[]
  /** Absent: an entry for each event, or one entry with the answer. Empty: nothing was changed. */
  readonly audit?: readonly AuditNote[]
  readonly recostRequests?: readonly (OutboxMessage | null)[]
  /** Market source whose prices changed. */
  readonly changedPrices?: SourceRevision | null
}

/** Describe a deletion of objects, with an event and an audit entry for each of them. */
export const deletion = (events: readonly EventDraft[]): Change<{ readonly message: 'Accepted' }> => ({
  value: { message: 'Accepted' },
  events,
  audit: events.map(({ type, objectId, data }) => ({ action: type, objectId, detail: data })),
})

/** Event types after which an own reference may name another object, or no object. */
const changesReference = /^(location|device|customer)\.(update|delete)$/

/** Time in ms that an answer waits until its recost requests are in their partitions. */
const recostTimeoutMs = 1_000

export const tenantOf = ({ caller }: Pick<RequestOf<Operation>, 'caller'>): Tenant => ({
  accountId: caller.accountId,
  liveMode: caller.liveMode,
})

/**
 * Change records of the caller in one transaction. The transaction also stores the events and, under an
 * Idempotency-Key, the answer. A refusal rolls back the transaction.
 * After the commit this waits up to 1 s for the recost requests. The relay sends those that take longer.
 * Refuses what `work` refuses, and `idempotency_in_progress` if another process has taken over the request.
 * Source: docs/rules/versions-and-transport.md #idempotency; docs/architecture.md #outbox-and-leases, #recost-requests.
 */
export const change = async <T>(
  dependencies: QueryServiceDependencies,
  operation: Operation,
  request: RequestOf<Operation>,
  work: (transaction: TenantTransaction) => Promise<Result<Change<T>>>,
): Promise<Result<T>> => {
  const outcome = await changeTenant(dependencies.database, tenantOf(request), async transaction => {
    const result = await work(transaction)
    if (!result.ok) return result
    await writeEvents(transaction, result.value.events, request.at)
    await writeAudit(transaction.query, operation, request, result.value)
    return (await saveAnswer(dependencies, operation, request, transaction, result.value)) ? result : takenOver
  })
  if (outcome.ok) {
    if (outcome.value.events.some(({ type }) => changesReference.test(type)))
      dependencies.onReferencesChanged(tenantOf(request))
    await publishRecosts(dependencies, outcome.value)
    return accepted(outcome.value.value)
  }
  return outcome
}

/** Id of the changed object: of the path, else of the answer. */
const objectIdOf = (request: Pick<RequestOf<Operation>, 'id'>, value: unknown): string | null => {
  const { id } = Object(value) as { readonly id?: unknown }
  if (request.id !== '') return request.id
  return typeof id === 'string' ? id : null
}

/** Audit entries of a change that describes none itself. An answer with a secret never becomes an entry. */
const defaultAudit = (
  operation: Operation,
  request: Pick<RequestOf<Operation>, 'id'>,
  { events, value }: Pick<Change<unknown>, 'events' | 'value'>,
): readonly AuditNote[] => {
  if (!isAudited(operation)) return []
  if (operation.secretAnswer === true) throw new Error(`The change of ${operation.id} describes no audit entry.`)
  if (events.length > 0) return events.map(({ type, objectId, data }) => ({ action: type, objectId, detail: data }))
  return [{ action: auditActionOf(operation), objectId: objectIdOf(request, value), detail: value }]
}

/** Write the audit entries of a change in its transaction. */
export const writeAudit = async (
  query: TenantTransaction['query'],
  operation: Operation,
  request: Pick<RequestOf<Operation>, 'caller' | 'at' | 'id'>,
  described: Pick<Change<unknown>, 'audit' | 'events' | 'value'>,
): Promise<void> => {
  for (const note of described.audit ?? defaultAudit(operation, request, described))
    await appendAudit(query, tenantOf(request), { ...note, actor: request.caller.keyId, at: request.at })
}

const takenOver = refused(
  'idempotency_in_progress',
  'A request with this Idempotency-Key is in progress. Send it again in a moment',
)

/** Save the answer of a request with an Idempotency-Key. Return false if another process has taken over the request. */
const saveAnswer = async (
  { idempotency }: QueryServiceDependencies,
  operation: Operation,
  { idempotency: claim, apiVersion }: RequestOf<Operation>,
  transaction: TenantTransaction,
  { value, bytes }: Pick<Change<unknown>, 'value' | 'bytes'>,
): Promise<boolean> => {
  if (claim === null) return true
  const body = bytes?.toString() ?? JSON.stringify(answerInApiVersion(operation, value, apiVersion))
  return idempotency.finishWithin(transaction, claim, { status: operation.status, apiVersion, body })
}

/**
 * Send recost requests and changed prices to their partitions. Return after 1 s at the latest; the sending continues.
 */
export const publishRecosts = async (
  { publishRecosts: publish, announcePrices }: QueryServiceDependencies,
  { recostRequests = [], changedPrices = null }: Pick<Change<unknown>, 'recostRequests' | 'changedPrices'>,
): Promise<void> => {
  const pending = recostRequests.filter(recostRequest => recostRequest !== null)
  const publications = [
    ...(pending.length === 0 ? [] : [publish(pending)]),
    ...(changedPrices === null ? [] : [announcePrices(changedPrices)]),
  ]
  if (publications.length === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, recostTimeoutMs)
  try {
    await Promise.race([Promise.all(publications), promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Object type with optional members instead of undefined values. */
type OmitUndefined<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Copy an object without its undefined members. */
export const omitUndefined = <T extends Readonly<Record<string, unknown>>>(members: T): OmitUndefined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as OmitUndefined<T>
