import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { PricingInput } from '../../../services/domain/tariff/tariff.ts'
import { divideHalfEven, type Fraction } from './exact.ts'
import { joinParts } from './price-at.ts'
import { type Segment, type Span, segmentsOf } from './segments.ts'

/** `covered`: where actuals cover this estimate, so that it loses that share of its energy. */
export type IdentifiedRecord = { readonly id: string; readonly record: MeterRecord; readonly covered?: readonly Span[] }

export type OraclePiece = {
  readonly start: number
  readonly end: number
  readonly energy: bigint
  readonly price: bigint
  readonly cost: bigint
  readonly confidence: number
  /** Tariff ids of the commodity and non-commodity parts; null: the part is free. */
  readonly tariffs: readonly [string | null, string | null]
  /** Lower bounds of the two tiers in force. */
  readonly tiers: readonly [bigint, bigint]
}

export type OracleCost = IdentifiedRecord & {
  /** What of the record's energy is kept. */
  readonly energy: bigint
  /** Null: UNPRICED. */
  readonly priced: { readonly pieces: readonly OraclePiece[]; readonly cost: bigint; readonly confidence: Fraction } | null
}

export type Half = 'commodity' | 'nonCommodity'
/** A record with the stretches through which nothing but the tier can change its price. */
export type Walked = IdentifiedRecord & { readonly segments: readonly Segment[] }

/** Storage that gives back is priced at the import tier in force and moves nothing. */
export const isCounted = (record: MeterRecord): boolean =>
  !(record.energyFlowDirection === 'OUTBOUND' && record.tariffDirection === 'IMPORT')

const keptEnergy = (segment: Segment): bigint => (segment.covered ? 0n : segment.to - segment.from)

export const energyCountedFrom = (walked: Walked, half: Half, countingStart: number): bigint =>
  walked.segments.reduce((sum, segment) => sum + (segment[half]?.countingStart === countingStart ? keptEnergy(segment) : 0n), 0n)

export const comesBefore = (a: Walked, b: Walked, countingStart: number): boolean => {
  const starts = Math.max(a.record.start, countingStart) - Math.max(b.record.start, countingStart)
  if (starts !== 0) return starts < 0
  return a.record.end === b.record.end ? a.id < b.id : a.record.end < b.record.end
}

/** Energy of all records that come before this one in the order of a counting start. */
const countedBefore = (walked: Walked, all: readonly Walked[], half: Half, countingStart: number): bigint => {
  let sum = 0n
  for (const other of all) {
    if (other === walked || other.record.tariffDirection !== walked.record.tariffDirection || !isCounted(other.record)) continue
    if (comesBefore(other, walked, countingStart)) sum += energyCountedFrom(other, half, countingStart)
  }
  return sum
}

/** Tells the energy of all records that come before one in the order of a counting start. */
export type CountedBefore = (walked: Walked, half: Half, countingStart: number) => bigint

/** What the accumulator of each segment has counted where the segment starts. */
const countedAtStarts = (walked: Walked, before: CountedBefore, half: Half): bigint[] => {
  const counts = new Map<number, bigint>()
  return walked.segments.map(segment => {
    const part = segment[half]
    if (part === null || part.tariffId === null) return 0n
    const counted = counts.get(part.countingStart) ?? before(walked, half, part.countingStart)
    counts.set(part.countingStart, counted + (isCounted(walked.record) ? keptEnergy(segment) : 0n))
    return counted
  })
}

/** A segment with what has been counted at its start, and whether its energy counts on. */
type Counted = { readonly segment: Segment; readonly counted: readonly [bigint, bigint]; readonly moves: boolean }

/** Energies since the record's start, inside a segment, at which a tier of either part ends. */
const tierCuts = ({ segment, counted, moves }: Counted): bigint[] => {
  if (!moves) return []
  const cuts = new Set<bigint>()
  for (const [half, before] of [['commodity', counted[0]] as const, ['nonCommodity', counted[1]] as const]) {
    for (const { to } of segment[half]?.rates ?? []) {
      const cut = to === null ? segment.to : segment.from + to - before
      if (cut > segment.from && cut < segment.to) cuts.add(cut)
    }
  }
  return [...cuts].sort((a, b) => (a < b ? -1 : 1))
}

type Stretch = Omit<OraclePiece, 'cost'> & { readonly covered: boolean }

