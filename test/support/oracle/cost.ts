import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { PricingInput } from '../../../services/domain/tariff/tariff.ts'
import { divideHalfEven, type Fraction } from './exact.ts'
import { joinParts } from './price-at.ts'
import { type Interval, type Segment, segmentsOf } from './segments.ts'

/** A record with its id. `covered`: intervals that actuals cover. The record loses its energy there. */
export type IdentifiedRecord = {
  readonly id: string
  readonly record: MeterRecord
  readonly covered?: readonly Interval[]
}

export type OraclePiece = {
  readonly start: number
  readonly end: number
  readonly energy: bigint
  readonly price: bigint
  readonly cost: bigint
  readonly confidence: number
  /** Tariff ids of the commodity and the non-commodity part. A part with null is free. */
  readonly tariffs: readonly [string | null, string | null]
  /** Lower bounds of the two applied tiers. */
  readonly tiers: readonly [bigint, bigint]
}

export type OracleCost = IdentifiedRecord & {
  /** Energy of the record without covered energy. */
  readonly energy: bigint
  /** Null if the record has no price. */
  readonly priced: {
    readonly pieces: readonly OraclePiece[]
    readonly cost: bigint
    readonly confidence: Fraction
  } | null
}

export type PriceComponent = 'commodity' | 'nonCommodity'
/** A record with its segments. Within a segment, only a tier can change the price. */
export type SegmentedRecord = IdentifiedRecord & { readonly segments: readonly Segment[] }

/**
 * Return true if a record counts for tiers.
 * Energy from storage (OUTBOUND, IMPORT) uses the current tier and does not count.
 */
export const isCounted = (record: MeterRecord): boolean =>
  !(record.energyFlowDirection === 'OUTBOUND' && record.tariffDirection === 'IMPORT')

const remainingEnergy = (segment: Segment): bigint => (segment.covered ? 0n : segment.to - segment.from)

export const energyCountedFrom = (
  segmented: SegmentedRecord,
  component: PriceComponent,
  countingStart: number,
): bigint =>
  segmented.segments.reduce(
    (sum, segment) => sum + (segment[component]?.countingStart === countingStart ? remainingEnergy(segment) : 0n),
    0n,
  )

export const comesBefore = (a: SegmentedRecord, b: SegmentedRecord, countingStart: number): boolean => {
  const starts = Math.max(a.record.start, countingStart) - Math.max(b.record.start, countingStart)
  if (starts !== 0) return starts < 0
  return a.record.end === b.record.end ? a.id < b.id : a.record.end < b.record.end
}

/** Sum the energy of all records before this record in the counting order of a counting start. */
const countedBefore = (
  segmented: SegmentedRecord,
  all: readonly SegmentedRecord[],
  component: PriceComponent,
  countingStart: number,
): bigint => {
  let sum = 0n
  for (const other of all) {
    if (
      other === segmented ||
      other.record.tariffDirection !== segmented.record.tariffDirection ||
      !isCounted(other.record)
    )
      continue
    if (comesBefore(other, segmented, countingStart)) sum += energyCountedFrom(other, component, countingStart)
  }
  return sum
}

/** Function that returns the energy of all records before a record in the counting order. */
export type CountedBefore = (segmented: SegmentedRecord, component: PriceComponent, countingStart: number) => bigint

/** Return the counted energy of the accumulator at the start of each segment. */
const countedAtStarts = (segmented: SegmentedRecord, before: CountedBefore, component: PriceComponent): bigint[] => {
  const counts = new Map<number, bigint>()
  return segmented.segments.map(segment => {
    const part = segment[component]
    if (part === null || part.tariffId === null) return 0n
    const counted = counts.get(part.countingStart) ?? before(segmented, component, part.countingStart)
    counts.set(part.countingStart, counted + (isCounted(segmented.record) ? remainingEnergy(segment) : 0n))
    return counted
  })
}

/** A segment with the counted energy at its start. `isCounting`: its energy counts for tiers. */
type CountedSegment = {
  readonly segment: Segment
  readonly counted: readonly [bigint, bigint]
  readonly isCounting: boolean
}

/** Return the energies since the start of the record at which a tier ends inside a segment. */
const tierCuts = ({ segment, counted, isCounting }: CountedSegment): bigint[] => {
  if (!isCounting) return []
  const cuts = new Set<bigint>()
  for (const [component, before] of [['commodity', counted[0]] as const, ['nonCommodity', counted[1]] as const]) {
    for (const { to } of segment[component]?.rates ?? []) {
      const cut = to === null ? segment.to : segment.from + to - before
      if (cut > segment.from && cut < segment.to) cuts.add(cut)
    }
  }
  return [...cuts].sort((a, b) => (a < b ? -1 : 1))
}

type PriceSegment = Omit<OraclePiece, 'cost'> & { readonly covered: boolean }

