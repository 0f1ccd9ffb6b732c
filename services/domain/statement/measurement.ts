import type { Fraction } from '../fraction.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'

/** Interval of high demand. `weight` is in 1e-9. `score` is power × weight in the unit of the grid. */
export type Peak = Interval & { readonly energy: Energy; readonly weight: number; readonly score: bigint }

/**
 * Measured power of some days, in 1e-9 kW: the mean of power × weight of the peaks, 0 without peaks.
 * The peaks are in order of falling power × weight, the earlier of equal ones first.
 */
export type Measurement = { readonly power: Fraction; readonly peaks: readonly Peak[] }

/** Measurement of a range of days. `hasRecords`: a counted record shares time with it. */
export type RangeMeasurement = Measurement & { readonly hasRecords: boolean }
