import sql from 'sql-template-tag'
import type { StoredMarket } from '../../domain/registry/market.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { type Database, hasRow, readRows } from '../../platform/postgres/database.ts'
import { createMarket } from '../../platform/postgres/pricing/markets.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'

/** The shared sources of an area in a currency, sources with prices first. */
const selectAreaSources = (area: string, currencyCode: string) => sql`
  select id from market_sources
  where account_id is null and area = ${area} and currency_code = ${currencyCode} and deleted_at is null
  order by price_revision = 0, id limit 1`

/**
 * Find the shared source of a market area in a currency; a source with prices comes before an empty one. Null if there
 * is none.
 */
export const findAreaSource = async (
  { operator }: Database,
  area: string,
  currencyCode: string,
): Promise<string | null> => {
  const { rows } = await operator<{ id: string }>(selectAreaSources(area, currencyCode))
  return rows[0]?.id ?? null
}

/**
 * Find the shared source of a market area in a currency, or create an empty one for market tariffs. Concurrent calls
 * get the same source.
 */
export const findOrCreateAreaSource = async (
  database: Database,
  area: string,
  currencyCode: string,
  at: number,
): Promise<StoredMarket['id']> => {
  const known = await findAreaSource(database, area, currencyCode)
  if (known !== null) return known
  return withOperator(database, async transaction => {
    await transaction.query(sql`select pg_advisory_xact_lock(hashtext(${`market area ${area} ${currencyCode}`}))`)
    const { rows } = await transaction.query<{ id: string }>(selectAreaSources(area, currencyCode))
    if (rows[0] !== undefined) return rows[0].id
    const draft = { displayName: area, currencyCode, area, resolutionMinutes: null, importer: null }
    return (await createMarket(transaction, draft, at)).id
  })
}

/** Return true if one of some areas has a shared source with prices in a currency. */
export const hasPricedArea = (
  { operator }: Database,
  areas: readonly string[],
  currencyCode: string,
): Promise<boolean> =>
  hasRow(operator)(sql`
    select 1 from market_sources
    where account_id is null and area = any(${areas}) and currency_code = ${currencyCode} and deleted_at is null
      and price_revision > 0
    limit 1`)

/** Location whose shared source is empty although another source of the same area has prices. */
export type MisplacedLocation = Tenant & {
  readonly locationId: string
  readonly emptyId: string
  readonly filledId: string
}

/** List locations with an empty shared source whose area has another source with prices. Operator. */
export const misplacedLocations = ({ operator }: Database, limit: number): Promise<readonly MisplacedLocation[]> =>
  readRows(operator)(sql`
    select l.account_id as "accountId", l.live_mode as "liveMode", l.id as "locationId", empty.id as "emptyId",
      min(filled.id) as "filledId"
    from market_sources empty
    join market_sources filled on filled.account_id is null and filled.area = empty.area
      and filled.currency_code = empty.currency_code
      and filled.deleted_at is null and filled.price_revision > 0
    join locations l on (l.import_market_source_id = empty.id or l.export_market_source_id = empty.id)
      and l.deleted_at is null
    where empty.account_id is null and empty.area is not null and empty.price_revision = 0
    group by l.account_id, l.live_mode, l.id, empty.id limit ${limit}`)
