import sql, { type Sql } from 'sql-template-tag'
import type { ForecastClock } from '../../../domain/forecast/forecast-zone.ts'
import type { PriceHistory } from '../../../domain/forecast/hour-grid.ts'
import { fromNano, toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst, readRows } from '../database.ts'
import type { OperatorTransaction } from '../transaction.ts'
import { type PriceChangeInterval, writePriceFanOut } from './price-fan-outs.ts'
import type { PriceInterval } from './price-overlap.ts'

/** Source whose published prices changed from `from` (ms) on, with the revision that was read. */
export type DueForecast = ForecastClock & {
  readonly sourceId: string
  readonly revision: number
  readonly from: number
}

/** Source with forecasts, its clock, and the time zone with which the forecasts were calculated. */
export type UsedClock = ForecastClock & { readonly sourceId: string; readonly forecastTimezone: string }

/** Interval without published prices, half-open (ms); `end` null after the last price. */
export type PriceGap = { readonly start: number; readonly end: number | null }

/** Forecast price; confidence in 1e-4, above 0 and below 10,000. */
export type ForecastInterval = PriceInterval & { readonly confidence: number }

/** Time zone of the oldest active location with the source `s`. */
const locationZone = sql`(select l.timezone from (
    (select id, timezone from locations where import_market_source_id = s.id and deleted_at is null order by id limit 1)
    union all
    (select id, timezone from locations where export_market_source_id = s.id and deleted_at is null order by id limit 1)
  ) l order by l.id limit 1)`

/**
 * Find the sources whose forecasts may follow another clock than theirs, because `forecast_timezone` differs from their
 * time zone or that of their first location. The clock of an area is not known here.
 */
export const findChangedClocks = (operator: Query): Promise<readonly UsedClock[]> =>
  readRows(operator)(sql`
    select * from (select id as "sourceId", area, timezone, forecast_timezone as "forecastTimezone",
        case when timezone is null then ${locationZone} end as "locationTimezone"
      from market_sources s where deleted_at is null and forecast_from is null and forecast_timezone is not null) c
    where coalesce(timezone, "locationTimezone", 'UTC') <> "forecastTimezone"`)

/** Mark all forecasts of some sources as due. Returns the number of sources that have forecasts. */
export const markForecastsDue = (operator: Query, sources: readonly Pick<UsedClock, 'sourceId'>[]): Promise<number> =>
  countRows(operator)(sql`
    update market_sources s set forecast_from = f.start from (
      select source_id, min(start_time) as start from market_prices
      where source_id = any(${sources.map(({ sourceId }) => sourceId)}) and not published group by source_id) f
    where s.id = f.source_id and s.forecast_from is null`)

/**
 * Find a source whose forecasts are older than its published prices: the next one after a source, in circular order of
 * ids. Null if there is none.
 */
export const nextDueForecast = (operator: Query, after: string): Promise<DueForecast | null> =>
  readFirst(operator)(sql`
    select id as "sourceId", price_revision as revision, area, timezone, ${locationZone} as "locationTimezone",
      forecast_from as "from"
    from market_sources s where forecast_from is not null order by id <= ${after}, id limit 1`)

/** Find the gaps of a source's published prices that begin at an instant or later, in order of time, up to `limit`. */
export const priceGaps = (
  operator: Query,
  { sourceId, from }: Pick<DueForecast, 'sourceId' | 'from'>,
  limit: number,
): Promise<readonly PriceGap[]> =>
  readRows(operator)(sql`
    select end_time as start, next as end from (
      select end_time, lead(start_time) over (order by start_time) as next from market_prices
      where source_id = ${sourceId} and published and start_time >= coalesce((select q.start_time from market_prices q
        where q.source_id = ${sourceId} and q.published and q.start_time < ${toTimestamp(from)}
        order by q.start_time desc limit 1), '-infinity')
    ) as p where (next is null or next > end_time) and end_time >= ${toTimestamp(from)}
    order by end_time limit ${limit}`)

/**
 * Read the published prices of a source that begin in an interval, in order of time. Values in 1e-9 per kWh are below
 * 2^53, so numbers are exact.
 */
export const readPublished = async (
  operator: Query,
  sourceId: string,
  interval: { readonly from: number; readonly to: number },
): Promise<PriceHistory> => {
  const { rows } = await operator<{ columns: string }>(sql`
    select json_build_array(coalesce(json_agg(extract(epoch from start_time) * 1000 order by start_time), '[]'),
      coalesce(json_agg(extract(epoch from end_time) * 1000 order by start_time), '[]'),
      coalesce(json_agg(trim_scale(value * 1000000000)::bigint order by start_time), '[]')) as columns
    from market_prices where source_id = ${sourceId} and published
      and start_time >= ${toTimestamp(interval.from)} and start_time < ${toTimestamp(interval.to)}`)
  const [starts = [], ends = [], values = []] = JSON.parse(rows[0]?.columns ?? '[]') as number[][]
  return { starts, ends, values }
}

type ForecastRow = { start_time: number; end_time: number; value: string; confidence: string }

