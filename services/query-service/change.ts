import { answerInApiVersion } from '../contract/exchange.ts'
import type { Operation, RequestOf } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import { type EventDraft, writeEvents } from '../platform/postgres/events/events.ts'
import type { OutboxMessage } from '../platform/postgres/events/outbox.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import { type AuditEntry, appendAudit } from '../platform/postgres/registry/audit-log.ts'
import { changeTenant, type Tenant, type TenantTransaction } from '../platform/postgres/transaction.ts'
import { writeJson } from '../platform/write-json.ts'
import type { QueryServiceDependencies } from './dependencies.ts'

/** What auditors read of a change: what was done, as `resource.verb`, to which object, and the object. */
type AuditNote = Pick<AuditEntry, 'action' | 'objectId' | 'detail'>

/** What a change gives its caller, and what it owes the world: events and audit notes, written with it, and orders, put into their lanes after it. */
export type Change<T> = {
  readonly value: T
  /** The answer as it was written already, in UTF-8 and the layout of the request, in place of `value`. */
  readonly bytes?: Buffer
  readonly events: readonly EventDraft[]
  readonly audit?: readonly AuditNote[]
  readonly recostRequests?: readonly (OutboxMessage | null)[]
  /** The source whose prices it changed. */
  readonly changedPrices?: SourceRevision | null
}

/** Events of changes after which an own reference may name another object, or none. */
const changesReference = /^(location|device|customer)\.(update|delete)$/

/** How long an answer waits for its orders to stand in their lanes, in ms. */
const recostTimeoutMs = 1_000

export const tenantOf = ({ caller }: Pick<RequestOf<Operation>, 'caller'>): Tenant => ({
  accountId: caller.accountId,
  liveMode: caller.liveMode,
})

/**
 * Make a change of the caller's records. In its transaction stand its events and, under an Idempotency-Key, its answer; the orders that
 * it owes are in their lanes when this returns, or are left to the relay after a second. A refusal undoes everything. Refuses what `work` refuses, and `idempotency_in_progress` where another process has taken the request over.
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
    await writeAudit(transaction.query, request, result.value)
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

/** Write what auditors read of a change into its transaction. */
export const writeAudit = async (
  query: TenantTransaction['query'],
  request: Pick<RequestOf<Operation>, 'caller' | 'at'>,
  { audit = [] }: Pick<Change<unknown>, 'audit'>,
): Promise<void> => {
  for (const note of audit)
    await appendAudit(query, tenantOf(request), { ...note, actor: request.caller.keyId, at: request.at })
}

const takenOver = refused(
  'idempotency_in_progress',
  'A request with this Idempotency-Key is under way; send it again in a moment',
)

/** Keep the answer of a request that has an Idempotency-Key with its change; false where the request is another process's by now. */
const saveAnswer = async (
  { idempotency }: QueryServiceDependencies,
  operation: Operation,
  { idempotency: claim, apiVersion }: RequestOf<Operation>,
  transaction: TenantTransaction,
  { value, bytes }: Pick<Change<unknown>, 'value' | 'bytes'>,
): Promise<boolean> => {
  if (claim === null) return true
  const body =
    bytes?.toString() ??
    (await runInTimeSlices(writeJson(answerInApiVersion(operation, value, apiVersion)), transaction.accountId))
  return idempotency.finishWithin(transaction, claim, { status: operation.status, apiVersion, body })
}

/** Put orders into their lanes; what takes longer than patience lasts goes on by itself, or is the relay's. */
export const publishRecosts = async (
  { publishRecosts: publishOrders, announcePrices }: QueryServiceDependencies,
  { recostRequests = [], changedPrices = null }: Pick<Change<unknown>, 'recostRequests' | 'changedPrices'>,
): Promise<void> => {
  const pending = recostRequests.filter(recostRequest => recostRequest !== null)
  const publications = [
    ...(pending.length === 0 ? [] : [publishOrders(pending)]),
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
