import { type CalendarUnit, calendarEdges, type TimeZone } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import { type Energy, type Money, shareWithin } from '../quantity.ts'
import { fullConfidence } from '../record/record.ts'
import { cutAtEdges } from './bucket-parts.ts'
import { addToMean, type ConfidenceMean, confidenceOfMean, createMean } from './confidence-mean.ts'
import { type CostPiece, isProvisional } from './cost-piece.ts'

/**
 * Stored row; UNPRICED if `cost` is null. The pieces are contiguous, cover the row and add up to its energy and cost. A
 * priced row has at least one piece. The pieces of an UNPRICED row locate its energy; without pieces the energy is even
 * over the row.
 * `recordConfidence` is in 1e-6.
 */
export type CostRow = Interval & {
  readonly energy: Energy
  readonly cost: Money | null
  readonly recordConfidence: number
  readonly pieces: readonly Omit<CostPiece, 'price' | 'tier'>[]
}

/**
 * Energy and cost of an interval. `energy` excludes unpriced energy. `records` counts all records that share time with
 * the interval, priced or not. `estimatedEnergy` and `provisionalEnergy` are parts of `energy`, and can overlap.
 * `confidence` is in 1e-4: unpriced energy has confidence 0, an interval without records has confidence 1.
 */
export type EnergyCostElement = Interval & {
  readonly records: number
  readonly energy: Energy
  readonly cost: Money
  readonly confidence: number
  readonly estimatedEnergy: Energy
  readonly provisionalEnergy: Energy
  readonly unpricedRecords: number
  readonly unpricedEnergy: Energy
}

/** Return whether the energy of a row is estimated: the confidence of its record is below 1. */
export const isEstimated = ({ recordConfidence }: Pick<CostRow, 'recordConfidence'>): boolean =>
  recordConfidence < fullConfidence

/**
 * Sums of the rows that lie completely within one bucket. `weighted…` are sums of energy, time (ms) and rows, each
 * times the confidence of the record and of its price, both in 1e-6.
 * `records` and `time` include all rows, priced or not. An unpriced row adds no weight. `energy` covers priced rows; the
 * estimated and provisional energies are parts of `energy`.
 */
export type BucketRows = {
  /** Index of the bucket between two edges. */
  readonly bucket: number
  readonly records: number
  readonly energy: Energy
  readonly cost: Money
  readonly weightedEnergy: bigint
  readonly time: bigint
  readonly weightedTime: bigint
  readonly weightedRecords: bigint
  readonly estimatedEnergy: Energy
  readonly provisionalEnergy: Energy
  readonly unpricedRecords: number
  readonly unpricedEnergy: Energy
}

type Totals = Omit<EnergyCostElement, 'confidence'>
type BucketTotals = { -readonly [Name in keyof Totals]: Totals[Name] } & { readonly mean: ConfidenceMean }

const createBucket = (start: number, end: number): BucketTotals => ({
  start,
  end,
  records: 0,
  energy: 0n,
  cost: 0n,
  mean: createMean(),
  estimatedEnergy: 0n,
  provisionalEnergy: 0n,
  unpricedRecords: 0,
  unpricedEnergy: 0n,
})

/** Buckets with their edges. */
type Buckets = { readonly edges: readonly number[]; readonly totals: readonly BucketTotals[] }

const addPricedRow = ({ edges, totals }: Buckets, row: CostRow): void => {
  for (const piece of row.pieces) {
    for (const part of cutAtEdges(edges, piece, row)) {
      const bucket = totals[part.bucket] as BucketTotals
      const energy = shareWithin(piece.energy, piece, part)
      bucket.energy += energy
      bucket.cost += shareWithin(piece.cost, piece, part)
      if (isEstimated(row)) bucket.estimatedEnergy += energy
      if (isProvisional(piece)) bucket.provisionalEnergy += energy
      addToMean(bucket.mean, energy, part.end - part.start, BigInt(row.recordConfidence * piece.confidence))
    }
  }
}

