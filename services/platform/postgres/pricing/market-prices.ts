import sql from 'sql-template-tag'
import { accepted, type Result } from '../../../domain/refusal.ts'
import type { StoredMarket } from '../../../domain/registry/market.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { isActive } from '../page.ts'
import { type MarketWriter, marketColumns, noMarket, ownedByWriter, retrieveMarket } from './markets.ts'
import { inBlocks, pricesFrom } from './price-block.ts'
import { type PriceChangeInterval, writePriceFanOut } from './price-fan-outs.ts'
import { type PriceInterval, replacePrices } from './price-overlap.ts'

export type PriceChange = {
  readonly market: StoredMarket
  readonly stored: number
  readonly replaced: number
  readonly unchanged: number
  /** Change that is sent to all locations of the source; null if no price changed. */
  readonly fanOut: PriceChangeInterval | null
}

/**
 * Store published prices of a source over the existing ones; later submissions win in shared time. A change raises the
 * price revision, writes one fan-out over the recosted interval, and makes the forecasts due. `prices` must not
 * overlap.
 * Refuses `not_found`.
 * Source: docs/rules/markets-and-forecasts.md #storing-prices, #price-changes.
 */
export const putMarketPrices = async (
  writer: MarketWriter,
  sourceId: string,
  prices: readonly PriceInterval[],
): Promise<Result<PriceChange>> => {
  const { query } = writer
  const { rows } = await query<StoredMarket>(sql`
    select ${marketColumns} from market_sources where ${ownedByWriter(writer)} and id = ${sourceId} and ${isActive}
    for update`)
  const [market] = rows
  if (market === undefined) return noMarket
  const sorted = prices.toSorted((a, b) => a.start - b.start)
  const storedPrices = pricesFrom(await overlappingPrices(query, sourceId, sorted))
  const { removed, added, changed, stored, replaced, unchanged } = replacePrices(storedPrices, sorted)
  if (changed === null) return accepted({ market, stored, replaced, unchanged, fanOut: null })
  await removePrices(query, sourceId, removed)
  await insertPrices(query, sourceId, added)
  const revision = market.priceRevision + 1
  // Forecasts are due from this instant on, or from an earlier one that is due already.
  await query(sql`
    update market_sources set price_revision = ${revision},
      forecast_from = least(forecast_from, ${toTimestamp(changed.from)})
    where id = ${sourceId}`)
  const fanOut = { sourceId, revision, ...changed }
  await writePriceFanOut(query, fanOut)
  return accepted({ market: { ...market, priceRevision: revision }, stored, replaced, unchanged, fanOut })
}

/**
 * Read the whole published prices of a source that overlap an interval, in blocks in order of time. Null if there is no
 * such source.
 */
export const readMarketPrices = async (
  writer: MarketWriter,
  sourceId: string,
  interval: { readonly from: number; readonly to: number },
): Promise<{ readonly market: StoredMarket; readonly blocks: readonly string[] } | null> => {
  const market = await retrieveMarket(writer, sourceId)
  if (market === null) return null
  return {
    market,
    blocks: await overlappingPrices(writer.query, sourceId, [{ start: interval.from, end: interval.to }]),
  }
}

/** Read the stored prices that overlap any of some sorted intervals, in blocks in order of time. */
const overlappingPrices = async (
  query: Query,
  sourceId: string,
  intervals: readonly { readonly start: number; readonly end: number }[],
): Promise<readonly string[]> => {
  const runs = mergeTouching(intervals)
  // The last interval before a run may reach into it; all others begin in the run.
  const prices = sql`
    select distinct p.start_time, p.end_time, p.value, p.confidence
    from unnest(${runs.map(({ start }) => toTimestamp(start))}::timestamptz[],
      ${runs.map(({ end }) => toTimestamp(end))}::timestamptz[]) as run(a, b)
    cross join lateral (
      (select start_time, end_time, value, confidence from market_prices
       where source_id = ${sourceId} and published and start_time < run.a order by start_time desc limit 1)
      union all
      select start_time, end_time, value, confidence from market_prices
      where source_id = ${sourceId} and published and start_time >= run.a and start_time < run.b
    ) as p
    where p.end_time > run.a`
  const { rows } = await query<{ prices: string }>(sql`${inBlocks(prices)} order by block`)
  return rows.map(row => row.prices)
}

const mergeTouching = (intervals: readonly { readonly start: number; readonly end: number }[]) => {
  const runs: { start: number; end: number }[] = []
  for (const { start, end } of intervals) {
    const last = runs.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else runs.push({ start, end })
  }
  return runs
}

/** Prices in one statement: their parameters take some milliseconds. */
const pricesPerStatement = 1_000

function* groupsOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += pricesPerStatement) yield all.slice(at, at + pricesPerStatement)
}

const removePrices = async (query: Query, sourceId: string, starts: readonly number[]): Promise<void> => {
  for (const group of groupsOf(starts)) {
    await query(sql`delete from market_prices
      where source_id = ${sourceId} and published and start_time = any(${group.map(toTimestamp)}::timestamptz[])`)
  }
}

const insertPrices = async (query: Query, sourceId: string, prices: readonly PriceInterval[]): Promise<void> => {
  for (const group of groupsOf(prices)) {
    await query(sql`
      insert into market_prices (source_id, published, start_time, end_time, value)
      select ${sourceId}, true, a, b, value * 0.000000001
      from unnest(${group.map(({ start }) => toTimestamp(start))}::timestamptz[],
        ${group.map(({ end }) => toTimestamp(end))}::timestamptz[],
        ${group.map(({ value }) => value.toString())}::numeric[]) as p(a, b, value)`)
  }
}
