import sql from 'sql-template-tag'
import type { TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import { toTimestamp, toTimestampOrNull } from '../../platform/postgres/column.ts'
import { hasRow, type Query, readFirst, readRows } from '../../platform/postgres/database.ts'
import { ownedBy } from '../../platform/postgres/page.ts'
import type { Tenant, TenantTransaction } from '../../platform/postgres/transaction.ts'

/**
 * Credentials for the tariff of a location at its provider. `sealed` is the encrypted input of the person. Instants in
 * ms.
 */
export type TariffCredentials = Tenant & {
  readonly id: string
  readonly sessionId: string
  readonly providerId: string
  readonly sealed: string
  /** The chosen account, if the person has several at the provider. */
  readonly referenceId: string | null
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly consentedAt: number | null
  readonly locationId: string | null
  readonly tariffId: string | null
  readonly fetchedAt: number | null
  readonly failingSince: number | null
  readonly failureReportedAt: number | null
  readonly dueAt: number | null
  readonly createdAt: number
}

const columns = sql`
  account_id as "accountId", live_mode as "liveMode", id, session_id as "sessionId", provider_id as "providerId",
  sealed,
  reference_id as "referenceId", direction, type, consented_at as "consentedAt", location_id as "locationId",
  tariff_id as "tariffId",
  fetched_at as "fetchedAt", failing_since as "failingSince", failure_told_at as "failureReportedAt", due_at as "dueAt",
  time_created as "createdAt"`

/** Insert or update credentials. */
export const putCredentials = async (
  { query }: Pick<TenantTransaction, 'query'>,
  one: TariffCredentials,
): Promise<void> => {
  await query(sql`
    insert into tariff_credentials (account_id, live_mode, id, session_id, provider_id, sealed, reference_id, direction,
      type, consented_at, location_id, tariff_id, fetched_at, failing_since, failure_told_at, due_at, time_created)
    values (${one.accountId}, ${one.liveMode}, ${one.id}, ${one.sessionId}, ${one.providerId}, ${one.sealed},
      ${one.referenceId},
      ${one.direction}, ${one.type}, ${toTimestampOrNull(one.consentedAt)}, ${one.locationId}, ${one.tariffId},
      ${toTimestampOrNull(one.fetchedAt)}, ${toTimestampOrNull(one.failingSince)},
      ${toTimestampOrNull(one.failureReportedAt)}, ${toTimestampOrNull(one.dueAt)}, ${toTimestamp(one.createdAt)})
    on conflict (account_id, live_mode, id) do update
    set sealed = excluded.sealed, reference_id = excluded.reference_id,
      consented_at = excluded.consented_at, location_id = excluded.location_id, tariff_id = excluded.tariff_id,
      fetched_at = excluded.fetched_at, failing_since = excluded.failing_since,
      failure_told_at = excluded.failure_told_at, due_at = excluded.due_at`)
}

/** Retrieve credentials by their id; null if there are none. `forUpdate` locks them until the transaction ends. */
export const retrieveCredentials = (
  transaction: TenantTransaction,
  id: string,
  { forUpdate = false }: { readonly forUpdate?: boolean } = {},
): Promise<TariffCredentials | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from tariff_credentials where ${ownedBy(transaction)}
      and id = ${id} ${forUpdate ? sql`for update` : sql``}`)

/** Location and kind of a tariff. */
export type LocationKind = {
  readonly locationId: string
  readonly direction: TariffDirection
  readonly type: TariffType
}

const isOfKind = (transaction: TenantTransaction, { locationId, direction, type }: LocationKind) =>
  sql`${ownedBy(transaction)} and location_id = ${locationId} and direction = ${direction} and type = ${type}
    and consented_at is not null`

/** Condition for credentials that fetched their tariff and whose provider has not failed since. */
const isWorking = sql`fetched_at is not null and failure_told_at is null`

/**
 * Find the credentials for the tariff of a kind at a location: working ones first, then the newest. Null if there are
 * none.
 */
export const findCredentials = (
  transaction: TenantTransaction,
  kind: LocationKind,
): Promise<TariffCredentials | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from tariff_credentials where ${isOfKind(transaction, kind)}
    order by (${isWorking}) desc, time_created desc limit 1`)

