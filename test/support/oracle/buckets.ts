import { type IdentifiedRecord, meanConfidence, type OracleCost, type WeightedPiece } from './cost.ts'
import { divideHalfEven, type Fraction } from './exact.ts'
import { dateNumber, localClock, monthNumber } from './local-clock.ts'

export type OracleBucket = {
  readonly start: number
  readonly end: number
  readonly energy: bigint
  readonly cost: bigint
  readonly confidence: Fraction
  readonly records: number
  /** Energy of records with a confidence below 1, and energy of pieces whose price has a confidence below 1. */
  readonly estimatedEnergy: bigint
  readonly provisionalEnergy: bigint
  readonly unpricedRecords: number
  readonly unpricedEnergy: bigint
}

type Share = { readonly start: number; readonly end: number; readonly energy: bigint; readonly cost: bigint }

const minuteMs = 60_000
const twoDaysMs = 2880 * minuteMs

/**
 * Return the edges of the local days or months in [from, to): `from`, each first minute of a later day or month, `to`.
 */
export const bucketEdges = (zone: string, from: number, to: number, unit: 'DAY' | 'MONTH'): number[] => {
  const numberOf = unit === 'DAY' ? dateNumber : monthNumber
  const edges = [from]
  let latest = 0
  for (let at = Math.floor(from / minuteMs) * minuteMs - twoDaysMs; at < to; at += minuteMs) {
    const number = numberOf(localClock(zone, at))
    if (number <= latest) continue
    latest = number
    if (at > from) edges.push(at)
  }
  return [...edges, to]
}

/** Return the part of a share in [from, to), or null. `last` is the last instant of the record. */
const shareWithin = (share: Share, from: number, to: number, last: number): Share | null => {
  const length = share.end - share.start
  if (length === 0) {
    const at = Math.min(share.start, last)
    return from <= at && at < to ? share : null
  }
  const start = Math.max(from, share.start)
  const end = Math.min(to, share.end)
  if (start >= end) return null
  const shareUntil = (whole: bigint, at: number) => divideHalfEven(whole * BigInt(at - share.start), BigInt(length))
  const energy = shareUntil(share.energy, end) - shareUntil(share.energy, start)
  return { start, end, energy, cost: shareUntil(share.cost, end) - shareUntil(share.cost, start) }
}

const isCovered = (at: number, spans: IdentifiedRecord['covered']): boolean =>
  (spans ?? []).some(span => span.start <= at && at < span.end)

/** Split an unpriced record at the edges of its covered intervals. Covered parts have no energy. */
const uncoveredParts = ({ record, covered }: OracleCost): readonly Share[] => {
  const { start, end, energy } = record
  if (start === end) return [{ start, end, energy, cost: 0n }]
  const inside = (covered ?? []).flatMap(span => [span.start, span.end]).filter(at => start < at && at < end)
  const edges = [...new Set([start, ...inside, end])].sort((a, b) => a - b)
  // Consecutive covered intervals form one part, so the edge between them is removed.
  const changingEdges = edges.filter(
    (at, index) => index === 0 || at === end || isCovered(at, covered) !== isCovered(edges[index - 1] ?? at, covered),
  )
  const shareUntil = (at: number) => divideHalfEven(energy * BigInt(at - start), BigInt(end - start))
  return changingEdges.slice(0, -1).map((from, index) => {
    const to = changingEdges[index + 1] ?? end
    return { start: from, end: to, energy: isCovered(from, covered) ? 0n : shareUntil(to) - shareUntil(from), cost: 0n }
  })
}

/** Sum the parts of costed records in [start, end). A record without a price has the confidence 0. */
export const bucketOf = (costs: readonly OracleCost[], start: number, end: number): OracleBucket => {
  let [energy, cost, unpricedEnergy, unpricedRecords, records] = [0n, 0n, 0n, 0, 0]
  let [estimatedEnergy, provisionalEnergy] = [0n, 0n]
  const weightedPieces: WeightedPiece[] = []
  for (const one of costs) {
    const { record, priced } = one
    const last = record.end > record.start ? record.end - 1 : record.end
    if (shareWithin({ ...record, cost: 0n }, start, end, last) === null) continue
    records += 1
    for (const piece of priced?.pieces ?? []) {
      const share = shareWithin(piece, start, end, last)
      if (share === null) continue
      energy += share.energy
      cost += share.cost
      if (record.confidence !== 1_000_000) estimatedEnergy += share.energy
      if (piece.confidence !== 1) provisionalEnergy += share.energy
      weightedPieces.push({ ...share, confidence: piece.confidence, recordConfidence: record.confidence })
    }
    if (priced !== null) continue
    unpricedRecords += 1
    for (const part of uncoveredParts(one)) {
      const share = shareWithin(part, start, end, last)
      if (share === null) continue
      unpricedEnergy += share.energy
      weightedPieces.push({ ...share, confidence: 0, recordConfidence: record.confidence })
    }
  }
  return {
    start,
    end,
    energy,
    cost,
    confidence: meanConfidence(weightedPieces),
    records,
    estimatedEnergy,
    provisionalEnergy,
    unpricedRecords,
    unpricedEnergy,
  }
}

/**
 * Sum costed records over all local days or months of [from, to), including empty ones.
 * The records must belong to one energy flow and one tariff direction.
 */
export const bucketsOf = (
  zone: string,
  costs: readonly OracleCost[],
  from: number,
  to: number,
  unit: 'DAY' | 'MONTH',
): OracleBucket[] => {
  const edges = bucketEdges(zone, from, to, unit)
  return edges.slice(0, -1).map((start, index) => bucketOf(costs, start, edges[index + 1] ?? to))
}
