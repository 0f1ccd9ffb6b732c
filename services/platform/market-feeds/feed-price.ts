import { type Price, readDecimal } from '../../domain/quantity.ts'
import { Failure } from '../failure.ts'

/** A published price over a half-open interval of instants (ms), in 1e-9 of the currency's major unit per kWh. */
export type FeedPrice = { readonly start: number; readonly end: number; readonly value: Price }

/** What a written price counts in: a tenth of a cent a kWh is one unit per MWh; hundredths are pence, cents, øre. */
export type PriceUnit = 'PER_MWH' | 'PER_KWH' | 'HUNDREDTH_PER_KWH'

/** Digits between the unit of a written price and 1e-9 per kWh. */
const digits: Readonly<Record<PriceUnit, number>> = { PER_MWH: 6, HUNDREDTH_PER_KWH: 7, PER_KWH: 9 }

const maxPerKwh = 1_000_000n * 10n ** 9n

/** The failure of an answer that is not what its feed documents; `what` says where it departs. */
export const unreadable = (what: string): Failure =>
  new Failure('feed_unreadable', `the answer cannot be read: ${what}`, { retriable: true })

/**
 * Read a written price as 1e-9 per kWh, exactly; finer digits are rounded half to even. Null for what is no number, or beyond a million
 * per kWh. Source: docs/rules/tariffs.md #price-of-a-band.
 */
export const priceOf = (text: string, unit: PriceUnit): Price | null => {
  const read = readDecimal(text, { scale: digits[unit], min: -maxPerKwh, max: maxPerKwh, round: true }, 'price')
  return read.ok ? read.value : null
}

/** Read a price of a feed's answer. Throws Failure `feed_unreadable`. */
export const feedPrice = (text: string, unit: PriceUnit): Price => {
  const value = priceOf(text, unit)
  if (value === null) throw unreadable(`"${text.slice(0, 40)}" is no price`)
  return value
}

/** Keep the prices that share time with a span, in the order of time. */
export const overlapping = (
  prices: readonly FeedPrice[],
  interval: { readonly from: number; readonly to: number },
): readonly FeedPrice[] =>
  prices.filter(({ start, end }) => start < interval.to && end > interval.from).toSorted((a, b) => a.start - b.start)

/**
 * Give points in time the intervals that they open: each lasts to the next, at most as long as the one before it or `longestMs`, so that
 * a gap stays one. The last is as long as the one before it; one alone lasts `longestMs`. Starts must ascend.
 */
export const intervalsFrom = (
  starts: readonly number[],
  maxLengthMs: number,
): readonly { readonly start: number; readonly end: number }[] =>
  starts.map((start, index) => {
    const [before, after] = [starts[index - 1], starts[index + 1]]
    const lengths = [
      maxLengthMs,
      ...(before === undefined ? [] : [start - before]),
      ...(after === undefined ? [] : [after - start]),
    ]
    return { start, end: start + Math.min(...lengths) }
  })
