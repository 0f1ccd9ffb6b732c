import { civilDate, weekdayOf } from '../civil-date.ts'
import { dayMs } from '../interval.ts'
import type { CompiledSchedule } from '../tariff/compiled-schedule.ts'
import type { DirectionPrices } from '../tariff/snapshot.ts'
import type { MarketSeries } from '../tariff/tariff.ts'

/** Schedules with at most this number of time bands are not examined by day. */
const fewTimeBands = 24
/** Records longer than this are assumed to touch every kind of day. */
const longRecordMs = 2 * dayMs

/** Records of one direction: first start and last end (instants), their total length and the longest length in ms. */
export type RecordDurations = {
  readonly from: number
  readonly to: number
  readonly lengthMs: number
  readonly longestMs: number
}

const timeBandsOn = (schedule: CompiledSchedule | null, at: number, isLongRecord: boolean): number => {
  if (schedule === null) return 0
  if (schedule.timeBandCount <= fewTimeBands) return schedule.timeBandCount
  if (isLongRecord) return schedule.maxTimeBandsPerDay()
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
export const estimatePieceCount = (
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
