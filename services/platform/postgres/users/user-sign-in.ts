import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'
import { deleteUserLinks } from './user-links.ts'

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
 * Find users with a password and this address, up to `limit`: of one account, or of all if `accountId` is null. The users
 * who accepted their invitation first come first, so that later invitations of an address displace nobody. Operator.
 */
export const findUsersByAddress = (
  operator: Query,
  address: string,
  accountId: string | null,
  limit: number,
): Promise<readonly SignInUser[]> =>
  readRows(operator)(sql`
    select ${columns} from users
    where address = ${address} and (${accountId}::text is null or account_id = ${accountId})
      and password_hash is not null and accepted_at is not null and ${isActive}
    order by accepted_at, account_id, live_mode desc limit ${limit}`)

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

/**
 * Set the password of a user. Ends its sessions and its open link, and accepts the invitation. `replacesLogins` removes
 * the login at a provider too: a reset must lock out everyone who could sign in before. Returns null if the user was removed.
 */
export const setUserPassword = async (
  transaction: TenantTransaction,
  id: string,
  { passwordHash, replacesLogins }: { readonly passwordHash: string; readonly replacesLogins: boolean },
  at: number,
): Promise<SignInUser | null> => {
  const changed = await readFirst(transaction.query)<SignInUser>(sql`
    update users set password_hash = ${passwordHash}, accepted_at = coalesce(accepted_at, ${toTimestamp(at)}),
      provider_issuer = case when ${replacesLogins} then null else provider_issuer end,
      provider_subject = case when ${replacesLogins} then null else provider_subject end,
      session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  await deleteUserLinks(transaction, id)
  return changed
}

/**
 * Set the login of a user at an OpenID provider, and remove its password. Ends its sessions and its open link, and accepts
 * the invitation. The constraint refuses a login of another user. Returns null if the user was removed.
 */
export const setUserProvider = async (
  transaction: TenantTransaction,
  id: string,
  { issuer, subject }: ProviderLogin,
  at: number,
): Promise<SignInUser | null> => {
  const changed = await readFirst(transaction.query)<SignInUser>(sql`
    update users set provider_issuer = ${issuer}, provider_subject = ${subject}, password_hash = null,
      accepted_at = coalesce(accepted_at, ${toTimestamp(at)}), session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  await deleteUserLinks(transaction, id)
  return changed
}

/** End all sessions and the open link of a user, in both modes and every process. */
export const endUserSessions = async (transaction: TenantTransaction, id: string): Promise<void> => {
  await transaction.query(sql`
    update users set session_generation = session_generation + 1 where ${ownedBy(transaction)} and id = ${id}`)
  await deleteUserLinks(transaction, id)
}
