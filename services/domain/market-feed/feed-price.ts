import { type Price, readDecimal } from '../quantity.ts'

/** A published price over a half-open interval of instants (ms), in 1e-9 of the currency's major unit per kWh. */
export type FeedPrice = { readonly start: number; readonly end: number; readonly value: Price }

/** Half-open interval of instants (ms) for which prices are requested. */
export type FeedInterval = { readonly from: number; readonly to: number }

/** Unit of a price text. `HUNDREDTH_PER_KWH` is pence, cents or øre per kWh. */
export type PriceUnit = 'PER_MWH' | 'PER_KWH' | 'HUNDREDTH_PER_KWH'

/** Power of ten between the unit of a price text and 1e-9 per kWh. */
const digits: Readonly<Record<PriceUnit, number>> = { PER_MWH: 6, HUNDREDTH_PER_KWH: 7, PER_KWH: 9 }

/** Maximum number of decimals of a market price. Those beyond 1e-9 per kWh are rounded. */
export const maxMarketDecimals = 30

const maxPerKwh = 1_000_000n * 10n ** 9n

/** The answer of a feed differs from its documented format. The message names the difference. */
export class FeedFormatError extends Error {}

/** Create the error of an answer that cannot be read. `difference` completes the sentence. */
export const unreadable = (difference: string): FeedFormatError =>
  new FeedFormatError(`Cannot read the answer: ${difference}`)

/**
 * Read a price text as 1e-9 per kWh, exactly. Finer digits are rounded half to even.
 * Null if the text is not a number, has more than 30 decimals, or exceeds a million per kWh.
 * Source: docs/rules/tariffs.md #price-of-a-band.
 */
export const priceOf = (text: string, unit: PriceUnit): Price | null => {
  const limits = { min: -maxPerKwh, max: maxPerKwh, maxDecimals: maxMarketDecimals }
  const read = readDecimal(text, { scale: digits[unit], ...limits, round: true }, 'price')
  return read.ok ? read.value : null
}

/** Read a price of an answer. Throws `FeedFormatError`. */
export const feedPrice = (text: string, unit: PriceUnit): Price => {
  const value = priceOf(text, unit)
  if (value === null) throw unreadable(`"${text.slice(0, 40)}" is not a price of at most ${maxMarketDecimals} decimals`)
  return value
}

/** Return the prices that overlap an interval, ordered by start. */
export const overlapping = (prices: readonly FeedPrice[], interval: FeedInterval): readonly FeedPrice[] =>
  prices.filter(({ start, end }) => start < interval.to && end > interval.from).toSorted((a, b) => a.start - b.start)

/**
 * Create one interval for each start. `starts` must ascend.
 * An interval ends at the next start, after the length of the previous interval, or after `maxLengthMs`: the earliest
 * of the three.
 * A missing start therefore leaves a gap.
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
