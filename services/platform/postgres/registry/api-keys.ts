import sql from 'sql-template-tag'
import { isId } from '../../../domain/identifier.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import type { TokenSubject } from '../../access/bearer-token.ts'
import type { KeyState } from '../../access/key-state.ts'
import type { Secret } from '../../access/secrets.ts'
import type { FoundKey, KeyStore } from '../../access/verify-key.ts'
import { hashSecret, newApiKey, newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant } from '../transaction.ts'
import { readUserState } from '../users/users.ts'
import { type KeyStateRow, keyStateFromRow } from './accounts.ts'

export type ApiKeyScope = 'read' | 'metering' | 'all'

/** Stored API key, without its text. `last4` helps people to recognise a key; instants in ms. */
export type StoredApiKey = OwnedObject & {
  readonly scope: ApiKeyScope
  readonly last4: string
  readonly description: string | null
  readonly revokedAt: number | null
}

const columns = sql`id, account_id as "accountId", live_mode as "liveMode", scope, last4, description,
  time_created as "createdAt", revoked_at as "revokedAt"`

/**
 * Create an API key at `at` (ms). `secret` is the text of the key. Only its hash is stored, so it is returned only
 * here.
 */
export const createApiKey = async (
  query: Query,
  { accountId, liveMode }: Tenant,
  draft: Pick<StoredApiKey, 'scope' | 'description'>,
  serverSecret: Secret,
  at: number,
): Promise<{ readonly apiKey: StoredApiKey; readonly secret: string }> => {
  const secret = newApiKey(liveMode)
  const apiKey: StoredApiKey = {
    ...draft,
    id: newId('apiKey', at),
    accountId,
    liveMode,
    last4: secret.slice(-4),
    createdAt: at,
    revokedAt: null,
  }
  await query(sql`
    insert into api_keys (account_id, live_mode, id, hash, scope, last4, description, time_created)
    values (${accountId}, ${liveMode}, ${apiKey.id}, ${hashSecret(serverSecret, secret)}, ${draft.scope},
      ${apiKey.last4}, ${draft.description}, ${toTimestamp(at)})`)
  return { apiKey, secret }
}

/**
 * Find an active key of any account by the hash of its text; null if there is none. The first hash is of the present
 * secret: a key that is found by a former hash is stored under the first one. Operator.
 */
export const findApiKey = async (
  operator: Query,
  hashes: string | readonly [string, ...string[]],
): Promise<StoredApiKey | null> => {
  const [present, ...former] = typeof hashes === 'string' ? [hashes] : hashes
  const { rows } = await operator<StoredApiKey>(
    sql`select ${columns} from api_keys where hash = ${present} and revoked_at is null`,
  )
  if (rows[0] !== undefined) return rows[0]
  if (former.length === 0) return null
  const { rows: rehashed } = await operator<StoredApiKey>(sql`
    update api_keys set hash = ${present} where hash = any(${former}) and revoked_at is null returning ${columns}`)
  return rehashed[0] === undefined ? null : rehashed[0]
}

const stateColumns = sql`k.scope, a.default_version, a.disabled_at is not null as disabled, a.requests_per_second,
  a.access_generation`

/**
 * Read the rights of an active key, or of a user of the console; null if it was revoked, was removed or never existed.
 * Operator.
 */
export const readKeyState = async (operator: Query, subject: TokenSubject): Promise<KeyState | null> => {
  const { accountId, liveMode, keyId } = subject
  if (isId('user', keyId)) return readUserState(operator, subject)
  const { rows } = await operator<KeyStateRow>(sql`
    select ${stateColumns} from api_keys k join accounts a on a.id = k.account_id
    where k.account_id = ${accountId} and k.live_mode = ${liveMode} and k.id = ${keyId} and k.revoked_at is null`)
  return rows[0] === undefined ? null : keyStateFromRow(rows[0])
}

/** Create the key store of the key check. Operator. */
export const keyStore = (operator: Query): KeyStore => ({
  find: hashes => findKeys(operator, hashes),
  readState: subject => readKeyState(operator, subject),
  rehash: async hashes => void (await findApiKey(operator, hashes)),
})

const findKeys = async (operator: Query, hashes: readonly string[]): Promise<ReadonlyMap<string, FoundKey>> => {
  type KeyRow = KeyStateRow & TokenSubject & { readonly hash: string; readonly isRevoked: boolean }
  const { rows } = await operator<KeyRow>(sql`
    select k.hash, k.revoked_at is not null as "isRevoked", k.account_id as "accountId", k.live_mode as "liveMode", k.id as "keyId", ${stateColumns}
    from api_keys k join accounts a on a.id = k.account_id
    where k.hash = any(${hashes})`)
  return new Map(
    rows.map(row => {
      const { hash, accountId, liveMode, keyId, isRevoked } = row
      return [hash, { subject: { accountId, liveMode, keyId }, state: isRevoked ? null : keyStateFromRow(row) }]
    }),
  )
}

/** Revoke a key; null if there is no active one. Its tokens become invalid when its state is read again. */
export const revokeApiKey = (query: Query, tenant: Tenant, id: string, at: number): Promise<StoredApiKey | null> =>
  readFirst(query)(sql`
    update api_keys set revoked_at = ${toTimestamp(at)} where ${ownedBy(tenant)} and id = ${id} and revoked_at is null
    returning ${columns}`)

/** List a tenant's keys, newest first, revoked ones included. */
export const listApiKeys = (query: Query, tenant: Tenant): Promise<readonly StoredApiKey[]> =>
  readRows(query)(sql`select ${columns} from api_keys where ${ownedBy(tenant)} order by id desc`)
