import type { Energy } from '../quantity.ts'
import { countingStartOf } from '../tariff/accumulator.ts'
import type { CountedStep } from '../tariff/evaluate.ts'
import type { CountingInterval } from './counting-interval.ts'

/** The energy of the records that start in a half-open span and lie in one cell as a whole, and how many they are. */
export type EnergyBucket = {
  readonly start: number
  readonly end: number
  readonly energy: Energy
  readonly records: number
}

/** What a record that lies across cells brings to one accumulator: it counts from `at` on, its start or the counting start, if later. */
export type CrossingEnergy = { readonly key: number; readonly at: number; readonly energy: Energy }

/** What is known of the records at a location: buckets in order, apart from each other, each within one cell, and what lies across cells. */
export type CountedRecords = {
  readonly intervals: readonly CountingInterval[]
  readonly buckets: readonly EnergyBucket[]
  readonly crossing: readonly CrossingEnergy[]
}

/** The steps of each accumulator by key, and the buckets that must be told more finely before the steps are right. */
export type TierSteps = {
  readonly steps: ReadonlyMap<number, readonly CountedStep[]>
  readonly tooCoarse: readonly EnergyBucket[]
}

/** What one accumulator gains within a span of instants. */
type AccumulatorGain = {
  readonly start: number
  readonly end: number
  readonly bucket: EnergyBucket | null
  energy: Energy
}

/** The gains of an accumulator in order; what lies across cells is told with the bucket that it falls into. */
const accumulatorGainsOf = (
  key: number,
  { intervals, buckets, crossing }: CountedRecords,
): readonly AccumulatorGain[] => {
  const ownIntervals = intervals.filter(({ accumulatorKeys }) => accumulatorKeys.includes(key))
  const startsInOwn = ({ start }: EnergyBucket): boolean =>
    ownIntervals.some(interval => interval.start <= start && start < interval.end)
  const gains: AccumulatorGain[] = buckets.filter(startsInOwn).map(bucket => ({ ...bucket, bucket }))
  const crossingGains: AccumulatorGain[] = []
  for (const { at, energy } of crossing.filter(one => one.key === key)) {
    const gain = gains.find(({ start, end }) => start <= at && at < end)
    if (gain === undefined) crossingGains.push({ start: at, end: at + 1, bucket: null, energy })
    else gain.energy += energy
  }
  return [...gains, ...crossingGains].sort((a, b) => a.start - b.start)
}

/** The steps of one accumulator; what it has gained by `from` is its first step. */
const countedStepsOf = (
  key: number,
  gains: readonly AccumulatorGain[],
  bounds: readonly Energy[],
  from: number,
  tooCoarse: Set<EnergyBucket>,
): readonly CountedStep[] => {
  let counted = 0n
  let firstStep: CountedStep | null = null
  const steps: CountedStep[] = []
  for (const { start, end, bucket, energy } of gains) {
    const countedBefore = counted
    counted += energy
    if (end <= from + 1) firstStep = { from: Math.min(from, countingStartOf(key)), counted }
    else if (bounds.some(bound => countedBefore < bound && bound <= counted)) {
      if (bucket !== null && end > start + 1) tooCoarse.add(bucket)
      steps.push({ from: start, counted })
    }
  }
  return firstStep === null ? steps : [firstStep, ...steps]
}

/**
 * Tell from when on accumulators have counted how much: what is counted at `from`, and each instant behind it at which a tier's bound is
 * met. A record counts from its start on, so of those that start at an instant a further one would come last.
 * A bucket that ends by `from + 1` need not be told more finely.
 * Source: docs/rules/prices-and-audits.md #tier-in-force.
 */
export const tierSteps = (records: CountedRecords, bounds: readonly Energy[], from: number): TierSteps => {
  const tooCoarse = new Set<EnergyBucket>()
  const steps = new Map<number, readonly CountedStep[]>()
  for (const key of new Set(records.intervals.flatMap(({ accumulatorKeys }) => accumulatorKeys))) {
    steps.set(key, countedStepsOf(key, accumulatorGainsOf(key, records), bounds, from, tooCoarse))
  }
  return { steps, tooCoarse: [...tooCoarse] }
}
