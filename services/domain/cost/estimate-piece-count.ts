import { civilDate, dayMs, weekdayOf } from '../civil-date.ts'
import type { CompiledSchedule } from '../tariff/compiled-schedule.ts'
import type { DirectionPrices } from '../tariff/snapshot.ts'
import type { MarketSeries } from '../tariff/tariff.ts'

/** Of a schedule with fewer bands no day is looked at. */
const fewTimeBands = 24
/** A longer record has days of all kinds. */
const longRecordMs = 2 * dayMs

/** Records of one direction: from the first start to the last end, their lengths together and that of the longest one, in ms. */
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
 * Tell about how many edges of prices lie within records: a record has one piece more. An estimate for shares of time, from the prices of a
 * day: it is no bound.
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
