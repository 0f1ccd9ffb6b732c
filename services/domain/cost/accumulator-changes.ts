import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import type { AccumulatorChange } from '../tariff/accumulator.ts'
import { countingStart } from '../tariff/evaluate.ts'
import { type PricePeriod, type PricingSnapshot, pricePeriodIndex } from '../tariff/snapshot.ts'
import type { TariffType } from '../tariff/tariff.ts'
import { countsTowardsTiers, energyShareAt } from './cut-record.ts'
import type { Interval } from './record-segments.ts'

const bothTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']
const noChanges: readonly AccumulatorChange[] = []
const noIntervals: readonly Interval[] = []

/** What a record has passed of its energy before an instant; one without length has it all at its end. */
const energyPassedAt = (record: MeterRecord, at: number): Energy =>
  at === record.start ? 0n : energyShareAt(record, at)

/** The energy of a part of a record that counts: without what `covered`, from its index on, takes of it. */
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
 * Give the accumulators that a record stands in and what it adds to each: those of `costRecord` with nothing counted, without its pieces.
 * Takes time in proportion to the record's months, price periods and covered intervals, however many prices its time has.
 * `covered`: see `costRecord`. Source: docs/rules/tariffs.md #tiers.
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
    for (const type of bothTypes) addChange(type, pricePeriod, month, energy)
    if (to >= pricePeriod.end) index += 1
    at = to
  } while (at < end)
  return changes
}
