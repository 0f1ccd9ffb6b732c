import { civilDate, dayMs, weekdayOf } from '../civil-date.ts'
import type { DirectionPrices } from '../tariff/snapshot.ts'
import type { MarketSeries } from '../tariff/tariff.ts'
import type { Terms } from '../tariff/terms.ts'

/** Of a schedule with fewer bands no day is looked at. */
const fewBands = 24
/** A longer record has days of all kinds. */
const longMs = 2 * dayMs

/** Records of one direction: from the first start to the last end, their lengths together and that of the longest one, in ms. */
export type RecordLengths = { readonly from: number; readonly to: number; readonly lengthMs: number; readonly longestMs: number }

const bandsOn = (terms: Terms | null, at: number, isLong: boolean): number => {
  if (terms === null) return 0
  if (terms.bandCount <= fewBands) return terms.bandCount
  if (isLong) return terms.maxBands()
  const day = Math.floor(at / dayMs)
  const { month, date } = civilDate(day)
  return terms.patternOn(month, date, weekdayOf(day)).starts.length
}

const marketPerDay = (market: MarketSeries | null): number =>
  market === null ? 0 : dayMs / Math.max(1, (market.ends[0] ?? dayMs) - (market.starts[0] ?? 0))

/**
 * Tell about how many edges of prices lie within records: a record has one piece more. An estimate for shares of time, from the prices of a
 * day: it is no bound.
 */
export const piecesAbout = ({ eras }: DirectionPrices, { from, to, lengthMs, longestMs }: RecordLengths): number => {
  let perDay = 0
  for (const era of eras) {
    if (era.to <= from || era.from > to) continue
    const at = Math.max(era.from, from)
    const isLong = longestMs > longMs
    const { commodity, nonCommodity, market } = era.plan
    perDay = Math.max(perDay, bandsOn(commodity, at, isLong) + bandsOn(nonCommodity, at, isLong) + marketPerDay(market))
  }
  return (lengthMs / dayMs) * perDay
}
