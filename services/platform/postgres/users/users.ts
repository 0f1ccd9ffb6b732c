import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import {
  type Credential,
  isLastOwner,
  maxUsers,
  scopeOfRole,
  type User,
  type UserRole,
} from '../../../domain/user/user.ts'
import type { TokenSubject } from '../../access/bearer-token.ts'
import type { KeyState } from '../../access/key-state.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { isActive, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import { type KeyStateRow, keyStateFromRow } from '../registry/accounts.ts'
import type { TenantTransaction } from '../transaction.ts'
import { deleteUserLinks } from './user-links.ts'

const columns = sql`
  id, account_id as "accountId", live_mode as "liveMode", address, role, password_hash is not null as "hasPassword",
  provider_issuer as "providerIssuer", provider_subject as "providerSubject", accepted_at as "acceptedAt",
  time_created as "createdAt"`

const notFound = noObject('user')

/**
 * Create an invited user at `at` (ms). Refuses `too_many_users`; the constraint refuses a known address
 * (`address_taken`).
 */
export const createUser = async (
  transaction: TenantTransaction,
  { address, role }: Pick<User, 'address' | 'role'>,
  at: number,
): Promise<Result<User>> => {
  const { accountId, liveMode, query } = transaction
  const owned = ownedBy(transaction)
  const counted = await query<{ users: number }>(
    sql`select count(*)::int as users from users where ${owned} and ${isActive}`,
  )
  if ((counted.rows[0]?.users ?? 0) >= maxUsers)
    return refused('too_many_users', `An account has at most ${maxUsers} users. Remove one first.`)
  const id = newId('user', at)
  await query(sql`
    insert into users (account_id, live_mode, id, address, role, time_created)
    values (${accountId}, ${liveMode}, ${id}, ${address}, ${role}, ${toTimestamp(at)})`)
  const unset = { hasPassword: false, providerIssuer: null, providerSubject: null, acceptedAt: null }
  return accepted({ id, accountId, liveMode, address, role, ...unset, createdAt: at })
}

/** Retrieve a user; null if there is none or it was removed. */
export const retrieveUser = (transaction: TenantTransaction, id: string): Promise<User | null> =>
  readFirst(transaction.query)(
    sql`select ${columns} from users where ${ownedBy(transaction)} and id = ${id} and ${isActive}`,
  )

/** List users, newest first. Refuses `cursor_not_found`. */
export const listUsers = (transaction: TenantTransaction, paging: Paging): Promise<Result<Page<User>>> =>
  readPage<User>(transaction.query, { table: 'users', columns, scope: ownedBy(transaction), filter: isActive }, paging)

/**
 * Lock the owners who can sign in, and return their ids. Other changes of owners wait until the transaction ends, so
 * that two owners cannot remove each other at once.
 */
const lockOwners = async (transaction: TenantTransaction): Promise<readonly string[]> => {
  const owners = await readRows(transaction.query)<{ id: string }>(sql`
    select id from users
    where ${ownedBy(transaction)} and role = 'owner' and (password_hash is not null or provider_subject is not null)
      and ${isActive}
    order by id for update`)
  return owners.map(({ id }) => id)
}

const lastOwner = refused('last_owner', 'This user is the last owner. Make another user an owner first.')

/** Change the role of a user and end its sessions. Refuses `not_found` and `last_owner`. */
export const updateUserRole = async (
  transaction: TenantTransaction,
  id: string,
  role: UserRole,
): Promise<Result<User>> => {
  const owners = await lockOwners(transaction)
  if (role !== 'owner' && isLastOwner(id, owners)) return lastOwner
  const changed = await readFirst(transaction.query)<User>(sql`
    update users set role = ${role},
      session_generation = session_generation + case when role = ${role} then 0 else 1 end
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  return changed === null ? notFound : accepted(changed)
}

/** Remove a user, its password, its provider login and its link. Refuses `not_found` and `last_owner`. */
export const removeUser = async (transaction: TenantTransaction, id: string, at: number): Promise<Result<User>> => {
  const owners = await lockOwners(transaction)
  if (isLastOwner(id, owners)) return lastOwner
  const owned = ownedBy(transaction)
  const user = await retrieveUser(transaction, id)
  if (user === null) return notFound
  await transaction.query(sql`
    update users set deleted_at = ${toTimestamp(at)}, password_hash = null, provider_issuer = null,
      provider_subject = null, session_generation = session_generation + 1
    where ${owned} and id = ${id} and ${isActive}`)
  await deleteUserLinks(transaction, id)
  return accepted(user)
}

/**
 * Remove the password or the provider login of a user. Ends its sessions and its open link. Changes nothing if the user has
 * none: `wasRemoved` is then false. Refuses `not_found`, and `last_owner` if no owner could sign in afterwards.
 */
export const removeCredential = async (
  transaction: TenantTransaction,
  id: string,
  credential: Credential,
): Promise<Result<{ readonly user: User; readonly wasRemoved: boolean }>> => {
  const owners = await lockOwners(transaction)
  const user = await retrieveUser(transaction, id)
  if (user === null) return notFound
  const hasLogin = user.providerSubject !== null
  const [hasIt, hasOther] = credential === 'password' ? [user.hasPassword, hasLogin] : [hasLogin, user.hasPassword]
  if (!hasIt) return accepted({ user, wasRemoved: false })
  if (!hasOther && isLastOwner(id, owners)) return lastOwner
  const removed =
    credential === 'password' ? sql`password_hash = null` : sql`provider_issuer = null, provider_subject = null`
  const changed = await readFirst(transaction.query)<User>(sql`
    update users set ${removed}, session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
  await deleteUserLinks(transaction, id)
  return changed === null ? notFound : accepted({ user: changed, wasRemoved: true })
}

/** Retrieve a user of any account; null if there is none or it was removed. Operator. */
export const findUser = (operator: Query, id: string): Promise<User | null> =>
  readFirst(operator)(sql`select ${columns} from users where id = ${id} and ${isActive}`)

type StateRow = Omit<KeyStateRow, 'scope'> & { readonly role: UserRole }

/**
 * Read the rights of a user in a mode; null if the user was removed, or may not enter the mode. Operator.
 * Source: docs/rules/users.md #roles.
 */
export const readUserState = async (
  operator: Query,
  { accountId, liveMode, keyId }: TokenSubject,
): Promise<KeyState | null> => {
  const row = await readFirst(operator)<StateRow>(sql`
    select u.role, a.default_version, a.disabled_at is not null as disabled, a.requests_per_second, a.access_generation
    from users u join accounts a on a.id = u.account_id
    where u.account_id = ${accountId} and u.id = ${keyId} and (u.live_mode or not ${liveMode})
      and u.accepted_at is not null and u.deleted_at is null`)
  return row === null ? null : keyStateFromRow({ ...row, scope: scopeOfRole[row.role] })
}
