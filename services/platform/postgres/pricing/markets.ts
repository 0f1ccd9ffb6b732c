import sql, { type Sql } from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { readFirst } from '../database.ts'
import { allOf, isActive, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { OperatorTransaction, TenantTransaction } from '../transaction.ts'

/** Stored market source; a source without an account is shared. `createdAt` in ms. */
export type StoredMarket = {
  readonly id: string
  readonly accountId: string | null
  readonly liveMode: boolean | null
  readonly displayName: string
  readonly currencyCode: string
  readonly area: string | null
  /** Time zone in whose days the prices repeat; null for the default. */
  readonly timezone: string | null
  readonly resolutionMinutes: number | null
  readonly importer: string | null
  readonly priceRevision: number
  readonly createdAt: number
}

export type MarketDraft = Pick<
  StoredMarket,
  'displayName' | 'currencyCode' | 'area' | 'resolutionMinutes' | 'importer'
> &
  Partial<Pick<StoredMarket, 'timezone'>>

/** Transaction that may change sources: a tenant its own, the operator the shared ones. */
export type MarketWriter = TenantTransaction | OperatorTransaction

export const marketColumns = sql`id, account_id as "accountId", live_mode as "liveMode", display_name as "displayName",
  currency_code as "currencyCode", area, timezone, resolution_minutes as "resolutionMinutes", importer,
  price_revision as "priceRevision", time_created as "createdAt"`

export const noMarket = noObject('market source')

/** Condition for the sources that a writer may change. */
export const ownedByWriter = (writer: MarketWriter): Sql =>
  'accountId' in writer ? ownedBy(writer) : sql`account_id is null`

/** Condition for the sources that a writer may use: its own and the shared ones. */
const usableBy = (writer: MarketWriter): Sql => sql`(account_id is null or ${ownedByWriter(writer)})`

/** Create a market source at `at` (ms). */
export const createMarket = async (writer: MarketWriter, draft: MarketDraft, at: number): Promise<StoredMarket> => {
  const { accountId, liveMode } = 'accountId' in writer ? writer : { accountId: null, liveMode: null }
  const id = newId('marketSource', at)
  const { timezone = null } = draft
  await writer.query(sql`
    insert into market_sources (id, account_id, live_mode, display_name, currency_code, area, timezone, resolution_minutes,
      importer, time_created)
    values (${id}, ${accountId}, ${liveMode}, ${draft.displayName}, ${draft.currencyCode}, ${draft.area},
      ${timezone},
      ${draft.resolutionMinutes}, ${draft.importer}, ${toTimestamp(at)})`)
  return { ...draft, timezone, id, accountId, liveMode, priceRevision: 0, createdAt: at }
}

/** Retrieve a source that the writer may use; null if there is none or it was deleted. */
export const retrieveMarket = (writer: MarketWriter, id: string): Promise<StoredMarket | null> =>
  readFirst(writer.query)(sql`
    select ${marketColumns} from market_sources where ${usableBy(writer)} and id = ${id} and ${isActive}`)

/** Find the shared source of a market area in a currency; null if there is none. */
export const marketOfArea = (writer: MarketWriter, area: string, currencyCode: string): Promise<StoredMarket | null> =>
  readFirst(writer.query)(sql`
    select ${marketColumns} from market_sources
    where account_id is null and area = ${area} and currency_code = ${currencyCode} and ${isActive}
    order by id limit 1`)

/** Lock a source that the writer may change; null if there is none or it was deleted. */
export const lockMarket = (writer: MarketWriter, id: string): Promise<StoredMarket | null> =>
  readFirst(writer.query)(sql`
    select ${marketColumns} from market_sources where ${ownedByWriter(writer)} and id = ${id} and ${isActive}
    for no key update`)

/** Change a source of the writer, from `lockMarket` of the same transaction. The forecast work follows its time zone. */
export const updateMarket = async (
  writer: MarketWriter,
  market: StoredMarket,
  patch: Partial<Pick<StoredMarket, 'displayName' | 'timezone'>>,
): Promise<StoredMarket> => {
  const { id, displayName, timezone } = { ...market, ...patch }
  await writer.query(sql`
    update market_sources set display_name = ${displayName}, timezone = ${timezone}
    where ${ownedByWriter(writer)} and id = ${id}`)
  return { ...market, displayName, timezone }
}

/** List the sources that the writer may use, newest first. Refuses `cursor_not_found`. */
export const listMarkets = (
  writer: MarketWriter,
  area: string | null,
  paging: Paging,
): Promise<Result<Page<StoredMarket>>> =>
  readPage(
    writer.query,
    {
      table: 'market_sources',
      columns: marketColumns,
      scope: usableBy(writer),
      filter: allOf(isActive, matching('area', area)),
    },
    paging,
  )

/**
 * Delete a source of the writer. Its prices stay, because stored costs name them.
 * Refuses `not_found`, `market_in_use`.
 */
export const deleteMarket = async (writer: MarketWriter, id: string, at: number): Promise<Result<StoredMarket>> => {
  // A transaction that writes a location with this source locks its row. The query after the lock sees that location.
  const { rows } = await writer.query<StoredMarket>(sql`
    select ${marketColumns} from market_sources where ${ownedByWriter(writer)} and id = ${id} and ${isActive}
    for update`)
  if (rows[0] === undefined) return noMarket
  const used = await writer.query(sql`
    select 1 from locations where (import_market_source_id = ${id} or export_market_source_id = ${id}) and ${isActive}
      limit 1`)
  if (used.rows.length > 0)
    return refused('market_in_use', 'Locations use this market source. Give them another one first.')
  await writer.query(sql`update market_sources set deleted_at = ${toTimestamp(at)} where id = ${id}`)
  return accepted(rows[0])
}
