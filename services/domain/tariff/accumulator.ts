import type { Energy } from '../quantity.ts'
import type { TariffDirection, TariffType } from './tariff.ts'

/**
 * Counted energy of one location by accumulator (`accumulatorKey`); an absent accumulator is at 0.
 * There is one accumulator for each type, direction and counting start: the later of local month start and contract
 * start.
 */
export type AccumulatorCounts = ReadonlyMap<number, Energy>

/** Counts before any record: every accumulator is at 0. */
export const noAccumulatorCounts: AccumulatorCounts = new Map()

/**
 * Energy that a record adds to an accumulator, as counts before and after it. Both are equal if the record adds
 * nothing.
 */
export type AccumulatorChange = {
  readonly type: TariffType
  readonly direction: TariffDirection
  readonly countingStart: number
  readonly before: Energy
  readonly after: Energy
}

/** Sort key of a record in the counting order. */
export type RecordSortKey = { readonly start: number; readonly end: number; readonly recordId: string }

const directionCode: Record<TariffDirection, number> = { IMPORT: 0, EXPORT: 1, LOCAL: 2 }

/**
 * Return the key of an accumulator in `AccumulatorCounts`. An instant times 8 is a safe integer until the year 37000.
 */
export const accumulatorKey = (type: TariffType, direction: TariffDirection, countingStart: number): number =>
  countingStart * 8 + directionCode[direction] * 2 + (type === 'COMMODITY' ? 0 : 1)

/** Return the counting start from which `accumulatorKey` made a key. */
export const countingStartOf = (key: number): number => Math.floor(key / 8)

/**
 * Compare two records in the counting order of an accumulator: start (or its counting start, if later), end, record id.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export const compareSortKeys = (a: RecordSortKey, b: RecordSortKey, countingStart: number): number =>
  Math.max(a.start, countingStart) - Math.max(b.start, countingStart) ||
  a.end - b.end ||
  (a.recordId < b.recordId ? -1 : a.recordId > b.recordId ? 1 : 0)
