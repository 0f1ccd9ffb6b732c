import sql from 'sql-template-tag'
import type { TokenSubject } from '../../access/bearer-token.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst } from '../database.ts'

/** Console session of one account in one mode, with the key of its login; instants in ms. */
export type ConsoleSession = TokenSubject & { readonly createdAt: number; readonly expiresAt: number }

/** Create a console session. `hash` is the hash of the cookie, which is not stored. Operator. */
export const createConsoleSession = async (operator: Query, hash: string, session: ConsoleSession): Promise<void> => {
  await operator(sql`
    insert into console_sessions (account_id, live_mode, hash, key_id, time_created, expires_at)
    values (${session.accountId}, ${session.liveMode}, ${hash}, ${session.keyId}, ${toTimestamp(session.createdAt)},
      ${toTimestamp(session.expiresAt)})`)
}

/** Find a session that has not ended by `at` (ms); null if there is none. Operator. */
export const findConsoleSession = (operator: Query, hash: string, at: number): Promise<ConsoleSession | null> =>
  readFirst(operator)(sql`
    select account_id as "accountId", live_mode as "liveMode", key_id as "keyId", time_created as "createdAt",
      expires_at as "expiresAt"
    from console_sessions where hash = ${hash} and expires_at > ${toTimestamp(at)}`)

/** End a session. A repeat changes nothing. Operator. */
export const deleteConsoleSession = async (operator: Query, hash: string): Promise<void> => {
  await operator(sql`delete from console_sessions where hash = ${hash}`)
}

/** Delete sessions that have ended by `at` (ms), up to `limit`. Returns the number of deleted sessions. Operator. */
export const deleteExpiredConsoleSessions = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from console_sessions
    where hash = any(array(select hash from console_sessions where expires_at <= ${toTimestamp(at)} limit ${limit}))`)
