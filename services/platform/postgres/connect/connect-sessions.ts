import sql from 'sql-template-tag'
import type { Replacement } from '../../../domain/connect/connect-tariff.ts'
import type { ConnectConfig, ConnectRequest, ConnectState } from '../../../domain/connect/session.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** A tariff that another one took the place of at `cutAt`: closed there, or its contract shortened from `contractEnd`. Instants in ms. */
export type ReplacedTariff = Replacement & { readonly cutAt: number; readonly contractEnd: number | null }

/** A Connect session as it is kept; `id` is the keyed hash of its token, `sessionId` names it and grants nothing. Instants in ms. */
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
  /** What the kept tariff took the place of: it holds again where the session keeps another one. */
  readonly replaced: readonly ReplacedTariff[]
  readonly completeAction: 'SAVE' | 'DISCONNECT' | null
  readonly completedAt: number | null
  readonly announcedAt: number | null
  readonly createdAt: number
  readonly expiresAt: number
}

const columns = sql`account_id as "accountId", live_mode as "liveMode", id, session_id as "sessionId", key_id as "keyId", config, request,
  state, customer_id as "customerId", location_id as "locationId", tariff_id as "tariffId", saved_print as "savedPrint", replaced,
  complete_action as "completeAction", completed_at as "completedAt", announced_at as "announcedAt", time_created as "createdAt",
  expires_at as "expiresAt"`

/** Write a new session. */
export const createConnectSession = async (
  { query }: Pick<TenantTransaction, 'query'>,
  session: StoredSession,
): Promise<void> => {
  await query(sql`
    insert into connect_sessions (account_id, live_mode, id, session_id, key_id, config, request, state, customer_id, location_id, tariff_id,
      saved_print, replaced, complete_action, completed_at, announced_at, time_created, expires_at)
    values (${session.accountId}, ${session.liveMode}, ${session.id}, ${session.sessionId}, ${session.keyId},
      ${JSON.stringify(session.config)}, ${JSON.stringify(session.request)}, ${JSON.stringify(session.state)}, ${session.customerId},
      ${session.locationId}, ${session.tariffId}, ${session.savedPrint}, ${JSON.stringify(session.replaced)}, ${session.completeAction},
      ${toTimestampOrNull(session.completedAt)}, ${toTimestampOrNull(session.announcedAt)}, ${toTimestamp(session.createdAt)}, ${toTimestamp(session.expiresAt)})`)
}

/**
 * Find whose a session is, by the hashes that its token may have; null when there is none, it has expired by `at` (ms), or its account is
 * disabled. Operator: a token names no account.
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
 * Retrieve a session by its id, or by those that its token may have; null when there is none. `forUpdate` keeps others from it until the
 * transaction ends.
 */
export const retrieveConnectSession = async (
  transaction: TenantTransaction,
  id: string | readonly string[],
  { forUpdate = false }: { readonly forUpdate?: boolean } = {},
): Promise<StoredSession | null> => {
  const { rows } = await transaction.query<StoredSession>(sql`
    select ${columns} from connect_sessions where ${ownedBy(transaction)} and id = any(${[id].flat()}) ${forUpdate ? sql`for update` : sql``}`)
  return rows[0] ?? null
}

/** Retrieve a session by the id that names it; null when there is none. */
export const findSessionByName = async (
  transaction: TenantTransaction,
  sessionId: string,
): Promise<StoredSession | null> => {
  const { rows } = await transaction.query<StoredSession>(sql`
    select ${columns} from connect_sessions where ${ownedBy(transaction)} and session_id = ${sessionId}`)
  return rows[0] ?? null
}

/** Write what has changed of a session: where it is, and what it has done. */
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
 * List sessions that have kept a tariff of which nobody was told yet, the oldest first: those that come after `after`. The instant `since`
 * (ms) with an empty id is before all that completed from then on. Operator.
 */
export const unannouncedSessions = async (
  operator: Query,
  after: Pick<SessionKey, 'completedAt' | 'id'>,
  limit: number,
): Promise<readonly SessionKey[]> => {
  const { rows } = await operator<SessionKey>(sql`
    select account_id as "accountId", live_mode as "liveMode", id, completed_at as "completedAt" from connect_sessions
    where announced_at is null and complete_action = 'SAVE' and (completed_at, id) > (${toTimestamp(after.completedAt)}, ${after.id})
    order by completed_at, id limit ${limit}`)
  return rows
}

/**
 * Remove sessions that expired before an instant (ms), with all that people typed in them; those that have kept a tariff of which nobody was
 * told yet stay as long as they completed after `since`, and those whose tariff is on its way from its provider. Gives how many. Operator.
 */
export const removeExpiredSessions = async (operator: Query, before: number, since: number): Promise<number> => {
  const removed = await operator(sql`
    delete from connect_sessions where expires_at < ${toTimestamp(before)}
      and not (announced_at is null and complete_action is not distinct from 'SAVE' and completed_at > ${toTimestamp(since)})
      and not exists (
        select from tariff_credentials c
        where c.account_id = connect_sessions.account_id and c.live_mode = connect_sessions.live_mode and c.session_id = connect_sessions.id
          and c.consented_at is not null and c.fetched_at is null)`)
  return removed.rowCount
}

/** Tell how the account of a transaction wants the summary to be called. */
export const summaryNameOf = async ({
  query,
  accountId,
}: TenantTransaction): Promise<'tariffs_summary' | 'tariff_summary'> => {
  const { rows } = await query<{ name: 'tariffs_summary' | 'tariff_summary' }>(sql`
    select summary_route as name from accounts where id = ${accountId}`)
  return rows[0]?.name ?? 'tariffs_summary'
}

/** Set how an account wants the summary to be called; false when there is no such account. Operator. */
export const setSummaryName = async (operator: Query, accountId: string, name: string): Promise<boolean> => {
  const changed = await operator(sql`update accounts set summary_route = ${name} where id = ${accountId}`)
  return changed.rowCount > 0
}

/** Note that a person calls the tariff on the summary wrong. */
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
    values (${accountId}, ${liveMode}, ${report.sessionId}, ${report.locationId}, ${report.tariffId}, ${report.providerName}, ${toTimestamp(at)})`)
}

/** A tariff that a person called wrong; `at` in ms. */
export type TariffReport = Tenant & {
  readonly locationId: string | null
  readonly tariffId: string | null
  readonly providerName: string | null
  readonly at: number
}

/** List what was reported as wrong, newest first. Operator. */
export const listTariffReports = async (operator: Query, limit: number): Promise<readonly TariffReport[]> => {
  const { rows } = await operator<TariffReport>(sql`
    select account_id as "accountId", live_mode as "liveMode", location_id as "locationId", tariff_id as "tariffId",
      provider_name as "providerName", time_created as at
    from tariff_reports order by id desc limit ${limit}`)
  return rows
}
