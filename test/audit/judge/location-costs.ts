import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { PricingInput, TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import {
  type CountedBefore,
  costWalked,
  energyCountedFrom,
  type Half,
  type IdentifiedRecord,
  isCounted,
  type OracleCost,
  type Walked,
} from '../../support/oracle/cost.ts'
import { energyUntil, type Segment, type Span } from '../../support/oracle/segments.ts'
import { type Moment, placeAt, type Timeline, timelineOf } from './timeline.ts'

const isWithin = (at: number, spans: readonly Span[]): boolean => spans.some(({ start, end }) => start <= at && at < end)

/** Cut a record where its price or its cover changes. */
const segmentsOf = (timeline: Timeline, record: MeterRecord, covered: readonly Span[]): readonly Segment[] => {
  const { start, end, energy } = record
  const edges = new Set([start])
  const first = placeAt(timeline, start)
  for (let place = first + 1; place < timeline.length; place += 1) {
    const { start: edge } = timeline[place] as Moment
    if (edge >= end) break
    edges.add(edge)
  }
  for (const edge of covered.flatMap(span => [span.start, span.end])) if (start < edge && edge < end) edges.add(edge)
  const rising = [...edges].sort((a, b) => a - b)
  const until = (at: number): bigint => (at === start ? 0n : at === end ? energy : energyUntil(record, at))
  return rising.map((from, index) => {
    const to = rising[index + 1] ?? end
    const { commodity, nonCommodity } = timeline[placeAt(timeline, from)] as Moment
    const isLast = index + 1 === rising.length
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

/** One record in the order of a counting start. */
type Entry = { readonly walked: Walked; readonly from: number; readonly energy: bigint }

const inOrder = (a: Entry, b: Entry): number =>
  a.from - b.from || a.walked.record.end - b.walked.record.end || (a.walked.id < b.walked.id ? -1 : 1)

/** Count once, in the order of every counting start, what comes before each record. */
const countAll = (all: readonly Walked[], half: Half): ReadonlyMap<string, ReadonlyMap<Walked, bigint>> => {
  const orders = new Map<string, Entry[]>()
  for (const walked of all) {
    const { tariffDirection, start } = walked.record
    for (const countingStart of new Set(walked.segments.map(segment => segment[half]?.countingStart))) {
      if (countingStart === undefined || !Number.isFinite(countingStart)) continue
      const energy = isCounted(walked.record) ? energyCountedFrom(walked, half, countingStart) : 0n
      const key = `${tariffDirection} ${countingStart}`
      const entry = { walked, from: Math.max(start, countingStart), energy }
      const order = orders.get(key)
      if (order === undefined) orders.set(key, [entry])
      else order.push(entry)
    }
  }
  return new Map(
    [...orders].map(([key, entries]) => {
      let sum = 0n
      const before = new Map<Walked, bigint>()
      for (const { walked, energy } of entries.sort(inOrder)) {
        before.set(walked, sum)
        sum += energy
      }
      return [key, before]
    }),
  )
}

const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/**
 * Cost all records of one location, however many: the timelines are found once, the tiers are counted once in order.
 * The answer keeps the order of `records`.
 */
export const locationCosts = (input: PricingInput, records: readonly IdentifiedRecord[]): readonly OracleCost[] => {
  const timelines = new Map(
    directions.map(direction => {
      const own = records.filter(({ record }) => record.tariffDirection === direction)
      const span = own.reduce(({ start, end }, { record }) => ({ start: Math.min(start, record.start), end: Math.max(end, record.end) }), {
        start: Number.POSITIVE_INFINITY,
        end: Number.NEGATIVE_INFINITY,
      })
      return [direction, own.length === 0 ? [] : timelineOf(input, direction, span)]
    }),
  )
  const all = records.map(({ id, record, covered = [] }) => {
    const segments = segmentsOf(timelines.get(record.tariffDirection) ?? [], record, covered)
    return { id, record, covered, segments }
  })
  const counted = { commodity: countAll(all, 'commodity'), nonCommodity: countAll(all, 'nonCommodity') }
  const before: CountedBefore = (walked, half, countingStart) =>
    counted[half].get(`${walked.record.tariffDirection} ${countingStart}`)?.get(walked) ?? 0n
  return all.map(walked => costWalked(walked, before))
}
