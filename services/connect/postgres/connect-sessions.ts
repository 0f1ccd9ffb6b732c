import sql from 'sql-template-tag'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { overlappingTariff } from '../../domain/tariff/tariff-change.ts'
import { toTimestamp, toTimestampOrNull } from '../../platform/postgres/column.ts'
import { countRows, type Query, readFirst, readRows } from '../../platform/postgres/database.ts'
import { ownedBy } from '../../platform/postgres/page.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import type { Tenant, TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { Replacement } from '../domain/connect-tariff.ts'
import type { ConnectConfig, ConnectRequest, ConnectState } from '../domain/session.ts'

/**
 * Tariff that another tariff replaced at `cutAt`: it was closed, or its contract was shortened from `contractEnd`.
 * Instants in ms.
 */
export type ReplacedTariff = Replacement & { readonly cutAt: number; readonly contractEnd: number | null }

/**
 * Stored Connect session. `id` is the keyed hash of its token; `sessionId` is public and grants nothing. Instants in
 * ms.
 */
export type StoredSession = Tenant & {
  readonly id: string
  readonly sessionId: string
  readonly keyId: string
  readonly config: ConnectConfig
  readonly request: ConnectRequest
  readonly state: ConnectState
  readonly customerId: string | null
  readonly locationId: string | null
  readonly tariffId: string | null
  readonly savedPrint: string | null
  /** Tariffs that the saved tariff replaced. They become valid again if the session saves another tariff. */
  readonly replaced: readonly ReplacedTariff[]
  readonly completeAction: 'SAVE' | 'DISCONNECT' | null
  readonly completedAt: number | null
  readonly announcedAt: number | null
  readonly createdAt: number
  readonly expiresAt: number
}

const columns = sql`
  account_id as "accountId", live_mode as "liveMode", id, session_id as "sessionId", key_id as "keyId", config, request,
  state, customer_id as "customerId", location_id as "locationId", tariff_id as "tariffId", saved_print as "savedPrint",
  replaced,
  complete_action as "completeAction", completed_at as "completedAt", announced_at as "announcedAt",
  time_created as "createdAt",
  expires_at as "expiresAt"`

/** Write a new session. */
export const createConnectSession = async (
  { query }: Pick<TenantTransaction, 'query'>,
  session: StoredSession,
): Promise<void> => {
  await query(sql`
    insert into connect_sessions (account_id, live_mode, id, session_id, key_id, config, request, state, customer_id,
      location_id, tariff_id,
      saved_print, replaced, complete_action, completed_at, announced_at, time_created, expires_at)
    values (${session.accountId}, ${session.liveMode}, ${session.id}, ${session.sessionId}, ${session.keyId},
      ${JSON.stringify(session.config)}, ${JSON.stringify(session.request)}, ${JSON.stringify(session.state)},
      ${session.customerId},
      ${session.locationId}, ${session.tariffId}, ${session.savedPrint}, ${JSON.stringify(session.replaced)},
      ${session.completeAction}, ${toTimestampOrNull(session.completedAt)}, ${toTimestampOrNull(session.announcedAt)},
      ${toTimestamp(session.createdAt)}, ${toTimestamp(session.expiresAt)})`)
}

/**
 * Find the tenant of a session by the hashes that its token can have. Null if there is none, the session has expired by
 * `at` (ms), or the account is disabled. Operator, because a token contains no account.
 */
export const findSessionOwner = async (
  operator: Query,
  ids: readonly string[],
  at: number,
): Promise<{ readonly tenant: Tenant; readonly id: string } | null> => {
  const { rows } = await operator<Tenant & { readonly id: string }>(sql`
    select account_id as "accountId", live_mode as "liveMode", id from connect_sessions
    where id = any(${ids}) and expires_at > ${toTimestamp(at)}
      and not exists (select from accounts a where a.id = account_id and a.disabled_at is not null)`)
  const [found] = rows
  return found === undefined ? null : { tenant: { accountId: found.accountId, liveMode: found.liveMode }, id: found.id }
}

/**
 * Retrieve a session by its id, or by the ids that its token can have; null if there is none. `forUpdate` locks the
 * session until the transaction ends.
 */
export const retrieveConnectSession = (
  transaction: TenantTransaction,
  id: string | readonly string[],
  { forUpdate = false }: { readonly forUpdate?: boolean } = {},
): Promise<StoredSession | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from connect_sessions where ${ownedBy(transaction)}
      and id = any(${[id].flat()}) ${forUpdate ? sql`for update` : sql``}`)

/** Retrieve a session by its public id; null if there is none. */
export const findSessionByName = (transaction: TenantTransaction, sessionId: string): Promise<StoredSession | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from connect_sessions where ${ownedBy(transaction)} and session_id = ${sessionId}`)

