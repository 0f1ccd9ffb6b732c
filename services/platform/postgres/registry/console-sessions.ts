import sql from 'sql-template-tag'
import type { TokenSubject } from '../../access/bearer-token.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst, readRows } from '../database.ts'

/**
 * Console session of one account in one mode, with the key or user of its login; instants in ms. `userGeneration` is
 * null for a key. Another generation of the user ends the session.
 */
export type ConsoleSession = TokenSubject & {
  readonly userGeneration: number | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** Session that has not ended. `userAddress` is null for a key; `isUserLive` is the mode of the user itself. */
export type FoundSession = ConsoleSession & { readonly userAddress: string | null; readonly isUserLive: boolean }

/** Create a console session. `hash` is the hash of the cookie, which is not stored. Operator. */
export const createConsoleSession = async (operator: Query, hash: string, session: ConsoleSession): Promise<void> => {
  await operator(sql`
    insert into console_sessions (account_id, live_mode, hash, key_id, user_generation, time_created, expires_at)
    values (${session.accountId}, ${session.liveMode}, ${hash}, ${session.keyId}, ${session.userGeneration},
      ${toTimestamp(session.createdAt)}, ${toTimestamp(session.expiresAt)})`)
}

/** Condition that a session of a user was not ended by a change of the user. */
const isOfUser = sql`(s.user_generation is null or u.session_generation = s.user_generation and u.deleted_at is null)`

/**
 * Find a session that has not ended by `at` (ms); null if there is none, or if a change of its user has ended it.
 * Operator.
 */
export const findConsoleSession = (operator: Query, hash: string, at: number): Promise<FoundSession | null> =>
  readFirst(operator)(sql`
    select s.account_id as "accountId", s.live_mode as "liveMode", s.key_id as "keyId", s.time_created as "createdAt",
      s.expires_at as "expiresAt", s.user_generation as "userGeneration", u.address as "userAddress",
      coalesce(u.live_mode, false) as "isUserLive"
    from console_sessions s left join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.hash = ${hash} and s.expires_at > ${toTimestamp(at)} and ${isOfUser}`)

/** List the sessions of a user that have not ended by `at` (ms), newest first, up to 100. Operator. */
export const listUserSessions = (
  operator: Query,
  { accountId, keyId }: Pick<TokenSubject, 'accountId' | 'keyId'>,
  at: number,
): Promise<readonly Pick<ConsoleSession, 'liveMode' | 'createdAt' | 'expiresAt'>[]> =>
  readRows(operator)(sql`
    select s.live_mode as "liveMode", s.time_created as "createdAt", s.expires_at as "expiresAt"
    from console_sessions s join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.account_id = ${accountId} and s.key_id = ${keyId} and s.expires_at > ${toTimestamp(at)} and ${isOfUser}
    order by s.time_created desc limit 100`)

/**
 * List the tenants with a session that has not ended by `at` (ms), each with its newest session, from the newest 100
 * sessions. Operator.
 */
export const listConsoleTenants = async (operator: Query, at: number): Promise<readonly TokenSubject[]> => {
  const sessions = await readRows(operator)<TokenSubject>(sql`
    select s.account_id as "accountId", s.live_mode as "liveMode", s.key_id as "keyId"
    from console_sessions s left join users u on u.account_id = s.account_id and u.id = s.key_id
    where s.expires_at > ${toTimestamp(at)} and ${isOfUser} order by s.expires_at desc limit 100`)
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
