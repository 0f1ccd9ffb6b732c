import sql from 'sql-template-tag'
import { type ApiVersion, apiVersionDates, apiVersions } from '../../../contract/api-version.ts'
import type { AccountBrand, StoredAccount } from '../../../domain/registry/account.ts'
import type { KeyState } from '../../access/key-state.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import type { Query } from '../database.ts'

export type AccountDraft = Pick<StoredAccount, 'displayName' | 'defaultApiVersion' | 'requestsPerSecond'>

type Row = Omit<StoredAccount, 'defaultApiVersion'> & { readonly defaultVersion: string }

const columns = sql`id, display_name as "displayName", default_version as "defaultVersion",
  requests_per_second as "requestsPerSecond", disabled_at as "disabledAt", privacy_url as "privacyUrl",
  terms_url as "termsUrl", logo_url as "logoUrl", brand_color as "brandColor", time_created as "createdAt"`

const fromRow = ({ defaultVersion, ...account }: Row): StoredAccount => ({
  ...account,
  defaultApiVersion: apiVersionOf(defaultVersion),
})

/** Wait until no other transaction creates the first account, and lock out others until this transaction ends. */
export const waitForFirstAccount = async (query: Query): Promise<void> => {
  await query(sql`select pg_advisory_xact_lock(hashtext('first account'))`)
}

/** Read a stored API version. Throws `RangeError` if this release does not know it. */
export const apiVersionOf = (version: string): ApiVersion => {
  const apiVersion = apiVersions.find(known => apiVersionDates[known] === version)
  if (apiVersion === undefined) throw new RangeError(`Unknown API version ${version} of an account.`)
  return apiVersion
}

/** Create an account at `at` (ms). Operator. */
export const createAccount = async (operator: Query, draft: AccountDraft, at: number): Promise<StoredAccount> => {
  const id = newId('account', at)
  await operator(sql`
    insert into accounts (id, display_name, default_version, requests_per_second, time_created)
    values (${id}, ${draft.displayName}, ${apiVersionDates[draft.defaultApiVersion]}, ${draft.requestsPerSecond},
      ${toTimestamp(at)})`)
  const noBrand = { privacyUrl: null, termsUrl: null, logoUrl: null, brandColor: null }
  return { ...draft, ...noBrand, id, disabledAt: null, createdAt: at }
}

/** Retrieve an account; null if there is none. A tenant sees its own. */
export const retrieveAccount = async (query: Query, id: string): Promise<StoredAccount | null> => {
  const { rows } = await query<Row>(sql`select ${columns} from accounts where id = ${id}`)
  return rows[0] === undefined ? null : fromRow(rows[0])
}

/** List all accounts, newest first. Operator. */
export const listAccounts = async (operator: Query): Promise<readonly StoredAccount[]> => {
  const { rows } = await operator<Row>(sql`select ${columns} from accounts order by id desc`)
  return rows.map(fromRow)
}

/**
 * Change some settings. `disabledAt` (ms) disables the account and ends its sessions and tokens, null enables it. Null if there is no such account.
 * Operator.
 */
export const updateAccount = async (
  operator: Query,
  id: string,
  change: Partial<AccountDraft & AccountBrand & Pick<StoredAccount, 'disabledAt'>>,
): Promise<StoredAccount | null> => {
  const before = await retrieveAccount(operator, id)
  if (before === null) return null
  const after = { ...before, ...change }
  await operator(sql`
    update accounts set display_name = ${after.displayName},
      default_version = ${apiVersionDates[after.defaultApiVersion]},
      requests_per_second = ${after.requestsPerSecond}, disabled_at = ${toTimestampOrNull(after.disabledAt)},
      access_generation = access_generation + case
        when disabled_at is null and ${toTimestampOrNull(after.disabledAt)}::timestamptz is not null then 1 else 0 end,
      privacy_url = ${after.privacyUrl}, terms_url = ${after.termsUrl}, logo_url = ${after.logoUrl},
      brand_color = ${after.brandColor} where id = ${id}`)
  return after
}

/** Change what people see of an account. A tenant may change its own. */
export const updateAccountBrand = async (
  query: Query,
  id: string,
  brand: AccountBrand & Pick<StoredAccount, 'displayName'>,
): Promise<void> => {
  await query(sql`
    update accounts set display_name = ${brand.displayName}, privacy_url = ${brand.privacyUrl},
      terms_url = ${brand.termsUrl}, logo_url = ${brand.logoUrl}, brand_color = ${brand.brandColor}
    where id = ${id}`)
}

/** Rights of a key or user, with the state of its account. */
export type KeyStateRow = {
  readonly scope: KeyState['scope']
  readonly default_version: string
  readonly disabled: boolean
  readonly requests_per_second: number | null
  readonly access_generation: number
}

/** Read the rights of a key or user from a row. */
export const keyStateFromRow = (row: KeyStateRow): KeyState => ({
  scope: row.scope,
  defaultApiVersion: apiVersionOf(row.default_version),
  isDisabled: row.disabled,
  requestsPerSecond: row.requests_per_second,
  accessGeneration: row.access_generation,
})
