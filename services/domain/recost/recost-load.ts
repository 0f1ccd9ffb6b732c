import { civilDate, weekdayOf } from '../civil-date.ts'
import { nextLocalMonth, startOfLocalMonth, type TimeZone } from '../civil-time.ts'
import { dayMs, type Interval } from '../interval.ts'
import type { CompiledSchedule } from '../tariff/compiled-schedule.ts'
import type { DirectionPrices, PricingSnapshot } from '../tariff/snapshot.ts'
import type { MarketSeries, TariffDirection } from '../tariff/tariff.ts'
import { directions } from './change-set.ts'

/** Schedules with at most this number of time bands are not examined by day. */
const fewTimeBands = 24
/** Records longer than this are assumed to touch every kind of day. */
const longRecordMs = 2 * dayMs

/** Records of one direction: first start and last end (instants), their total length and the longest length in ms. */
type RecordDurations = {
  readonly from: number
  readonly to: number
  readonly lengthMs: number
  readonly longestMs: number
}

const timeBandsOn = (schedule: CompiledSchedule | null, at: number, isLongRecord: boolean): number => {
  if (schedule === null) return 0
  if (schedule.timeBandCount <= fewTimeBands) return schedule.timeBandCount
  if (isLongRecord) return schedule.mostTimeBandsOnADay()
  const day = Math.floor(at / dayMs)
  const { month, date } = civilDate(day)
  return schedule.patternOn(month, date, weekdayOf(day)).starts.length
}

const marketPricesPerDay = (market: MarketSeries | null): number =>
  market === null ? 0 : dayMs / Math.max(1, (market.ends[0] ?? dayMs) - (market.starts[0] ?? 0))

/**
 * Estimate the number of price edges within records, from the prices of one day. Each record has one piece more.
 * The result sizes time slices; it is not a bound.
 */
const estimatePieceCount = (
  { pricePeriods }: DirectionPrices,
  { from, to, lengthMs, longestMs }: RecordDurations,
): number => {
  let piecesPerDay = 0
  for (const pricePeriod of pricePeriods) {
    if (pricePeriod.end <= from || pricePeriod.start > to) continue
    const at = Math.max(pricePeriod.start, from)
    const isLongRecord = longestMs > longRecordMs
    const { commodity, nonCommodity, market } = pricePeriod.plan
    piecesPerDay = Math.max(
      piecesPerDay,
      timeBandsOn(commodity, at, isLongRecord) +
        timeBandsOn(nonCommodity, at, isLongRecord) +
        marketPricesPerDay(market),
    )
  }
  return (lengthMs / dayMs) * piecesPerDay
}

/**
 * Cost pieces per account and step. Work above `maxPieces` is slow work, and runs in parallel with the steps, if its
 * records have at least `minPiecesPerRecord` pieces on average.
 */
export type LoadLimits = { readonly maxPieces: number; readonly minPiecesPerRecord: number }

export const defaultLoadLimits: LoadLimits = { maxPieces: 50_000, minPiecesPerRecord: 2 }

/** Number of rows and the sum of their lengths in ms. */
export type RowLengths = { readonly rows: number; readonly lengthMs: number }

/** Estimated cost pieces of some rows: in total, and per row on average. */
export type PieceCounts = { readonly total: number; readonly perRow: number }

/** Rows that start in a month (UTC). */
export type MonthRows = { readonly month: number; readonly rows: number }

/** Part of a local month to recost, with the approximate number of its rows. */
export type MonthToRecost = Interval & { readonly rows: number }

type PricesOfLocation = { readonly snapshot: PricingSnapshot }

/**
 * Estimate how often the price changes within records. Return 0 for invalid prices: their costing fails and reports the
 * error.
 */
export const estimateEdges = (
  { snapshot }: PricesOfLocation,
  direction: TariffDirection,
  lengths: RecordDurations,
): number => {
  try {
    return estimatePieceCount(snapshot.directions[direction], lengths)
  } catch {
    return 0
  }
}

/** Estimate the cost pieces of rows that start at `from` or later, in the direction with most pieces. */
export const pieceCountsOf = (prices: PricesOfLocation, from: number, { rows, lengthMs }: RowLengths): PieceCounts => {
  if (rows === 0) return { total: 0, perRow: 0 }
  const lengths = { from, to: Number.POSITIVE_INFINITY, lengthMs, longestMs: lengthMs / rows }
  const total = Math.max(...directions.map(direction => estimateEdges(prices, direction, lengths)))
  return { total, perRow: total / rows }
}

/**
 * Return how many rows of a location to recost at a time: fewer than `usual` if one of the row sets has too many
 * pieces.
 */
export const maxRowsAtOnce = (
  counts: readonly PieceCounts[],
  usual: number,
  { maxPieces, minPiecesPerRecord }: LoadLimits,
): number => {
  let maxRows = usual
  for (const { total, perRow } of counts)
    if (total > maxPieces && perRow >= minPiecesPerRecord)
      maxRows = Math.min(maxRows, Math.max(1, Math.floor(maxPieces / perRow)))
  return maxRows
}

/**
 * Return the local months of an interval that have rows, in the order of time. A null end of the interval is open.
 * The month that contains the start is always included: rows that start before it can end in it.
 */
export const monthsToRecost = (
  zone: TimeZone,
  { start: from, end: to }: { readonly start: number | null; readonly end: number | null },
  months: readonly MonthRows[],
): readonly MonthToRecost[] => {
  const rowsOf = new Map<number, number>()
  const bound = from ?? months[0]?.month
  if (bound === undefined) return []
  rowsOf.set(startOfLocalMonth(zone, bound), 0)
  for (const { month, rows } of months) {
    const date = new Date(month)
    const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    for (let at = startOfLocalMonth(zone, month); at < end; at = nextLocalMonth(zone, at))
      rowsOf.set(at, (rowsOf.get(at) ?? 0) + rows)
  }
  return [...rowsOf]
    .sort(([a], [b]) => a - b)
    .map(([start, rows]) => ({
      start: Math.max(start, from ?? start),
      end: Math.min(nextLocalMonth(zone, start), to ?? Number.POSITIVE_INFINITY),
      rows,
    }))
    .filter(interval => interval.start < interval.end)
}

/** Work that a step can still do for recost requests, and the months (with account and mode) that it already reads. */
export type RecostBudget = { remainingRows: number; readonly months: Set<string> }

/** Limits per step. New records wait for the step, and a smaller step costs almost as much. */
export const recostLimits = { rows: 5_000, locations: 200 }
/** Cost of a location-month without rows, in rows. */
const rowsPerTask = 5
/** Cost of a month that no other task of the step reads, in rows: one statement and a part of the table. */
const rowsPerNewMonth = 150
/** Cost pieces that cost as much as a row. */
const piecesPerRow = 8

/** Create the budget of a step. */
export const recostBudget = (): RecostBudget => ({ remainingRows: recostLimits.rows, months: new Set() })

/**
 * Subtract a location-month of `rows` rows from the budget. `monthKey`: rows with the same key are read and written
 * together.
 */
export const spendBudget = (budget: RecostBudget, monthKey: string, rows: number, { perRow }: PieceCounts): void => {
  const rowCost = rows * (1 + perRow / piecesPerRow)
  budget.remainingRows -= rowCost + rowsPerTask + (budget.months.has(monthKey) ? 0 : rowsPerNewMonth)
  budget.months.add(monthKey)
}

/** Use the whole budget: the step does nothing else for recost requests. */
export const exhaustBudget = (budget: RecostBudget): void => {
  budget.remainingRows = 0
}
