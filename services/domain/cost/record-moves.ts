import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import type { MeterRecord } from '../record/record.ts'
import { countingStart } from '../tariff/evaluate.ts'
import { eraIndex, type PriceEra, type PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffType } from '../tariff/tariff.ts'
import type { TierMove } from '../tariff/tier-count.ts'
import type { Interval } from './record-segments.ts'
import { movesTiers, shareAt } from './slice-record.ts'

const bothTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']
const noMoves: readonly TierMove[] = []
const noIntervals: readonly Interval[] = []

/** What a record has passed of its energy before an instant; one without length has it all at its end. */
const passedAt = (record: MeterRecord, at: number): Energy => (at === record.start ? 0n : shareAt(record, at))

/** The energy of a part of a record that counts: without what `covered`, from its index on, takes of it. */
const countedIn = (record: MeterRecord, from: number, to: number, covered: readonly Interval[], first: number): Energy => {
  let energy = (to === record.end ? record.energy : shareAt(record, to)) - passedAt(record, from)
  for (let index = first; index < covered.length; index += 1) {
    const interval = covered[index] as Interval
    if (interval.start >= to) break
    const [start, end] = [Math.max(from, interval.start), Math.min(to, interval.end)]
    if (start < end) energy -= shareAt(record, end) - passedAt(record, start)
  }
  return energy
}

/**
 * Give the accumulators that a record stands in and what it adds to each: those of `costRecord` with nothing counted, without its pieces.
 * Takes time in proportion to the record's months, price periods and covered intervals, however many prices its time has.
 * `covered`: see `costRecord`. Source: docs/rules/tariffs.md #tiers.
 */
export const recordMoves = (
  snapshot: PricingSnapshot,
  record: MeterRecord,
  covered: readonly Interval[] = noIntervals,
): readonly TierMove[] => {
  const { tariffDirection: direction, start, end } = record
  const { eras, tiered } = snapshot.directions[direction]
  if (!tiered.COMMODITY && !tiered.NON_COMMODITY) return noMoves
  const counts = movesTiers(record)
  const moves: { -readonly [K in keyof TierMove]: TierMove[K] }[] = []
  const add = (type: TariffType, era: PriceEra, monthStart: number, energy: Energy): void => {
    if (!tiered[type] || (type === 'COMMODITY' ? era.commodityId : era.nonCommodityId) === null) return
    const from = countingStart(era, type, monthStart)
    const known = moves.find(move => move.type === type && move.countingStart === from)
    if (known === undefined) moves.push({ type, direction, countingStart: from, before: 0n, after: energy })
    else known.after += energy
  }
  let first = 0
  let [at, index] = [start, eraIndex(eras, start)]
  do {
    const era = eras[index] as PriceEra
    const month = startOfLocalMonth(snapshot.timeZone, at)
    const to = Math.min(end, era.to, nextLocalMonth(snapshot.timeZone, at))
    while ((covered[first]?.end ?? Number.POSITIVE_INFINITY) <= at) first += 1
    const energy = counts ? countedIn(record, at, to, covered, first) : 0n
    for (const type of bothTypes) add(type, era, month, energy)
    if (to >= era.to) index += 1
    at = to
  } while (at < end)
  return moves
}
