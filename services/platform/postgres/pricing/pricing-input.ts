import sql, { raw } from 'sql-template-tag'
import type { Tariff } from '../../../domain/tariff/tariff.ts'
import { runInTimeSlices } from '../../concurrency/time-slices.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { addBlock, noPrices, type PriceColumns, type ReadPrices } from '../price-block.ts'
import { inBlocks } from '../price-blocks.ts'
import { type TermsRow, tariffFromTerms, termsColumns } from './tariff-row.ts'

/** A location anywhere: its account and mode are part of its name. */
export type LocationKey = { readonly accountId: string; readonly liveMode: boolean; readonly locationId: string }

/** A market source at the revision that it had when it was read. */
export type SourceRevision = { readonly sourceId: string; readonly revision: number }

/**
 * All that prices a location apart from market prices, as of one instant. Tariffs that ended are in it, voided ones are not; those that ended with
 * the location itself are in it as they were until then: what was accepted before is priced, and priced again, as if it had stayed.
 */
export type LocationPricing = LocationKey & {
  readonly revision: number
  readonly currencyCode: string
  readonly timezone: string
  readonly deletedAt: number | null
  readonly tariffs: readonly Tariff[]
  readonly importSource: SourceRevision | null
  readonly exportSource: SourceRevision | null
}

/** The revisions that a location's prices had when they were read. */
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
} & (TermsRow | { readonly tariffId: null })

const revisionColumns = sql`l.account_id as "accountId", l.live_mode as "liveMode", l.id as "locationId", l.pricing_revision as revision,
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
 * Load what prices some locations, in one statement and so as of one instant; deleted locations too. In no order; unknown ones are left out.
 * `query` is the operator's, or a tenant's for its own.
 */
export const loadLocationPricing = async (
  query: Query,
  keys: readonly LocationKey[],
): Promise<readonly LocationPricing[]> => {
  // A row for each tariff, or one without: a list of all tariffs of a location would be read in one turn.
  const { rows } = await query<PricingRow>(sql`
    select ${revisionColumns}, l.currency_code as "currencyCode", l.timezone, l.deleted_at as "deletedAt", ${termsColumns}
    ${fromKeys(keys)}
    left join tariffs t on t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id and t.voided_at is null`)
  return runInTimeSlices(pricingFrom(rows))
}

/** Read rows of tariffs, one location after the other. */
function* pricingFrom(rows: readonly PricingRow[]): Generator<void, readonly LocationPricing[]> {
  const byLocation = new Map<string, { readonly row: PricingRow; readonly tariffs: Map<string, Tariff> }>()
  for (const row of rows) {
    const key = `${row.accountId}/${row.liveMode}/${row.locationId}`
    const known = byLocation.get(key) ?? { row, tariffs: new Map<string, Tariff>() }
    byLocation.set(key, known)
    if (row.tariffId === null) continue
    const tariff = yield* tariffFromTerms(row)
    // What was priced when the location was deleted is priced as if the tariff had stayed.
    const isOfDeleted = row.deletedAt !== null && tariff.closedAt === row.deletedAt
    known.tariffs.set(tariff.id, isOfDeleted ? { ...tariff, closedAt: null } : tariff)
    yield
  }
  return [...byLocation.values()].map(({ row, tariffs }) => {
    const { accountId, liveMode, locationId, revision, currencyCode, timezone, deletedAt } = row
    const sortedTariffs = [...tariffs.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    return {
      accountId,
      liveMode,
      locationId,
      revision,
      currencyCode,
      timezone,
      deletedAt,
      tariffs: sortedTariffs,
      ...sourcesOf(row),
    }
  })
}

/** Read the revisions of some locations and their sources as they are now. Unknown locations are left out. */
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

/** Prices of a source that share time with a span, whole, and the revision that they belong to. `knownUntil`: end of the last published price at all. */
export type SourcePrices = SourceRevision & {
  readonly currencyCode: string
  readonly published: PriceColumns
  /** With the confidence of each, above 0 and below 1. Where a published price shares its time, that one holds. */
  readonly forecast: PriceColumns & { readonly confidences: readonly number[] }
  readonly knownUntil: number | null
}

/** A source with one block of its prices as JSON; without any, `prices` is null. */
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
        where q.source_id = s.id and q.published = ${published} and q.start_time <= r.a order by q.start_time desc limit 1), r.a)
      and p.end_time > r.a`)

/** Load the prices of some sources, each over its span (ms), in one statement. Unknown sources are left out. */
export const loadSourcePrices = async (
  query: Query,
  intervals: readonly { readonly sourceId: string; readonly from: number; readonly to: number }[],
): Promise<readonly SourcePrices[]> => {
  const { rows } = await query<SourceRow>(sql`
    select s.id as "sourceId", s.price_revision as revision, s.currency_code as "currencyCode",
      (select p.end_time from market_prices p where p.source_id = s.id and p.published order by p.start_time desc limit 1) as "knownUntil",
      b.published, b.prices
    from unnest(${intervals.map(({ sourceId }) => sourceId)}::text[], ${intervals.map(({ from }) => toTimestamp(from))}::timestamptz[],
      ${intervals.map(({ to }) => toTimestamp(to))}::timestamptz[]) as r(id, a, b)
    join market_sources s on s.id = r.id
    left join lateral (select true as published, * from (${blocksOf(true)}) as published
      union all select false, * from (${blocksOf(false)}) as forecast) as b on true
    order by s.id, b.block`)
  return runInTimeSlices(sourcesFrom(rows))
}

/** Read rows of sources, one block of prices after the other. */
function* sourcesFrom(rows: readonly SourceRow[]): Generator<void, readonly SourcePrices[]> {
  const sources = new Map<
    string,
    Omit<SourceRow, 'published' | 'prices'> & { readonly published: ReadPrices; readonly forecast: ReadPrices }
  >()
  for (const { published, prices, ...row } of rows) {
    const source = sources.get(row.sourceId) ?? { ...row, published: noPrices(), forecast: noPrices() }
    sources.set(row.sourceId, source)
    if (prices !== null) addBlock(published === true ? source.published : source.forecast, prices)
    yield
  }
  return [...sources.values()].map(({ published: { confidences: _, ...published }, forecast, ...source }) => ({
    ...source,
    published,
    forecast: { ...forecast, confidences: forecast.confidences.map(Number) },
  }))
}

/** Whether a tariff of a location `l` is priced from a source; one that ended counts, a voided one does not. */
const isPricedBy = (sourceId: string) => sql`
  exists (select 1 from tariffs t
    where t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id and t.market_rates and t.voided_at is null
      and (t.direction = 'IMPORT' and l.import_market_source_id = ${sourceId} or t.direction = 'EXPORT' and l.export_market_source_id = ${sourceId}))`

/**
 * Some locations that a source prices, in the order of ids, and where the next page begins. A page may have few or none although more
 * follow: it looks at so many locations of the source, whether or not a tariff makes use of it, and so takes the same time wherever it is.
 */
export type PricedPage = {
  readonly locations: readonly LocationKey[]
  readonly cursor: string
  readonly isLast: boolean
}

/** Page through the living locations that a source prices, over all accounts and both modes, after a location ('': from the first). */
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

/** Count the living locations that a source prices, over all accounts and both modes. */
export const countLocationsPricedBy = async (operator: Query, sourceId: string): Promise<number> => {
  const { rows } = await operator<{ count: number }>(sql`
    select count(*) as count from locations l
    where (import_market_source_id = ${sourceId} or export_market_source_id = ${sourceId}) and deleted_at is null
      and ${isPricedBy(sourceId)}`)
  return rows[0]?.count ?? 0
}
