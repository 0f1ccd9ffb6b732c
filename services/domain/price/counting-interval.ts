import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import { accumulatorKey, countingStartOf } from '../tariff/accumulator.ts'
import type { CompiledSchedule } from '../tariff/compiled-schedule.ts'
import { countingStart } from '../tariff/evaluate.ts'
import type { PricePeriod, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'

/** A half-open span in which the energy of a direction goes to the same accumulators, given by `tierKey`. */
export type CountingInterval = {
  readonly start: number
  readonly end: number
  readonly accumulatorKeys: readonly number[]
}

const bothTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']

const tariffOf = (pricePeriod: PricePeriod, type: TariffType): string | null =>
  type === 'COMMODITY' ? pricePeriod.commodityId : pricePeriod.nonCommodityId

/** The parts of a local month in which the eras, and so the accumulators, do not change. */
const intervalsOfMonth = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  start: number,
  end: number,
): readonly CountingInterval[] => {
  const { pricePeriods, isTiered } = snapshot.directions[direction]
  return pricePeriods
    .filter(pricePeriod => pricePeriod.start < end && pricePeriod.end > start)
    .map(pricePeriod => ({
      start: Math.max(start, pricePeriod.start),
      end: Math.min(end, pricePeriod.end),
      accumulatorKeys: bothTypes
        .filter(type => isTiered[type] && tariffOf(pricePeriod, type) !== null)
        .map(type => accumulatorKey(type, direction, countingStart(pricePeriod, type, start))),
    }))
}

const isSameAccumulators = (a: CountingInterval, b: CountingInterval): boolean =>
  a.accumulatorKeys.join() === b.accumulatorKeys.join()

/** Join cells that follow each other and count alike, so that a record which passes from one to the next is whole. */
const joinIntervals = (intervals: readonly CountingInterval[]): readonly CountingInterval[] => {
  const merged: CountingInterval[] = []
  for (const interval of intervals) {
    const last = merged.at(-1)
    if (last !== undefined && isSameAccumulators(last, interval))
      merged[merged.length - 1] = { ...last, end: interval.end }
    else merged.push(interval)
  }
  return merged
}

/**
 * Give the cells whose energy can decide on the tiers of [from, to): without a gap, from the counting start of the first accumulator in
 * force there to the end of the last cell. Empty where nothing is counted. Source: docs/rules/tariffs.md #tiers.
 */
export const countingIntervals = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): readonly CountingInterval[] => {
  const intervals: CountingInterval[] = []
  for (let month = startOfLocalMonth(snapshot.timeZone, from); month < to; ) {
    const next = nextLocalMonth(snapshot.timeZone, month)
    intervals.push(...intervalsOfMonth(snapshot, direction, month, next))
    month = next
  }
  const keysInForce = intervals
    .filter(interval => interval.start < to && interval.end > from)
    .flatMap(({ accumulatorKeys }) => accumulatorKeys)
  if (keysInForce.length === 0) return []
  const countingStartOfFirst = Math.min(...keysInForce.map(countingStartOf))
  return joinIntervals(intervals.filter(interval => interval.end > countingStartOfFirst && interval.start < to))
}

/** The bounds of all tiers of a schedule. */
const scheduleBounds = new WeakMap<CompiledSchedule, readonly Energy[]>()

const tierBoundsOf = (schedule: CompiledSchedule): readonly Energy[] => {
  const cached = scheduleBounds.get(schedule)
  if (cached !== undefined) return cached
  const rates = schedule.schedule.flatMap(({ daysAndHours }) =>
    daysAndHours.flatMap(({ hours }) => hours.flatMap(({ rate }) => rate)),
  )
  const bounds = [...new Set(rates.map(({ to }) => to).filter(to => to !== null))]
  scheduleBounds.set(schedule, bounds)
  return bounds
}

/**
 * Give the bounds of the tiers that may be in force at some time in [from, to), of both types, ascending; none stands twice.
 * They are those of the whole schedules that are in force then: the time for this does not grow with the span.
 */
export const tierBounds = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): readonly Energy[] => {
  const pricePeriods = snapshot.directions[direction].pricePeriods.filter(
    pricePeriod => pricePeriod.start < to && pricePeriod.end > from,
  )
  const schedules = new Set(
    pricePeriods.flatMap(({ plan }) => [plan.commodity, plan.nonCommodity]).filter(one => one !== null),
  )
  return [...new Set([...schedules].flatMap(tierBoundsOf))].sort((a, b) => (a < b ? -1 : 1))
}
