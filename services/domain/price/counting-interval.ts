import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import { overlaps } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { accumulatorKey, countingStartOf } from '../tariff/accumulator.ts'
import type { CompiledSchedule } from '../tariff/compiled-schedule.ts'
import { countingStart } from '../tariff/evaluate.ts'
import type { PricePeriod, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import { tariffTypes } from '../tariff/tariff.ts'

/** Interval in which the energy of a direction counts towards the same accumulators (`accumulatorKey`). */
export type CountingInterval = {
  readonly start: number
  readonly end: number
  readonly accumulatorKeys: readonly number[]
}

const tariffOf = (pricePeriod: PricePeriod, type: TariffType): string | null =>
  type === 'COMMODITY' ? pricePeriod.commodityId : pricePeriod.nonCommodityId

/** Return the parts of a local month in which the price periods, and so the accumulators, do not change. */
const intervalsOfMonth = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  start: number,
  end: number,
): readonly CountingInterval[] => {
  const { pricePeriods, isTiered } = snapshot.directions[direction]
  return pricePeriods
    .filter(pricePeriod => overlaps(pricePeriod, { start, end }))
    .map(pricePeriod => ({
      start: Math.max(start, pricePeriod.start),
      end: Math.min(end, pricePeriod.end),
      accumulatorKeys: tariffTypes
        .filter(type => isTiered[type] && tariffOf(pricePeriod, type) !== null)
        .map(type => accumulatorKey(type, direction, countingStart(pricePeriod, type, start))),
    }))
}

const isSameAccumulators = (a: CountingInterval, b: CountingInterval): boolean =>
  a.accumulatorKeys.join() === b.accumulatorKeys.join()

/** Join neighbours with the same accumulators, so that a record across their edge counts as one. */
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
 * Return the intervals whose energy can decide on the tiers of [from, to). They are contiguous, and begin at the
 * counting start of the first accumulator that applies in [from, to). Empty if no energy is counted.
 * Source: docs/rules/tariffs.md #tiers.
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
    .filter(interval => overlaps(interval, { start: from, end: to }))
    .flatMap(({ accumulatorKeys }) => accumulatorKeys)
  if (keysInForce.length === 0) return []
  const countingStartOfFirst = Math.min(...keysInForce.map(countingStartOf))
  return joinIntervals(intervals.filter(interval => interval.end > countingStartOfFirst && interval.start < to))
}

/** Bounds of all tiers by schedule. */
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
 * Return the distinct bounds of the tiers that can apply in [from, to), of both types, ascending.
 * They are the bounds of all schedules that apply then: the time does not grow with the interval.
 */
export const tierBounds = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  from: number,
  to: number,
): readonly Energy[] => {
  const pricePeriods = snapshot.directions[direction].pricePeriods.filter(period =>
    overlaps(period, { start: from, end: to }),
  )
  const schedules = new Set(
    pricePeriods.flatMap(({ plan }) => [plan.commodity, plan.nonCommodity]).filter(one => one !== null),
  )
  return [...new Set([...schedules].flatMap(tierBoundsOf))].sort((a, b) => (a < b ? -1 : 1))
}
