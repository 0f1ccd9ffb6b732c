import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { PricingInput, TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import {
  type CountedBefore,
  costSegmented,
  energyCountedFrom,
  type IdentifiedRecord,
  isCounted,
  type OracleCost,
  type PriceComponent,
  type SegmentedRecord,
} from '../../support/oracle/cost.ts'
import { energyUntil, type Interval, type Segment } from '../../support/oracle/segments.ts'
import { type Moment, momentIndexAt, type Timeline, timelineOf } from './timeline.ts'

const isWithin = (at: number, intervals: readonly Interval[]): boolean =>
  intervals.some(({ start, end }) => start <= at && at < end)

/** Cut a record where its price changes, and where actuals start or end to cover it. */
const segmentsOf = (timeline: Timeline, record: MeterRecord, covered: readonly Interval[]): readonly Segment[] => {
  const { start, end, energy } = record
  const edges = new Set([start])
  const first = momentIndexAt(timeline, start)
  for (let momentIndex = first + 1; momentIndex < timeline.length; momentIndex += 1) {
    const { start: edge } = timeline[momentIndex] as Moment
    if (edge >= end) break
    edges.add(edge)
  }
  for (const edge of covered.flatMap(interval => [interval.start, interval.end]))
    if (start < edge && edge < end) edges.add(edge)
  const sortedEdges = [...edges].sort((a, b) => a - b)
  const until = (at: number): bigint => (at === start ? 0n : at === end ? energy : energyUntil(record, at))
  return sortedEdges.map((from, index) => {
    const to = sortedEdges[index + 1] ?? end
    const { commodity, nonCommodity } = timeline[momentIndexAt(timeline, from)] as Moment
    const isLast = index + 1 === sortedEdges.length
    return {
      start: from,
      end: to,
      covered: isWithin(from, covered),
      from: until(from),
      to: isLast ? energy : until(to),
      commodity,
      nonCommodity,
    }
  })
}

/** Record in the counting order of a counting start. */
type Entry = { readonly segmented: SegmentedRecord; readonly from: number; readonly energy: bigint }

const inOrder = (a: Entry, b: Entry): number =>
  a.from - b.from || a.segmented.record.end - b.segmented.record.end || (a.segmented.id < b.segmented.id ? -1 : 1)

/** For each counting start, calculate the energy that counts before each record. */
const countAll = (
  all: readonly SegmentedRecord[],
  component: PriceComponent,
): ReadonlyMap<string, ReadonlyMap<SegmentedRecord, bigint>> => {
  const orders = new Map<string, Entry[]>()
  for (const segmented of all) {
    const { tariffDirection, start } = segmented.record
    for (const countingStart of new Set(segmented.segments.map(segment => segment[component]?.countingStart))) {
      if (countingStart === undefined || !Number.isFinite(countingStart)) continue
      const energy = isCounted(segmented.record) ? energyCountedFrom(segmented, component, countingStart) : 0n
      const key = `${tariffDirection} ${countingStart}`
      const entry = { segmented, from: Math.max(start, countingStart), energy }
      const order = orders.get(key)
      if (order === undefined) orders.set(key, [entry])
      else order.push(entry)
    }
  }
  return new Map(
    [...orders].map(([key, entries]) => {
      let sum = 0n
      const before = new Map<SegmentedRecord, bigint>()
      for (const { segmented, energy } of entries.sort(inOrder)) {
        before.set(segmented, sum)
        sum += energy
      }
      return [key, before]
    }),
  )
}

const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/**
 * Calculate the costs of all records of one location, in the order of `records`. Timelines and tiers are calculated
 * once, so that the number of records can be large.
 */
export const locationCosts = (input: PricingInput, records: readonly IdentifiedRecord[]): readonly OracleCost[] => {
  const timelines = new Map(
    directions.map(direction => {
      const own = records.filter(({ record }) => record.tariffDirection === direction)
      const interval = own.reduce(
        ({ start, end }, { record }) => ({ start: Math.min(start, record.start), end: Math.max(end, record.end) }),
        {
          start: Number.POSITIVE_INFINITY,
          end: Number.NEGATIVE_INFINITY,
        },
      )
      return [direction, own.length === 0 ? [] : timelineOf(input, direction, interval)]
    }),
  )
  const all = records.map(({ id, record, covered = [] }) => {
    const segments = segmentsOf(timelines.get(record.tariffDirection) ?? [], record, covered)
    return { id, record, covered, segments }
  })
  const counted = { commodity: countAll(all, 'commodity'), nonCommodity: countAll(all, 'nonCommodity') }
  const before: CountedBefore = (segmented, component, countingStart) =>
    counted[component].get(`${segmented.record.tariffDirection} ${countingStart}`)?.get(segmented) ?? 0n
  return all.map(segmented => costSegmented(segmented, before))
}
