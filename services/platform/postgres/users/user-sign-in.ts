import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** User who may sign in. `passwordHash` is null without a password. */
export type SignInUser = Tenant & {
  readonly id: string
  readonly address: string
  readonly passwordHash: string | null
  readonly sessionGeneration: number
}

/** Login of a user at an OpenID provider. */
export type ProviderLogin = { readonly issuer: string; readonly subject: string }

const columns = sql`
  account_id as "accountId", live_mode as "liveMode", id, address, password_hash as "passwordHash",
  session_generation as "sessionGeneration"`

/**
 * Find the user of an address; null if there is none, or if several accounts have the address and `accountId` is null.
 * A user of live mode precedes the user of test mode of the same account. Operator.
 */
export const findUserByAddress = async (
  operator: Query,
  address: string,
  accountId: string | null,
): Promise<SignInUser | null> => {
  const users = await readRows(operator)<SignInUser>(sql`
    select distinct on (account_id) ${columns} from users
    where address = ${address} and (${accountId}::text is null or account_id = ${accountId})
      and accepted_at is not null and ${isActive}
    order by account_id, live_mode desc limit 2`)
  return users.length === 1 ? (users[0] ?? null) : null
}

/** Find the user with a login at an OpenID provider; null if there is none. Operator. */
export const findUserByProvider = (operator: Query, { issuer, subject }: ProviderLogin): Promise<SignInUser | null> =>
  readFirst(operator)(sql`
    select ${columns} from users
    where provider_issuer = ${issuer} and provider_subject = ${subject} and accepted_at is not null and ${isActive}`)

/** Read the sign-in data of a user; null if it was removed. */
export const retrieveSignInUser = (transaction: TenantTransaction, id: string): Promise<SignInUser | null> =>
  readFirst(transaction.query)(
    sql`select ${columns} from users where ${ownedBy(transaction)} and id = ${id} and ${isActive}`,
  )

/** Set the password of a user and end its sessions. Accepts the invitation. Returns null if the user was removed. */
export const setUserPassword = (
  transaction: TenantTransaction,
  id: string,
  passwordHash: string,
  at: number,
): Promise<SignInUser | null> =>
  readFirst(transaction.query)(sql`
    update users set password_hash = ${passwordHash}, accepted_at = coalesce(accepted_at, ${toTimestamp(at)}),
      session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)

/**
 * Set the login of a user at an OpenID provider and end its sessions. Accepts the invitation. The constraint refuses a login of another
 * user. Returns null if the user was removed.
 */
export const setUserProvider = (
  transaction: TenantTransaction,
  id: string,
  { issuer, subject }: ProviderLogin,
  at: number,
): Promise<SignInUser | null> =>
  readFirst(transaction.query)(sql`
    update users set provider_issuer = ${issuer}, provider_subject = ${subject},
      accepted_at = coalesce(accepted_at, ${toTimestamp(at)}), session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)

/** End all sessions of a user in both modes and every process. */
export const endUserSessions = async (transaction: TenantTransaction, id: string): Promise<void> => {
  await transaction.query(sql`
    update users set session_generation = session_generation + 1 where ${ownedBy(transaction)} and id = ${id}`)
}
