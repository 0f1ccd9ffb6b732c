import sql from 'sql-template-tag'
import { type LinkPurpose, linkLifetimeMs, type User } from '../../../domain/user/user.ts'
import type { Secret } from '../../access/secrets.ts'
import { hashSecret, newLinkToken, secretHashes } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** New link of a user. `token` is returned only here; `expiresAt` in ms. */
export type UserLink = { readonly token: string; readonly purpose: LinkPurpose; readonly expiresAt: number }

/** Open link and its user. */
export type FoundLink = Tenant & {
  readonly userId: string
  readonly address: string
  readonly purpose: LinkPurpose
}

const hashOf = (secret: Secret, token: string): string => hashSecret(secret, `user link ${token}`)
const hashesOf = (secret: Secret, token: string): readonly string[] => secretHashes(secret, `user link ${token}`)

/** Create a link at `at` (ms): an invitation until the user has accepted one, then a reset. Replaces the link before. */
export const createUserLink = async (
  { query }: Pick<TenantTransaction, 'query'>,
  { id, accountId, liveMode, acceptedAt }: User,
  secret: Secret,
  at: number,
): Promise<UserLink> => {
  const token = newLinkToken()
  const purpose = acceptedAt === null ? 'invitation' : 'reset'
  const expiresAt = at + linkLifetimeMs
  await query(sql`
    insert into user_links (account_id, live_mode, user_id, hash, purpose, time_created, expires_at)
    values (${accountId}, ${liveMode}, ${id}, ${hashOf(secret, token)}, ${purpose}, ${toTimestamp(at)},
      ${toTimestamp(expiresAt)})
    on conflict (account_id, live_mode, user_id) do update set hash = excluded.hash, purpose = excluded.purpose,
      time_created = excluded.time_created, expires_at = excluded.expires_at`)
  return { token, purpose, expiresAt }
}

/** Find an open link at `at` (ms); null if it was used, replaced or has expired. Operator. */
export const findUserLink = (operator: Query, secret: Secret, token: string, at: number): Promise<FoundLink | null> =>
  readFirst(operator)(sql`
    select l.account_id as "accountId", l.live_mode as "liveMode", l.user_id as "userId", l.purpose, u.address
    from user_links l join users u on (u.account_id, u.live_mode, u.id) = (l.account_id, l.live_mode, l.user_id)
    where l.hash = any(${hashesOf(secret, token)}) and l.expires_at > ${toTimestamp(at)} and u.deleted_at is null`)

/**
 * Use a link of a user. Only one of two concurrent calls returns true. The link is deleted with the change of its user.
 * Each change of a user locks the user before its link, so that two changes never wait for each other.
 */
export const spendUserLink = async (
  transaction: TenantTransaction,
  secret: Secret,
  { userId, token }: { readonly userId: string; readonly token: string },
  at: number,
): Promise<boolean> => {
  await transaction.query(sql`select from users where ${ownedBy(transaction)} and id = ${userId} for no key update`)
  const spent = await transaction.query(sql`
    delete from user_links
    where ${ownedBy(transaction)} and hash = any(${hashesOf(secret, token)}) and expires_at > ${toTimestamp(at)}`)
  return spent.rowCount === 1
}

/** Delete the open link of a user: who can sign in needs no reset, and nobody else may use it. */
export const deleteUserLinks = async (transaction: TenantTransaction, id: string): Promise<void> => {
  await transaction.query(sql`delete from user_links where ${ownedBy(transaction)} and user_id = ${id}`)
}