/** The condition for the forecasts that a run replaces. */
const replacedBy = ({ due: { sourceId, from }, next }: Pick<ForecastRun, 'due' | 'next'>): Sql => sql`
  source_id = ${sourceId} and not published and start_time >= ${toTimestamp(from)}
  and start_time < ${next === null ? 'infinity' : toTimestamp(next)}`

const readReplaced = async (query: Query, run: ForecastRun): Promise<readonly ForecastInterval[]> => {
  const { rows } = await query<ForecastRow>(sql`
    select start_time, end_time, value, confidence from market_prices where ${replacedBy(run)} order by start_time`)
  return rows.map(row => ({
    start: row.start_time,
    end: row.end_time,
    value: fromNano(row.value),
    confidence: Math.round(Number(row.confidence) * 10_000),
  }))
}

/** Interval in which two lists of forecasts differ; null if they are equal. */
const differenceOf = (
  oldForecasts: readonly ForecastInterval[],
  newForecasts: readonly ForecastInterval[],
): Pick<PriceChangeInterval, 'from' | 'to'> | null => {
  const keyOf = ({ start, end, value, confidence }: ForecastInterval): string =>
    `${start}/${end}/${value}/${confidence}`
  const [oldKeys, newKeys] = [new Set(oldForecasts.map(keyOf)), new Set(newForecasts.map(keyOf))]
  const changed = [
    ...oldForecasts.filter(one => !newKeys.has(keyOf(one))),
    ...newForecasts.filter(one => !oldKeys.has(keyOf(one))),
  ]
  if (changed.length === 0) return null
  return { from: Math.min(...changed.map(({ start }) => start)), to: Math.max(...changed.map(({ end }) => end)) }
}

/** New forecasts of a source from `due.from` on: up to `next` if more gaps remain, otherwise all. */
export type ForecastRun = {
  readonly due: DueForecast
  /** Time zone of the forecasts. */
  readonly timezone: string
  readonly forecasts: readonly ForecastInterval[]
  /** Start of the first gap (ms). Before it, published prices are valid. */
  readonly firstGap: number
  readonly next: number | null
}

const insertForecasts = async (
  query: Query,
  sourceId: string,
  forecasts: readonly ForecastInterval[],
): Promise<void> => {
  await query(sql`
    insert into market_prices (source_id, published, start_time, end_time, value, confidence)
    select ${sourceId}, false, a, b, value * 0.000000001, confidence * 0.0001
    from unnest(${forecasts.map(({ start }) => toTimestamp(start))}::timestamptz[],
      ${forecasts.map(({ end }) => toTimestamp(end))}::timestamptz[],
      ${forecasts.map(({ value }) => value.toString())}::numeric[],
      ${forecasts.map(({ confidence }) => confidence)}::numeric[])
      as p(a, b, value, confidence)`)
}

/** End older forecasts at the change, because they were calculated from the prices before it. */
const truncateForecasts = async (query: Query, { sourceId, from }: DueForecast): Promise<void> => {
  await query(sql`update market_prices set end_time = ${toTimestamp(from)}
    where source_id = ${sourceId} and not published and start_time < ${toTimestamp(from)}
      and end_time > ${toTimestamp(from)}`)
}

/** Return the clock of all forecasts after a run: the former one if older forecasts remain, which are then found again. */
const clockAfter = async (query: Query, { due: { sourceId, from }, timezone }: ForecastRun): Promise<string> => {
  const { rows } = await query<{ clock: string }>(sql`
    select case when exists (select 1 from market_prices where source_id = ${sourceId} and not published
      and start_time < ${toTimestamp(from)}) then coalesce(forecast_timezone, ${timezone}) else ${timezone} end as clock
    from market_sources where id = ${sourceId}`)
  return rows[0]?.clock ?? timezone
}

/**
 * Replace the forecasts from `due.from` on. If valid prices differ, the price revision rises and a fan-out over the
 * difference is written, so that all affected costs are recalculated. Returns this change; null if valid prices are
 * equal. If the prices changed since `due` was read, nothing is stored and the source stays due.
 * Source: docs/rules/markets-and-forecasts.md #price-changes, #forecasts.
 */
export const storeForecasts = async (
  { query }: OperatorTransaction,
  run: ForecastRun,
): Promise<PriceChangeInterval | null> => {
  const { due, forecasts, firstGap, next } = run
  const { sourceId } = due
  const { rows } = await query<{ revision: number }>(sql`
    select price_revision as revision from market_sources where id = ${sourceId} for update`)
  if (rows[0]?.revision !== due.revision) return null
  const clock = await clockAfter(query, run)
  await truncateForecasts(query, due)
  const difference = differenceOf(await readReplaced(query, run), forecasts)
  // Published prices are valid up to the first gap.
  const change =
    difference === null || difference.to <= firstGap
      ? null
      : { sourceId, revision: due.revision + 1, from: Math.max(difference.from, firstGap), to: difference.to }
  if (difference !== null) {
    await query(sql`delete from market_prices where ${replacedBy(run)}`)
    await insertForecasts(query, sourceId, forecasts)
  }
  if (change !== null) await writePriceFanOut(query, change, false)
  await query(sql`
    update market_sources set price_revision = ${change?.revision ?? due.revision},
      forecast_from = ${next === null ? null : toTimestamp(next)}, forecast_timezone = ${clock}
    where id = ${sourceId}`)
  return change
}
