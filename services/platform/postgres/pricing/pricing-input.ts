import sql, { raw } from 'sql-template-tag'
import type { Tariff } from '../../../domain/tariff/tariff.ts'
import { startTimeSlices } from '../../concurrency/time-slices.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { addBlock, inBlocks, noPrices, type PriceColumns, type ReadPrices } from './price-block.ts'
import { type TermsRow, tariffFromTerms, termsColumns } from './tariff-row.ts'

/** Key of a location in any account and mode. */
export type LocationKey = { readonly accountId: string; readonly liveMode: boolean; readonly locationId: string }

/** Market source with the revision that was read. */
export type SourceRevision = { readonly sourceId: string; readonly revision: number }

/**
 * Everything that prices a location apart from market prices, at one instant. Tariffs that ended are included, voided
 * ones are not. Tariffs that ended with a deleted location are included as if they had stayed: records that were
 * accepted before are priced with them.
 */
export type LocationPricing = LocationKey & {
  readonly revision: number
  readonly currencyCode: string
  readonly timezone: string
  readonly deletedAt: number | null
  readonly calendar: CalendarRevisionKey | null
  readonly tariffs: readonly Tariff[]
  readonly importSource: SourceRevision | null
  readonly exportSource: SourceRevision | null
}

/** Calendar with the revision that was read. */
export type CalendarRevisionKey = { readonly id: string; readonly revision: number }

/** Revisions of a location's prices at the time of the read. */
export type PricingRevisions = LocationKey & {
  readonly revision: number
  readonly importSource: SourceRevision | null
  readonly exportSource: SourceRevision | null
}

type RevisionRow = LocationKey & {
  readonly revision: number
  readonly importId: string | null
  readonly importRevision: number | null
  readonly exportId: string | null
  readonly exportRevision: number | null
}

type PricingRow = RevisionRow & {
  readonly currencyCode: string
  readonly timezone: string
  readonly deletedAt: number | null
  readonly calendarId: string | null
  readonly calendarRevision: number | null
} & (TermsRow | { readonly tariffId: null })

const revisionColumns = sql`
  l.account_id as "accountId", l.live_mode as "liveMode", l.id as "locationId", l.pricing_revision as revision,
  i.id as "importId", i.price_revision as "importRevision", e.id as "exportId", e.price_revision as "exportRevision"`

const fromKeys = (keys: readonly LocationKey[]) => sql`
  from unnest(${keys.map(({ accountId }) => accountId)}::text[], ${keys.map(({ liveMode }) => liveMode)}::boolean[],
    ${keys.map(({ locationId }) => locationId)}::text[]) as k(account_id, live_mode, id)
  join locations l on l.account_id = k.account_id and l.live_mode = k.live_mode and l.id = k.id
  left join market_sources i on i.id = l.import_market_source_id
  left join market_sources e on e.id = l.export_market_source_id`

const sourcesOf = ({ importId, importRevision, exportId, exportRevision }: RevisionRow) => ({
  importSource: importId === null ? null : { sourceId: importId, revision: importRevision ?? 0 },
  exportSource: exportId === null ? null : { sourceId: exportId, revision: exportRevision ?? 0 },
})

/**
 * Load the pricing of some locations, deleted ones too, in one statement and so at one instant. In no order; unknown
 * locations are left out. `query` is the operator's, or a tenant's for its own locations.
 */
export const loadLocationPricing = async (
  query: Query,
  keys: readonly LocationKey[],
): Promise<readonly LocationPricing[]> => {
  // One row per tariff, or one row without a tariff: a list of all tariffs would be parsed in one turn of the event
  // loop.
  const { rows } = await query<PricingRow>(sql`
    select ${revisionColumns}, l.currency_code as "currencyCode", l.timezone, l.deleted_at as "deletedAt",
      c.id as "calendarId", c.revision as "calendarRevision", ${termsColumns}
    ${fromKeys(keys)}
    left join calendars c on c.id = l.calendar_id
    left join tariffs t on t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id
      and t.voided_at is null`)
  return pricingFrom(rows)
}

