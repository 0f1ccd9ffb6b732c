import sql from 'sql-template-tag'
import type { TokenGrant, TokenSubject } from '../../access/bearer-token.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst, readRows } from '../database.ts'

/**
 * Console session of one account in one mode, with the key or user of its login; instants in ms. `userGeneration` is
 * null for a key. Another generation of the user, or another access generation of the account, ends the session.
 */
export type ConsoleSession = TokenSubject & {
  readonly userGeneration: number | null
  readonly accessGeneration: number
  readonly createdAt: number
  readonly expiresAt: number
}

/** Session that has not ended. `userAddress` is null for a key; `isUserLive` is the mode of the user itself. */
export type FoundSession = ConsoleSession & { readonly userAddress: string | null; readonly isUserLive: boolean }

/** Create a console session. `hash` is the hash of the cookie, which is not stored. Operator. */
export const createConsoleSession = async (operator: Query, hash: string, session: ConsoleSession): Promise<void> => {
  await operator(sql`
    insert into console_sessions (account_id, live_mode, hash, key_id, user_generation, access_generation, time_created,
      expires_at)
    values (${session.accountId}, ${session.liveMode}, ${hash}, ${session.keyId}, ${session.userGeneration},
      ${session.accessGeneration}, ${toTimestamp(session.createdAt)}, ${toTimestamp(session.expiresAt)})`)
}

/** Condition that no change of the user or of the account has ended a session. */
const isCurrent = sql`
  (s.user_generation is null or u.session_generation = s.user_generation and u.deleted_at is null)
  and exists (select from accounts a where a.id = s.account_id and a.access_generation = s.access_generation)`

/**
 * Find a session that has not ended by `at` (ms); null if there is none, or if a change of its user or account ended it.
 * Operator.
 */
export const findConsoleSession = (operator: Query, hash: string, at: number): Promise<FoundSession | null> =>
  readFirst(operator)(sql`
    select s.account_id as "accountId", s.live_mode as "liveMode", s.key_id as "keyId", s.time_created as "createdAt",
      s.expires_at as "expiresAt", s.user_generation as "userGeneration", s.access_generation as "accessGeneration", u.address as "userAddress",
      coalesce(u.live_mode, false) as "isUserLive"
    from console_sessions s left join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.hash = ${hash} and s.expires_at > ${toTimestamp(at)} and ${isCurrent}`)

/** List the sessions of a user that have not ended by `at` (ms), newest first, up to 100. Operator. */
export const listUserSessions = (
  operator: Query,
  { accountId, keyId }: Pick<TokenSubject, 'accountId' | 'keyId'>,
  at: number,
): Promise<readonly Pick<ConsoleSession, 'liveMode' | 'createdAt' | 'expiresAt'>[]> =>
  readRows(operator)(sql`
    select s.live_mode as "liveMode", s.time_created as "createdAt", s.expires_at as "expiresAt"
    from console_sessions s join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.account_id = ${accountId} and s.key_id = ${keyId} and s.expires_at > ${toTimestamp(at)} and ${isCurrent}
    order by s.time_created desc limit 100`)

/**
 * List the tenants with a session that has not ended by `at` (ms), each with its newest session, from the newest 100
 * sessions. Operator.
 */
export const listConsoleTenants = async (operator: Query, at: number): Promise<readonly TokenGrant[]> => {
  const sessions = await readRows(operator)<TokenGrant>(sql`
    select s.account_id as "accountId", s.live_mode as "liveMode", s.key_id as "keyId",
      s.access_generation as "accessGeneration"
    from console_sessions s left join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.expires_at > ${toTimestamp(at)} and ${isCurrent} order by s.expires_at desc limit 100`)
  const tenants = Map.groupBy(sessions, ({ accountId, liveMode }) => `${accountId} ${liveMode}`)
  return [...tenants.values()].flatMap(([newest]) => newest ?? [])
}

/** End a session. A repeat changes nothing. Operator. */
export const deleteConsoleSession = async (operator: Query, hash: string): Promise<void> => {
  await operator(sql`delete from console_sessions where hash = ${hash}`)
}

/** Delete sessions that have ended by `at` (ms), up to `limit`. Returns the number of deleted sessions. Operator. */
export const deleteExpiredConsoleSessions = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from console_sessions
    where hash = any(array(select hash from console_sessions where expires_at <= ${toTimestamp(at)} limit ${limit}))`)
