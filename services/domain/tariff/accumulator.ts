import type { Energy } from '../quantity.ts'
import type { TariffDirection, TariffType } from './tariff.ts'

/**
 * The counted energy of one location per accumulator, by `tierKey`; what is absent is 0.
 * There is one accumulator for each type, direction and counting start (the later of local month start and contract start).
 */
export type AccumulatorCounts = ReadonlyMap<number, Energy>

/** An accumulator that a record stands in, before and after it; both are equal where it moves nothing. */
export type AccumulatorChange = {
  readonly type: TariffType
  readonly direction: TariffDirection
  readonly countingStart: number
  readonly before: Energy
  readonly after: Energy
}

/** Where a record stands in the order of an accumulator. */
export type RecordSortKey = { readonly start: number; readonly end: number; readonly recordId: string }

const directionCode: Record<TariffDirection, number> = { IMPORT: 0, EXPORT: 1, LOCAL: 2 }

/** Give the key of an accumulator in `TierCounts`. An instant times 8 is a safe integer until the year 37000. */
export const accumulatorKey = (type: TariffType, direction: TariffDirection, countingStart: number): number =>
  countingStart * 8 + directionCode[direction] * 2 + (type === 'COMMODITY' ? 0 : 1)

/** The counting start of an accumulator: what `tierKey` was given. */
export const countingStartOf = (key: number): number => Math.floor(key / 8)

/**
 * Compare two records in the order in which an accumulator counts them: start (or its counting start, if later), end, record id.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export const compareSortKeys = (a: RecordSortKey, b: RecordSortKey, countingStart: number): number =>
  Math.max(a.start, countingStart) - Math.max(b.start, countingStart) ||
  a.end - b.end ||
  (a.recordId < b.recordId ? -1 : a.recordId > b.recordId ? 1 : 0)