/** Read rows of tariffs. Other work runs between two rows. */
const pricingFrom = async (rows: readonly PricingRow[]): Promise<readonly LocationPricing[]> => {
  const slices = startTimeSlices()
  const byLocation = new Map<string, { readonly row: PricingRow; readonly tariffs: Map<string, Tariff> }>()
  for (const row of rows) {
    const key = `${row.accountId}/${row.liveMode}/${row.locationId}`
    const known = byLocation.get(key) ?? { row, tariffs: new Map<string, Tariff>() }
    byLocation.set(key, known)
    if (row.tariffId === null) continue
    const tariff = tariffFromTerms(row)
    // Records from before the deletion of the location are priced as if the tariff had stayed.
    const isOfDeleted = row.deletedAt !== null && tariff.closedAt === row.deletedAt
    known.tariffs.set(tariff.id, isOfDeleted ? { ...tariff, closedAt: null } : tariff)
    if (slices.isOver()) await slices.pause()
  }
  return [...byLocation.values()].map(({ row, tariffs }) => {
    const { accountId, liveMode, locationId, revision, currencyCode, timezone, deletedAt, calendarId } = row
    const sortedTariffs = [...tariffs.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    return {
      accountId,
      liveMode,
      locationId,
      revision,
      currencyCode,
      timezone,
      deletedAt,
      calendar: calendarId === null ? null : { id: calendarId, revision: row.calendarRevision ?? 0 },
      tariffs: sortedTariffs,
      ...sourcesOf(row),
    }
  })
}

/** Read the present revisions of some locations and their sources. Unknown locations are left out. */
export const readPricingRevisions = async (
  query: Query,
  keys: readonly LocationKey[],
): Promise<readonly PricingRevisions[]> => {
  const { rows } = await query<RevisionRow>(sql`select ${revisionColumns} ${fromKeys(keys)}`)
  return rows.map(row => ({
    accountId: row.accountId,
    liveMode: row.liveMode,
    locationId: row.locationId,
    revision: row.revision,
    ...sourcesOf(row),
  }))
}

/**
 * Whole prices of a source that overlap an interval, and their revision. `knownUntil`: end of the last published price
 * of all.
 */
export type SourcePrices = SourceRevision & {
  readonly currencyCode: string
  readonly published: PriceColumns
  /** Each with its confidence, above 0 and below 1. A published price of the same time wins. */
  readonly forecast: PriceColumns & { readonly confidences: readonly number[] }
  readonly knownUntil: number | null
}

/** Source with one block of its prices as JSON; `prices` is null if there are none. */
type SourceRow = {
  sourceId: string
  revision: number
  currencyCode: string
  knownUntil: number | null
  published: boolean | null
  prices: string | null
}

const blocksOf = (published: boolean) =>
  inBlocks(sql`select start_time, end_time, value, confidence from market_prices p
    where p.source_id = s.id and p.published = ${published} and p.start_time < r.b
      and p.start_time >= coalesce((select q.start_time from market_prices q
        where q.source_id = s.id and q.published = ${published} and q.start_time <= r.a
        order by q.start_time desc limit 1), r.a)
      and p.end_time > r.a`)

/** Load the prices of some sources, each over its interval (ms), in one statement. Unknown sources are left out. */
export const loadSourcePrices = async (
  query: Query,
  intervals: readonly { readonly sourceId: string; readonly from: number; readonly to: number }[],
): Promise<readonly SourcePrices[]> => {
  const { rows } = await query<SourceRow>(sql`
    select s.id as "sourceId", s.price_revision as revision, s.currency_code as "currencyCode",
      (select p.end_time from market_prices p where p.source_id = s.id and p.published
      order by p.start_time desc limit 1) as "knownUntil",
      b.published, b.prices
    from unnest(${intervals.map(({ sourceId }) => sourceId)}::text[],
      ${intervals.map(({ from }) => toTimestamp(from))}::timestamptz[],
      ${intervals.map(({ to }) => toTimestamp(to))}::timestamptz[]) as r(id, a, b)
    join market_sources s on s.id = r.id
    left join lateral (select true as published, * from (${blocksOf(true)}) as published
      union all select false, * from (${blocksOf(false)}) as forecast) as b on true
    order by s.id, b.block`)
  return sourcesFrom(rows)
}

/** Read rows of sources. Other work runs between two blocks of prices. */
const sourcesFrom = async (rows: readonly SourceRow[]): Promise<readonly SourcePrices[]> => {
  const slices = startTimeSlices()
  const sources = new Map<
    string,
    Omit<SourceRow, 'published' | 'prices'> & { readonly published: ReadPrices; readonly forecast: ReadPrices }
  >()
  for (const { published, prices, ...row } of rows) {
    const source = sources.get(row.sourceId) ?? { ...row, published: noPrices(), forecast: noPrices() }
    sources.set(row.sourceId, source)
    if (prices !== null) addBlock(published === true ? source.published : source.forecast, prices)
    if (slices.isOver()) await slices.pause()
  }
  return [...sources.values()].map(({ published: { confidences: _, ...published }, forecast, ...source }) => ({
    ...source,
    published,
    forecast: { ...forecast, confidences: forecast.confidences.map(Number) },
  }))
}

/** Condition that a source prices a tariff of location `l`. Ended tariffs count, voided ones do not. */
const isPricedBy = (sourceId: string) => sql`
  exists (select 1 from tariffs t
    where t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id and t.market_rates
      and t.voided_at is null
      and (t.direction = 'IMPORT' and l.import_market_source_id = ${sourceId}
        or t.direction = 'EXPORT' and l.export_market_source_id = ${sourceId}))`

/**
 * Locations that a source prices, in the order of ids, and the cursor of the next page. A page can be empty although
 * more follow: it reads a fixed number of the source's locations, with or without a tariff, so that each page takes the
 * same time.
 */
export type PricedPage = {
  readonly locations: readonly LocationKey[]
  readonly cursor: string
  readonly isLast: boolean
}

/**
 * Page through the active locations that a source prices, of all accounts and both modes, after a location ('': from
 * the first).
 */
export const locationsPricedBy = async (
  operator: Query,
  sourceId: string,
  after: string,
  limit: number,
): Promise<PricedPage> => {
  const using = (column: string) => sql`
    (select account_id, live_mode, id, import_market_source_id, export_market_source_id from locations
     where ${raw(column)} = ${sourceId} and id > ${after} and deleted_at is null order by id limit ${limit})`
  const { rows } = await operator<LocationKey & { readonly isPriced: boolean }>(sql`
    select account_id as "accountId", live_mode as "liveMode", id as "locationId", ${isPricedBy(sourceId)} as "isPriced"
    from (${using('import_market_source_id')} union ${using('export_market_source_id')} order by id limit ${limit}) as l
    order by id`)
  return {
    locations: rows
      .filter(({ isPriced }) => isPriced)
      .map(({ accountId, liveMode, locationId }) => ({ accountId, liveMode, locationId })),
    cursor: rows.at(-1)?.locationId ?? after,
    isLast: rows.length < limit,
  }
}

/** Count the active locations that a source prices, of all accounts and both modes. */
export const countLocationsPricedBy = async (operator: Query, sourceId: string): Promise<number> => {
  const { rows } = await operator<{ count: number }>(sql`
    select count(*) as count from locations l
    where (import_market_source_id = ${sourceId} or export_market_source_id = ${sourceId}) and deleted_at is null
      and ${isPricedBy(sourceId)}`)
  return rows[0]?.count ?? 0
}
