import sql, { type Sql } from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import type { StoredMarket } from '../../../domain/registry/market.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { readFirst } from '../database.ts'
import { assignmentsOf, insertOf, type ObjectTable, selectOf } from '../object-table.ts'
import { allOf, isActive, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { OperatorTransaction, TenantTransaction } from '../transaction.ts'

export type MarketDraft = Pick<
  StoredMarket,
  'displayName' | 'currencyCode' | 'area' | 'resolutionMinutes' | 'importer'
> &
  Partial<Pick<StoredMarket, 'timezone'>>

/** Transaction that may change sources: a tenant its own, the operator the shared ones. */
export type MarketWriter = TenantTransaction | OperatorTransaction

/** Table of market sources. */
export const marketTable: ObjectTable<Omit<StoredMarket, keyof OwnedObject>> = {
  name: 'market_sources',
  columns: {
    displayName: ['display_name', 'text'],
    currencyCode: ['currency_code', 'text'],
    area: ['area', 'text'],
    timezone: ['timezone', 'text'],
    resolutionMinutes: ['resolution_minutes', 'integer'],
    importer: ['importer', 'text'],
    priceRevision: ['price_revision', 'bigint'],
  },
}

export const marketColumns = selectOf(marketTable)

export const noMarket = noObject('market source')

/** Condition for the sources that a writer may change. */
export const ownedByWriter = (writer: MarketWriter): Sql =>
  'accountId' in writer ? ownedBy(writer) : sql`account_id is null`

/** Condition for the sources that a writer may use: its own and the shared ones. */
const usableBy = (writer: MarketWriter): Sql => sql`(account_id is null or ${ownedByWriter(writer)})`

/** Create a market source at `at` (ms). */
export const createMarket = async (writer: MarketWriter, draft: MarketDraft, at: number): Promise<StoredMarket> => {
  const owner = 'accountId' in writer ? writer : { accountId: null, liveMode: null }
  const id = newId('marketSource', at)
  const stored = { timezone: null, ...draft, priceRevision: 0 }
  await writer.query(insertOf(marketTable, owner, id, stored, at))
  return { ...stored, id, accountId: owner.accountId, liveMode: owner.liveMode, createdAt: at }
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
  await writer.query(sql`
    update market_sources set ${assignmentsOf(marketTable, patch)}
    where ${ownedByWriter(writer)} and id = ${market.id}`)
  return { ...market, ...patch }
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