const priceSegmentsOf = (at: CountedSegment, record: MeterRecord): PriceSegment[] | null => {
  const { segment, counted, isCounting } = at
  const edges = [segment.from, ...tierCuts(at), segment.to]
  const length = BigInt(record.end - record.start)
  const timeOf = (index: number): number => {
    if (index === 0) return segment.start
    if (index === edges.length - 1) return segment.end
    return record.start + Number(divideHalfEven(length * (edges[index] ?? 0n), record.energy))
  }
  const priceSegments: PriceSegment[] = []
  for (let index = 0; index + 1 < edges.length; index++) {
    const [from = 0n, to = 0n] = edges.slice(index, index + 2)
    const passed = isCounting ? from - segment.from : 0n
    const found = joinParts(segment.commodity, segment.nonCommodity, [counted[0] + passed, counted[1] + passed])
    if (found === null) return null
    const { price, confidence, commodity, nonCommodity } = found
    const tariffs = [commodity.tariffId, nonCommodity.tariffId] as const
    const tiers = [commodity.tier, nonCommodity.tier] as const
    const energy = segment.covered ? 0n : to - from
    priceSegments.push({
      start: timeOf(index),
      end: timeOf(index + 1),
      energy,
      price,
      confidence,
      tariffs,
      tiers,
      covered: segment.covered,
    })
  }
  return priceSegments
}

const isSame = (a: PriceSegment, b: PriceSegment): boolean =>
  a.covered === b.covered &&
  a.price === b.price &&
  a.confidence === b.confidence &&
  a.tariffs.every((tariff, index) => tariff === b.tariffs[index]) &&
  a.tiers.every((tier, index) => tier === b.tiers[index])

const joinEqual = (priceSegments: readonly PriceSegment[]): PriceSegment[] => {
  const joined: PriceSegment[] = []
  for (const priceSegment of priceSegments) {
    const last = joined.at(-1)
    if (last !== undefined && isSame(last, priceSegment))
      joined.splice(-1, 1, { ...last, end: priceSegment.end, energy: last.energy + priceSegment.energy })
    else joined.push(priceSegment)
  }
  return joined
}

/** A piece or a part of a piece, with the confidence (1e-6) of its record. */
export type WeightedPiece = Pick<OraclePiece, 'start' | 'end' | 'energy' | 'confidence'> & {
  readonly recordConfidence: number
}

/**
 * Calculate the mean confidence, weighted by energy. Without energy, the weight is time.
 * Without energy and time, all weights are equal. Without parts, the mean is 1.
 */
export const meanConfidence = (parts: readonly WeightedPiece[]): Fraction => {
  const weights = [
    (part: WeightedPiece) => part.energy,
    (part: WeightedPiece) => BigInt(part.end - part.start),
    () => 1n,
  ]
  for (const weight of weights) {
    const total = parts.reduce((sum, part) => sum + weight(part), 0n)
    if (total === 0n) continue
    const micro = (part: WeightedPiece) => BigInt(Math.round(part.confidence * 1e6)) * BigInt(part.recordConfidence)
    const numerator = parts.reduce((sum, part) => sum + weight(part) * micro(part), 0n)
    return { numerator, denominator: total * 1_000_000_000_000n }
  }
  return { numerator: 1n, denominator: 1n }
}

/** Cost one record by its segments. `before` returns the energy that the tiers counted before. */
export const costSegmented = (segmented: SegmentedRecord, before: CountedBefore): OracleCost => {
  const { id, record, covered = [], segments } = segmented
  const energy = segments.reduce((sum, segment) => sum + remainingEnergy(segment), 0n)
  const commodity = countedAtStarts(segmented, before, 'commodity')
  const nonCommodity = countedAtStarts(segmented, before, 'nonCommodity')
  const priceSegments: PriceSegment[] = []
  for (const [index, segment] of segments.entries()) {
    const counted = [commodity[index] ?? 0n, nonCommodity[index] ?? 0n] as const
    const found = priceSegmentsOf({ segment, counted, isCounting: isCounted(record) && !segment.covered }, record)
    if (found === null) return { id, record, covered, energy, priced: null }
    priceSegments.push(...found)
  }
  const pieces = joinEqual(priceSegments).map(({ covered: _, ...priceSegment }) => ({
    ...priceSegment,
    cost: divideHalfEven(priceSegment.price * priceSegment.energy, 1_000_000_000n),
  }))
  const cost = pieces.reduce((sum, piece) => sum + piece.cost, 0n)
  const confidence = meanConfidence(pieces.map(piece => ({ ...piece, recordConfidence: record.confidence })))
  return { id, record, covered, energy, priced: { pieces, cost, confidence } }
}

/**
 * Cost all records of one location, minute by minute.
 * Tiers count the energy of all given records in the counting order. The result has the order of `records`.
 */
export const costRecords = (input: PricingInput, records: readonly IdentifiedRecord[]): OracleCost[] => {
  const all = records.map(({ id, record, covered = [] }) => ({
    id,
    record,
    covered,
    segments: segmentsOf(input, record, covered),
  }))
  const before: CountedBefore = (segmented, component, countingStart) =>
    countedBefore(segmented, all, component, countingStart)
  return all.map(segmented => costSegmented(segmented, before))
}
