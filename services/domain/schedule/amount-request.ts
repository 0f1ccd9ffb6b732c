import type { Interval } from '../interval.ts'
import type { Energy, Price } from '../quantity.ts'
import type { UnpricedInterval } from '../tariff/evaluate.ts'
import type { PriceBound } from './slot.ts'

/** Power in 1e-6 W. */
export type Power = bigint

/** Energy that a device must take (IMPORT) or deliver (EXPORT) in a window, at or below a power above 0. */
export type PlannedDevice = {
  readonly deviceId: string
  readonly direction: 'IMPORT' | 'EXPORT'
  readonly start: number
  readonly end: number
  readonly power: Power
  readonly energy: Energy
}

/**
 * Request for a plan. `sitePower` (null: no limit) limits the sum of imports at every instant.
 * `threshold` allows no import above it and no export below it. A relative threshold is a share of the price range,
 * from the lowest price up for imports and from the highest down for exports.
 */
export type AmountRequest = {
  readonly devices: readonly PlannedDevice[]
  readonly sitePower: Power | null
  readonly threshold: PriceBound | null
}

/** Expected own generation at constant power over an interval. Confidence is in 1e-6. */
export type ExpectedGeneration = Interval & {
  readonly energy: Energy
  readonly confidence: number
}

/** Prices of further energy, ascending. `upTo` is counted from the start of the plan; the last step has no bound. */
export type PlanSteps = readonly { readonly upTo: Energy | null; readonly price: Price }[]

/**
 * Prices of an interval in a plan. `steps` are the prices of further energy of the same accumulator. Intervals with one
 * `accumulator` share it; null if no tier bound can be passed.
 * `components` are the commodity and non-commodity parts alone, each with its own count; empty if no tier bound can be
 * passed. Confidence is in 1e-4.
 */
export type PlanPrice = Interval & {
  readonly steps: PlanSteps
  readonly accumulator: string | null
  readonly components: readonly { readonly accumulator: string; readonly steps: PlanSteps }[]
  readonly confidence: number
}

/** Prices of a plan in one direction: priced and unpriced intervals in order, which together cover its time. */
export type PlanPrices = { readonly priced: readonly PlanPrice[]; readonly unpriced: readonly UnpricedInterval[] }

/** Interval of constant power. */
export type PlanPiece = Interval & { readonly power: Power }
