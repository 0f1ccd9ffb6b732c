import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { countingStartOf } from '../tariff/accumulator.ts'
import type { CountedStep } from '../tariff/evaluate.ts'
import type { CountingInterval } from './counting-interval.ts'

/** Energy and number of the records that start in an interval and lie completely in one counting interval. */
export type EnergyBucket = Interval & {
  readonly energy: Energy
  readonly records: number
}

/**
 * Energy that a record across counting intervals adds to one accumulator. It counts from `at`: the start of the record,
 * or a later counting start.
 */
export type CrossingEnergy = { readonly key: number; readonly at: number; readonly energy: Energy }

/**
 * Counted records of a location: separate buckets in order, each within one counting interval, and energy across
 * counting intervals.
 */
export type CountedRecords = {
  readonly intervals: readonly CountingInterval[]
  readonly buckets: readonly EnergyBucket[]
  readonly crossing: readonly CrossingEnergy[]
}

/** Steps of each accumulator by key, and the buckets that must be divided before the steps are exact. */
export type TierSteps = {
  readonly steps: ReadonlyMap<number, readonly CountedStep[]>
  readonly tooCoarse: readonly EnergyBucket[]
}

/** Energy that one accumulator gains in an interval. */
type AccumulatorGain = Interval & {
  readonly bucket: EnergyBucket | null
  energy: Energy
}

/**
 * Return the gains of an accumulator in order. Energy across counting intervals is added to the bucket that contains
 * its instant.
 */
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

/** Return the steps of one accumulator. Its energy up to `from` is the first step. */
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
 * Return the counted energy of accumulators by instant: the energy at `from`, and each later instant at which a tier
 * bound is reached.
 * A record counts from its start. Of records that start at the same instant, the next record would come last. A bucket
 * that ends by `from + 1` need not be divided.
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
