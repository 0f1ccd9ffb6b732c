import { answerInLayout } from '../contract/exchange.ts'
import type { Operation, RequestOf } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { inTurns } from '../platform/event-loop-turn.ts'
import { type AuditEntry, appendAudit } from '../platform/postgres/audit-log.ts'
import { type EventDraft, writeEvents } from '../platform/postgres/events.ts'
import type { OutboxMessage } from '../platform/postgres/outbox.ts'
import type { SourceRevision } from '../platform/postgres/pricing-input.ts'
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
  readonly orders?: readonly (OutboxMessage | null)[]
  /** The source whose prices it changed. */
  readonly priced?: SourceRevision | null
}

/** Events of changes after which an own reference may name another object, or none. */
const changesReference = /^(location|device|customer)\.(update|delete)$/

/** How long an answer waits for its orders to stand in their lanes, in ms. */
const orderPatienceMs = 1_000

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
  const made = await changeTenant(dependencies.database, tenantOf(request), async transaction => {
    const result = await work(transaction)
    if (!result.ok) return result
    await writeEvents(transaction, result.value.events, request.at)
    await writeAudit(transaction.query, request, result.value)
    return (await keepAnswer(dependencies, operation, request, transaction, result.value)) ? result : takenOver
  })
  if (made.ok) {
    if (made.value.events.some(({ type }) => changesReference.test(type))) dependencies.referencesChanged(tenantOf(request))
    await publishSoon(dependencies, made.value)
    return accepted(made.value.value)
  }
  return made
}

/** Write what auditors read of a change into its transaction. */
export const writeAudit = async (
  query: TenantTransaction['query'],
  request: Pick<RequestOf<Operation>, 'caller' | 'at'>,
  { audit = [] }: Pick<Change<unknown>, 'audit'>,
): Promise<void> => {
  for (const note of audit) await appendAudit(query, tenantOf(request), { ...note, actor: request.caller.keyId, at: request.at })
}

const takenOver = refused('idempotency_in_progress', 'A request with this Idempotency-Key is under way; send it again in a moment')

/** Keep the answer of a request that has an Idempotency-Key with its change; false where the request is another process's by now. */
const keepAnswer = async (
  { idempotency }: QueryServiceDependencies,
  operation: Operation,
  { idempotency: claim, layout }: RequestOf<Operation>,
  transaction: TenantTransaction,
  { value, bytes }: Pick<Change<unknown>, 'value' | 'bytes'>,
): Promise<boolean> => {
  if (claim === null) return true
  const body = bytes?.toString() ?? (await inTurns(writeJson(answerInLayout(operation, value, layout)), transaction.accountId))
  return idempotency.finishWithin(transaction, claim, { status: operation.status, layout, body })
}

/** Put orders into their lanes; what takes longer than patience lasts goes on by itself, or is the relay's. */
export const publishSoon = async (
  { publishOrders, announcePrices }: QueryServiceDependencies,
  { orders = [], priced = null }: Pick<Change<unknown>, 'orders' | 'priced'>,
): Promise<void> => {
  const owed = orders.filter(order => order !== null)
  const ways = [...(owed.length === 0 ? [] : [publishOrders(owed)]), ...(priced === null ? [] : [announcePrices(priced)])]
  if (ways.length === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, orderPatienceMs)
  try {
    await Promise.race([Promise.all(ways), promise])
  } finally {
    clearTimeout(timer)
  }
}