const stretchesOf = (at: Counted, record: MeterRecord): Stretch[] | null => {
  const { segment, counted, moves } = at
  const edges = [segment.from, ...tierCuts(at), segment.to]
  const length = BigInt(record.end - record.start)
  const timeOf = (index: number): number => {
    if (index === 0) return segment.start
    if (index === edges.length - 1) return segment.end
    return record.start + Number(divideHalfEven(length * (edges[index] ?? 0n), record.energy))
  }
  const stretches: Stretch[] = []
  for (let index = 0; index + 1 < edges.length; index++) {
    const [from = 0n, to = 0n] = edges.slice(index, index + 2)
    const passed = moves ? from - segment.from : 0n
    const found = joinParts(segment.commodity, segment.nonCommodity, [counted[0] + passed, counted[1] + passed])
    if (found === null) return null
    const { price, confidence, commodity, nonCommodity } = found
    const tariffs = [commodity.tariffId, nonCommodity.tariffId] as const
    const tiers = [commodity.tier, nonCommodity.tier] as const
    const energy = segment.covered ? 0n : to - from
    stretches.push({ start: timeOf(index), end: timeOf(index + 1), energy, price, confidence, tariffs, tiers, covered: segment.covered })
  }
  return stretches
}

const isSame = (a: Stretch, b: Stretch): boolean =>
  a.covered === b.covered &&
  a.price === b.price &&
  a.confidence === b.confidence &&
  a.tariffs.every((tariff, index) => tariff === b.tariffs[index]) &&
  a.tiers.every((tier, index) => tier === b.tiers[index])

const joinEqual = (stretches: readonly Stretch[]): Stretch[] => {
  const joined: Stretch[] = []
  for (const stretch of stretches) {
    const last = joined.at(-1)
    if (last !== undefined && isSame(last, stretch))
      joined.splice(-1, 1, { ...last, end: stretch.end, energy: last.energy + stretch.energy })
    else joined.push(stretch)
  }
  return joined
}

/** A piece, or a part of one, with the confidence (1e-6) of its record. */
export type Weighed = Pick<OraclePiece, 'start' | 'end' | 'energy' | 'confidence'> & { readonly recordConfidence: number }

/** Mean confidence by energy; without energy by time; without either, each alike; of nothing 1. */
export const meanConfidence = (parts: readonly Weighed[]): Fraction => {
  const weights = [(part: Weighed) => part.energy, (part: Weighed) => BigInt(part.end - part.start), () => 1n]
  for (const weight of weights) {
    const total = parts.reduce((sum, part) => sum + weight(part), 0n)
    if (total === 0n) continue
    const micro = (part: Weighed) => BigInt(Math.round(part.confidence * 1e6)) * BigInt(part.recordConfidence)
    const numerator = parts.reduce((sum, part) => sum + weight(part) * micro(part), 0n)
    return { numerator, denominator: total * 1_000_000_000_000n }
  }
  return { numerator: 1n, denominator: 1n }
}

/** Cost one record by its stretches; `before` knows the others that tiers count. */
export const costWalked = (walked: Walked, before: CountedBefore): OracleCost => {
  const { id, record, covered = [], segments } = walked
  const energy = segments.reduce((sum, segment) => sum + keptEnergy(segment), 0n)
  const commodity = countedAtStarts(walked, before, 'commodity')
  const nonCommodity = countedAtStarts(walked, before, 'nonCommodity')
  const stretches: Stretch[] = []
  for (const [index, segment] of segments.entries()) {
    const counted = [commodity[index] ?? 0n, nonCommodity[index] ?? 0n] as const
    const found = stretchesOf({ segment, counted, moves: isCounted(record) && !segment.covered }, record)
    if (found === null) return { id, record, covered, energy, priced: null }
    stretches.push(...found)
  }
  const pieces = joinEqual(stretches).map(({ covered: _, ...stretch }) => ({
    ...stretch,
    cost: divideHalfEven(stretch.price * stretch.energy, 1_000_000_000n),
  }))
  const cost = pieces.reduce((sum, piece) => sum + piece.cost, 0n)
  const confidence = meanConfidence(pieces.map(piece => ({ ...piece, recordConfidence: record.confidence })))
  return { id, record, covered, energy, priced: { pieces, cost, confidence } }
}

/**
 * Cost all records of one location by walking each of them minute by minute.
 * Tiers count the energy of all records given, in the order of the decisions; the answer keeps the order of `records`.
 */
export const costRecords = (input: PricingInput, records: readonly IdentifiedRecord[]): OracleCost[] => {
  const all = records.map(({ id, record, covered = [] }) => ({ id, record, covered, segments: segmentsOf(input, record, covered) }))
  const before: CountedBefore = (walked, half, countingStart) => countedBefore(walked, all, half, countingStart)
  return all.map(walked => costWalked(walked, before))
}