/**
 * Return true if the tariff of a kind is pending: the session waits for its first fetch, or no other credentials work.
 * Source: docs/rules/connect.md #fetching-tariffs.
 */
export const isTariffPending = (
  transaction: TenantTransaction,
  kind: LocationKind,
  sessionId: string,
): Promise<boolean> =>
  hasRow(transaction.query)(sql`
    select 1 from tariff_credentials where ${isOfKind(transaction, kind)} and fetched_at is null
      and (session_id = ${sessionId}
      or not exists (select from tariff_credentials where ${isOfKind(transaction, kind)} and ${isWorking})) limit 1`)

/** Delete the credentials for the tariffs of a kind at a location. */
export const forgetCredentials = async (transaction: TenantTransaction, kind: LocationKind): Promise<void> => {
  await transaction.query(sql`delete from tariff_credentials where ${isOfKind(transaction, kind)}`)
}

/** Delete older credentials for the same tariff. Newer ones stay, because they have not been tried yet. */
export const removeOlderCredentials = async (
  transaction: TenantTransaction,
  credentials: LocationKind & Pick<TariffCredentials, 'id' | 'createdAt'>,
): Promise<void> => {
  const { id, createdAt } = credentials
  await transaction.query(sql`
    delete from tariff_credentials
    where ${isOfKind(transaction, credentials)} and id <> ${id} and time_created <= ${toTimestamp(createdAt)}`)
}

/** Delete credentials of a session that have no consent. */
export const removeUnconsented = async (transaction: TenantTransaction, sessionId: string): Promise<void> => {
  await transaction.query(sql`
    delete from tariff_credentials where ${ownedBy(transaction)} and session_id = ${sessionId}
      and consented_at is null`)
}

/** Delete credentials of a session that have not fetched a tariff. */
export const removeUnfetched = async (transaction: TenantTransaction, sessionId: string): Promise<void> => {
  await transaction.query(sql`
    delete from tariff_credentials where ${ownedBy(transaction)} and session_id = ${sessionId} and fetched_at is null`)
}

/** List credentials whose fetch is due by `at` (ms), longest wait first. Operator. */
export const dueCredentials = (
  operator: Query,
  at: number,
  limit: number,
): Promise<readonly (Tenant & { id: string })[]> =>
  readRows(operator)(sql`
    select account_id as "accountId", live_mode as "liveMode", id from tariff_credentials
    where due_at <= ${toTimestamp(at)} order by due_at limit ${limit}`)

/** Postpone the fetch of a tariff until `at` (ms), so that others come first. Operator. */
export const postponeFetch = async (
  operator: Query,
  credentials: Tenant & { readonly id: string },
  at: number,
): Promise<void> => {
  await operator(sql`
    update tariff_credentials set due_at = ${toTimestamp(at)}
    where ${ownedBy(credentials)} and id = ${credentials.id}`)
}

/** Delete credentials without consent that are older than an instant (ms). Operator. */
export const removeUnused = async (operator: Query, before: number): Promise<void> => {
  await operator(
    sql`delete from tariff_credentials where consented_at is null and time_created < ${toTimestamp(before)}`,
  )
}

/** Set the status of a fetched tariff: `ERROR` after a long failure of its provider, or `CONNECTED` again. */
export const setTariffStatus = async (
  transaction: TenantTransaction,
  tariffId: string,
  status: 'CONNECTED' | 'ERROR',
): Promise<void> => {
  await transaction.query(sql`update tariffs set status = ${status} where ${ownedBy(transaction)} and id = ${tariffId}`)
}

/** Delete credentials that cannot be used. */
export const removeCredentials = async (transaction: TenantTransaction, id: string): Promise<void> => {
  await transaction.query(sql`delete from tariff_credentials where ${ownedBy(transaction)} and id = ${id}`)
}