/** Write the changed state and results of a session. */
export const updateConnectSession = async (transaction: TenantTransaction, session: StoredSession): Promise<void> => {
  await transaction.query(sql`
    update connect_sessions set state = ${JSON.stringify(session.state)}, customer_id = ${session.customerId},
      location_id = ${session.locationId}, tariff_id = ${session.tariffId}, saved_print = ${session.savedPrint},
      replaced = ${JSON.stringify(session.replaced)},
      complete_action = ${session.completeAction}, completed_at = ${toTimestampOrNull(session.completedAt)},
      announced_at = ${toTimestampOrNull(session.announcedAt)}
    where ${ownedBy(transaction)} and id = ${session.id}`)
}

/** A completed session; `completedAt` in ms. */
export type SessionKey = Tenant & { readonly id: string; readonly completedAt: number }

/**
 * List completed sessions with a saved tariff that has no event yet, oldest first, after `after`. An empty id with an
 * instant (ms) comes before all sessions that completed from that instant on. Operator.
 */
export const unannouncedSessions = (
  operator: Query,
  after: Pick<SessionKey, 'completedAt' | 'id'>,
  limit: number,
): Promise<readonly SessionKey[]> =>
  readRows(operator)(sql`
    select account_id as "accountId", live_mode as "liveMode", id, completed_at as "completedAt" from connect_sessions
    where announced_at is null and complete_action = 'SAVE'
      and (completed_at, id) > (${toTimestamp(after.completedAt)}, ${after.id})
    order by completed_at, id limit ${limit}`)

/**
 * Delete sessions that expired before an instant (ms), with all input of their persons. Two kinds stay: sessions that
 * completed after `since` with a saved tariff that has no event yet, and sessions with a pending tariff. Returns the
 * number of deleted sessions. Operator.
 */
export const removeExpiredSessions = (operator: Query, before: number, since: number): Promise<number> =>
  countRows(operator)(sql`
    delete from connect_sessions where expires_at < ${toTimestamp(before)}
      and not (announced_at is null and complete_action is not distinct from 'SAVE'
        and completed_at > ${toTimestamp(since)})
      and not exists (
        select from tariff_credentials c
        where c.account_id = connect_sessions.account_id and c.live_mode = connect_sessions.live_mode
          and c.session_id = connect_sessions.id
          and c.consented_at is not null and c.fetched_at is null)`)

/** Return the name of the summary page that the account of a transaction uses. */
export const summaryNameOf = async ({
  query,
  accountId,
}: TenantTransaction): Promise<'tariffs_summary' | 'tariff_summary'> => {
  const { rows } = await query<{ name: 'tariffs_summary' | 'tariff_summary' }>(sql`
    select summary_route as name from accounts where id = ${accountId}`)
  return rows[0]?.name ?? 'tariffs_summary'
}

/** Set the name of the summary page of an account; false if there is no such account. Operator. */
export const setSummaryName = async (operator: Query, accountId: string, name: string): Promise<boolean> => {
  const changed = await operator(sql`update accounts set summary_route = ${name} where id = ${accountId}`)
  return changed.rowCount > 0
}

/** Record that a person reports the tariff on the summary page as wrong. */
export const reportTariff = async (
  transaction: TenantTransaction,
  report: {
    readonly sessionId: string
    readonly locationId: string | null
    readonly tariffId: string | null
    readonly providerName: string | null
  },
  at: number,
): Promise<void> => {
  const { accountId, liveMode, query } = transaction
  await query(sql`
    insert into tariff_reports (account_id, live_mode, session_id, location_id, tariff_id, provider_name, time_created)
    values (${accountId}, ${liveMode}, ${report.sessionId}, ${report.locationId}, ${report.tariffId},
      ${report.providerName}, ${toTimestamp(at)})`)
}

/** Tariff that a person reported as wrong; `at` in ms. */
export type TariffReport = Tenant & {
  readonly locationId: string | null
  readonly tariffId: string | null
  readonly providerName: string | null
  readonly at: number
}

/** List tariffs that were reported as wrong, newest first. Operator. */
export const listTariffReports = (operator: Query, limit: number): Promise<readonly TariffReport[]> =>
  readRows(operator)(sql`
    select account_id as "accountId", live_mode as "liveMode", location_id as "locationId", tariff_id as "tariffId",
      provider_name as "providerName", time_created as at
    from tariff_reports order by id desc limit ${limit}`)

/**
 * Restore a tariff to its state before another tariff replaced it. `others`: the tariffs of the same kind at the
 * location that are not voided, with this one. Null if the tariff was ended or changed since, or if another tariff is
 * now valid in its time. The caller writes the recost request.
 */
export const restoreTariff = async (
  transaction: TenantTransaction,
  { id, way, cutAt, contractEnd }: ReplacedTariff,
  others: readonly Tariff[],
): Promise<StoredTariff | null> => {
  const cut = others.find(one => one.id === id)
  const isAsCut = way === 'closes' ? cut?.closedAt === cutAt : cut?.closedAt === null && cut.contractEnd === cutAt
  if (cut === undefined || !isAsCut) return null
  if (overlappingTariff({ ...cut, closedAt: null, contractEnd }, others) !== undefined) return null
  await transaction.query(sql`
    update tariffs set closed_at = null, contract_end = ${toTimestampOrNull(contractEnd)}
    where ${ownedBy(transaction)} and id = ${id}`)
  return retrieveTariff(transaction, id)
}
