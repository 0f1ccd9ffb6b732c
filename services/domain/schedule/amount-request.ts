import type { Energy, Price } from '../quantity.ts'
import type { PriceBound } from './limit.ts'

/** Power in 1e-6 W. */
export type Power = bigint

/** Energy that a device is to take (IMPORT) or give (EXPORT) in a half-open window, at most at a power above 0. */
export type PlannedDevice = {
  readonly deviceId: string
  readonly direction: 'IMPORT' | 'EXPORT'
  readonly start: number
  readonly end: number
  readonly power: Power
  readonly energy: Energy
}

/**
 * What is to be planned. `sitePower` (null: none) caps the sum of imports at every instant. `threshold`: no import above it, no export
 * below it; a relative one is a share of the range of prices, from the lowest up for imports, from the highest down for exports.
 */
export type AmountRequest = {
  readonly devices: readonly PlannedDevice[]
  readonly sitePower: Power | null
  readonly threshold: PriceBound | null
}

/** Own generation that is expected, at constant power over a half-open span. Confidence in 1e-6. */
export type ExpectedGeneration = {
  readonly start: number
  readonly end: number
  readonly energy: Energy
  readonly confidence: number
}

/** What more energy costs, rising; `upTo` is counted from where the plan begins, and the last step has no bound. */
export type PlanSteps = readonly { readonly upTo: Energy | null; readonly price: Price }[]

/**
 * The prices of a span. `steps` are what more energy of the same accumulator costs; spans of one `accumulator` share it; null where no tier
 * can be passed. `parts` are the commodity and the rest alone, each of which counts for itself; none where no tier can be passed.
 * Confidence in 1e-4.
 */
export type PlanPrice = {
  readonly start: number
  readonly end: number
  readonly steps: PlanSteps
  readonly accumulator: string | null
  readonly components: readonly { readonly accumulator: string; readonly steps: PlanSteps }[]
  readonly confidence: number
}

/** A half-open span that has no price, and what it lacks. */
export type UnpricedInterval = {
  readonly start: number
  readonly end: number
  readonly missing: 'TARIFF' | 'MARKET_PRICE'
}

/** The prices of a plan in one direction: priced and unpriced spans in order, which together cover its time. */
export type PlanPrices = { readonly priced: readonly PlanPrice[]; readonly unpriced: readonly UnpricedInterval[] }

/** A stretch of constant power. */
export type PlanPiece = { readonly start: number; readonly end: number; readonly power: Power }
