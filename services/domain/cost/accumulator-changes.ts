import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import type { AccumulatorChange } from '../tariff/accumulator.ts'
import { countingStart } from '../tariff/evaluate.ts'
import { type PricePeriod, type PricingSnapshot, pricePeriodIndex } from '../tariff/snapshot.ts'
import type { TariffType } from '../tariff/tariff.ts'
import { tariffTypes } from '../tariff/tariff.ts'
import { countsTowardsTiers, energyShareAt } from './cut-record.ts'

const noChanges: readonly AccumulatorChange[] = []
const noIntervals: readonly Interval[] = []

/** Return the energy of a record before an instant. A record without length has all its energy at its end. */
const energyPassedAt = (record: MeterRecord, at: number): Energy =>
  at === record.start ? 0n : energyShareAt(record, at)

/** Return the energy of [from, to) of a record that counts: without the energy in `covered`, from index `first`. */
const countedEnergy = (
  record: MeterRecord,
  from: number,
  to: number,
  covered: readonly Interval[],
  first: number,
): Energy => {
  let energy = (to === record.end ? record.energy : energyShareAt(record, to)) - energyPassedAt(record, from)
  for (let index = first; index < covered.length; index += 1) {
    const interval = covered[index] as Interval
    if (interval.start >= to) break
    const [start, end] = [Math.max(from, interval.start), Math.min(to, interval.end)]
    if (start < end) energy -= energyShareAt(record, end) - energyPassedAt(record, start)
  }
  return energy
}

/**
 * Return the accumulators of a record and the energy that it adds to each. The result equals the changes of
 * `costRecord` without earlier counts.
 * The time grows with the months, price periods and covered intervals of the record, not with its prices. For `covered`
 * see `costRecord`.
 * Source: docs/rules/tariffs.md #tiers.
 */
export const accumulatorChangesOf = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  covered: readonly Interval[] = noIntervals,
): readonly AccumulatorChange[] => {
  const { tariffDirection: direction, start, end } = record
  const { pricePeriods, isTiered } = snapshot.directions[direction]
  if (!isTiered.COMMODITY && !isTiered.NON_COMMODITY) return noChanges
  const isCounted = countsTowardsTiers(record)
  const changes: { -readonly [K in keyof AccumulatorChange]: AccumulatorChange[K] }[] = []
  const addChange = (type: TariffType, pricePeriod: PricePeriod, monthStart: number, energy: Energy): void => {
    if (!isTiered[type] || (type === 'COMMODITY' ? pricePeriod.commodityId : pricePeriod.nonCommodityId) === null)
      return
    const from = countingStart(pricePeriod, type, monthStart)
    const existing = changes.find(change => change.type === type && change.countingStart === from)
    if (existing === undefined) changes.push({ type, direction, countingStart: from, before: 0n, after: energy })
    else existing.after += energy
  }
  let first = 0
  let [at, index] = [start, pricePeriodIndex(pricePeriods, start)]
  do {
    const pricePeriod = pricePeriods[index] as PricePeriod
    const month = startOfLocalMonth(snapshot.timeZone, at)
    const to = Math.min(end, pricePeriod.end, nextLocalMonth(snapshot.timeZone, at))
    while ((covered[first]?.end ?? Number.POSITIVE_INFINITY) <= at) first += 1
    const energy = isCounted ? countedEnergy(record, at, to, covered, first) : 0n
    for (const type of tariffTypes) addChange(type, pricePeriod, month, energy)
    if (to >= pricePeriod.end) index += 1
    at = to
  } while (at < end)
  return changes
}