const addUnpricedRow = ({ edges, totals }: Buckets, row: CostRow): void => {
  const pieces = row.pieces.length === 0 ? [row] : row.pieces
  for (const piece of pieces) {
    for (const part of cutAtEdges(edges, piece, row)) {
      const bucket = totals[part.bucket] as BucketTotals
      const energy = shareWithin(piece.energy, piece, part)
      bucket.unpricedEnergy += energy
      addToMean(bucket.mean, energy, part.end - part.start, 0n)
    }
  }
}

/** Count a row in each bucket that it shares time with. */
const countRow = ({ edges, totals }: Buckets, row: CostRow): void => {
  for (const part of cutAtEdges(edges, row, row)) {
    const bucket = totals[part.bucket] as BucketTotals
    bucket.records += 1
    if (row.cost === null) bucket.unpricedRecords += 1
  }
}

const elementOf = ({ mean, ...bucket }: BucketTotals): EnergyCostElement => ({
  ...bucket,
  confidence: confidenceOfMean(mean, 100_000_000n) ?? 10_000,
})

const addBucketRows = ({ totals }: Buckets, rows: BucketRows): void => {
  const bucket = totals[rows.bucket] as BucketTotals
  bucket.records += rows.records
  bucket.energy += rows.energy
  bucket.cost += rows.cost
  bucket.estimatedEnergy += rows.estimatedEnergy
  bucket.provisionalEnergy += rows.provisionalEnergy
  bucket.unpricedRecords += rows.unpricedRecords
  bucket.unpricedEnergy += rows.unpricedEnergy
  bucket.mean.energy += rows.energy + rows.unpricedEnergy
  bucket.mean.byEnergy += rows.weightedEnergy
  bucket.mean.time += rows.time
  bucket.mean.byTime += rows.weightedTime
  bucket.mean.count += BigInt(rows.records)
  bucket.mean.byCount += rows.weightedRecords
}

/**
 * Return the elements between edges (ascending, at least two): every element is present, empty ones have confidence 1.
 * `bucketRows` adds sums of rows that no edge cuts.
 * Source: docs/rules/costs.md #buckets, #confidence.
 */
export const costInBuckets = (
  edges: readonly number[],
  rows: Iterable<CostRow>,
  bucketRows: Iterable<BucketRows> = [],
): EnergyCostElement[] => {
  const totals = edges.slice(1).map((end, index) => createBucket(edges[index] as number, end))
  const buckets = { edges, totals }
  for (const sums of bucketRows) addBucketRows(buckets, sums)
  for (const row of rows) {
    countRow(buckets, row)
    if (row.cost === null) addUnpricedRow(buckets, row)
    else addPricedRow(buckets, row)
  }
  return totals.map(elementOf)
}

/** Requested interval and the calendar unit of its elements; `aggregation` null means one element for the interval. */
export type CostInterval = Interval & { readonly timeZone: TimeZone; readonly aggregation: CalendarUnit | null }

/**
 * Return the cost of stored rows in an interval, in elements of the local calendar that are clipped to it: contiguous,
 * in order, all present.
 * The rows may have any order and extend beyond the interval. Confidence is weighted by energy over the parts of
 * pieces.
 * Law: pieces are cut cumulatively, so the elements of any division of an interval add up to the cost of the interval.
 * An impulse belongs to the element that contains it.
 * Source: docs/rules/costs.md #cumulative-shares, #confidence.
 */
export const energyCost = (
  { start, end, timeZone, aggregation }: CostInterval,
  rows: Iterable<CostRow>,
): EnergyCostElement[] =>
  costInBuckets(aggregation === null ? [start, end] : calendarEdges(timeZone, start, end, aggregation), rows)

/**
 * Return the cost of a session's rows as one element, from the first start to the last end; undefined without rows.
 * An impulse at the last end is included.
 * Source: docs/rules/costs.md #sessions.
 */
export const sessionCost = (rows: readonly CostRow[]): EnergyCostElement | undefined => {
  if (rows.length === 0) return undefined
  const start = rows.reduce((first, row) => Math.min(first, row.start), Number.POSITIVE_INFINITY)
  const end = rows.reduce((last, row) => Math.max(last, row.end), Number.NEGATIVE_INFINITY)
  const [element] = costInBuckets([start, end + 1], rows)
  return element === undefined ? undefined : { ...element, end }
}
