import type { BucketRows } from '../../../domain/cost/energy-cost.ts'
import { fullConfidence as full } from '../../../domain/record/record.ts'
import { type ClickHouse, linesOf } from '../clickhouse.ts'
import {
  filterIs,
  intervalOf,
  isEmpty,
  mayShareTime,
  meterCost,
  type RowFilter,
  readSettings,
  startsWithin,
  sumSettings,
  type Tenant,
  withEdges,
} from './meter-cost-reads.ts'

/** Sums over rows that lie within a bucket between two edges, in one currency. */
export type CostSum = BucketRows & { readonly currency: string }

/**
 * Number of rows that cross edges, and the sum of their versions modulo 2^64. If both are equal at a later read, the
 * rows are the same.
 */
export type CrossingRows = { readonly records: number; readonly versions: bigint }

/**
 * Sums of buckets as text of the engine. `crossingRows`: rows that cross edges, which `blocksAcrossBuckets` reads; null
 * if none.
 */
export type BucketSums = { readonly lines: string; readonly crossingRows: CrossingRows | null }

/**
 * Bucket values of rows without a bucket: those that cross an edge, and those that end before the first edge. Both are
 * less than the first edge.
 */
const crossingOf = (edges: readonly number[]): number => (edges[0] ?? 0) - 2
const beforeOf = (edges: readonly number[]): number => (edges[0] ?? 0) - 1

/**
 * Read the sums of the rows that lie within one bucket, for `costSumsOf`. Bucket i reaches from `edges[i]` to `edges[i
 * + 1]`. Buckets without rows are left out; each currency has its own sum. An impulse is in the bucket of its instant.
 * `mayReachIn` false: no row starts before the first edge and ends after it.
 */
export const readBucketSums = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  edges: readonly number[],
  mayReachIn = true,
): Promise<BucketSums> => {
  if (isEmpty(filter)) return { lines: '', crossingRows: null }
  const interval = intervalOf(edges)
  const [before, crossing] = [beforeOf(edges), crossingOf(edges)]
  const time = mayReachIn ? mayShareTime(tenant, filter, interval) : startsWithin(interval)
  const condition = `${filterIs(filter)} AND ${time}`
  // Rows of several objects share time in most cases, and an account has too many rows for this function.
  const depth = filter.locationIds?.length === 1 ? 'maxIntersections(s, t)' : '2'
  // Planning takes longer than summing a day, so each function counts. Values that are constant in a group are keys;
  // rows that end before the interval are a group that is dropped later. Integers of the smallest units avoid the
  // overflow check per row that decimals have. The confidence of a row with several pieces is a rounded mean, so their
  // own confidences decide which energy is provisional.
  const lines = await db.lines(
    `${withEdges([before, ...edges])}SELECT if(
      (roundDown(toUnixTimestamp64Milli(start_time) AS s, edges) AS bucket_of_start) = roundDown(greatest(s, (toUnixTimestamp64Milli(end_time) AS t) - 1), edges),
      bucket_of_start, ${crossing}) AS bucket, currency, status = 'UNPRICED' AS is_unpriced, record_confidence < ${full} AS is_estimated, count(), sum(toInt128(reinterpretAsInt64(energy)) AS e),
    sum(reinterpretAsInt128(coalesce(cost, 0))), sum(e * (toInt128(record_confidence) * confidence AS w)), sum(toInt128(t - s) AS l), sum(l * w), sum(w),
    sum(if(empty(pieces.confidence), e * (confidence < ${full}), toInt128(arraySum((c, p) -> (c < ${full}) * reinterpretAsInt64(p), pieces.confidence, pieces.energy)))), min(l), max(l), ${depth}, sum(version)
    ${meterCost(tenant, condition)} GROUP BY bucket, currency, is_unpriced, is_estimated
    ${filter.locationIds === null ? sumSettings : readSettings}, output_format_json_quote_64bit_integers=1`,
    tenant,
  )
  return { lines, crossingRows: hasBucket(lines, crossing) ? crossingRowsOf(lines, crossing) : null }
}

/** Return whether a line starts with a bucket. */
const hasBucket = (lines: string, bucket: number): boolean => {
  const start = `["${bucket}",`
  return lines.startsWith(start) || lines.includes(`\n${start}`)
}

const crossingRowsOf = (lines: string, crossing: number): CrossingRows => {
  let [records, versions] = [0, 0n]
  for (const line of linesOf(lines)) {
    if (!hasBucket(line, crossing)) continue
    const group = JSON.parse(line) as readonly unknown[]
    records += Number(group[4])
    versions += BigInt(String(group.at(-1)))
  }
  return { records, versions: BigInt.asUintN(64, versions) }
}

/** Number of actuals. `mayOverlap` false: no two of them share time and differ in length. */
export type SearchedActuals = { readonly rows: number; readonly mayOverlap: boolean }

/**
 * Return whether the actuals in the text of `readBucketSums` can overlap. They cannot if they have one
 * length, or if each bucket has one group of actuals without an intersection, and no row crosses an edge.
 */
export const searchedActuals = (lines: string, edges: readonly number[]): SearchedActuals => {
  const crossing = crossingOf(edges)
  const buckets = new Set<number>()
  let [rows, min, max, mayShareTime] = [0, Number.POSITIVE_INFINITY, 0, false]
  for (const line of linesOf(lines)) {
    const [start, , , isEstimated, count, ...sums] = JSON.parse(line) as readonly unknown[]
    if (Number(isEstimated) === 1) continue
    const bucket = Number(start)
    mayShareTime ||= bucket === crossing || buckets.has(bucket) || Number(sums.at(-2)) > 1
    buckets.add(bucket)
    rows += Number(count)
    min = Math.min(min, Number(sums.at(-4)))
    max = Math.max(max, Number(sums.at(-3)))
  }
  return { rows, mayOverlap: mayShareTime && min < max }
}

/** Parse the text of `readBucketSums`. Ordered by bucket and currency, each once. */
export const costSumsOf = (lines: string, edges: readonly number[]): readonly CostSum[] => {
  const [before, crossing] = [beforeOf(edges), crossingOf(edges)]
  const bucketAt = new Map(edges.map((edge, index) => [edge, index]))
  const found = new Map<string, CostSum>()
  for (const line of linesOf(lines)) {
    const [start, ...group] = JSON.parse(line) as readonly unknown[]
    if (Number(start) === before || Number(start) === crossing) continue
    const sum = costSumOf(bucketAt.get(Number(start)) ?? -1, group)
    const key = `${sum.bucket} ${sum.currency}`
    const other = found.get(key)
    found.set(key, other === undefined ? sum : addSums(other, sum))
  }
  return [...found.values()].sort(byBucketAndCurrency)
}

const byBucketAndCurrency = (a: CostSum, b: CostSum): number =>
  a.bucket - b.bucket || (a.currency < b.currency ? -1 : 1)

const unweighted = {
  energy: 0n,
  cost: 0n,
  weightedEnergy: 0n,
  weightedTime: 0n,
  weightedRecords: 0n,
  estimatedEnergy: 0n,
  provisionalEnergy: 0n,
}

const costSumOf = (
  bucket: number,
  [currency, isUnpriced, isEstimated, records, ...sums]: readonly unknown[],
): CostSum => {
  const [energy = 0n, cost = 0n, weightedEnergy = 0n, time = 0n, weightedTime = 0n, ...more] = sums.map(sum =>
    BigInt(String(sum)),
  )
  const [weightedRecords = 0n, provisionalEnergy = 0n] = more
  const estimatedEnergy = Number(isEstimated) === 1 ? energy : 0n
  const of = { bucket, currency: String(currency), records: Number(records), time }
  return Number(isUnpriced) === 1
    ? { ...of, ...unweighted, unpricedRecords: Number(records), unpricedEnergy: energy }
    : {
        ...of,
        energy,
        cost,
        weightedEnergy,
        weightedTime,
        weightedRecords,
        estimatedEnergy,
        provisionalEnergy,
        unpricedRecords: 0,
        unpricedEnergy: 0n,
      }
}

const addSums = (a: CostSum, b: CostSum): CostSum => ({
  bucket: a.bucket,
  currency: a.currency,
  records: a.records + b.records,
  energy: a.energy + b.energy,
  cost: a.cost + b.cost,
  weightedEnergy: a.weightedEnergy + b.weightedEnergy,
  time: a.time + b.time,
  weightedTime: a.weightedTime + b.weightedTime,
  weightedRecords: a.weightedRecords + b.weightedRecords,
  estimatedEnergy: a.estimatedEnergy + b.estimatedEnergy,
  provisionalEnergy: a.provisionalEnergy + b.provisionalEnergy,
  unpricedRecords: a.unpricedRecords + b.unpricedRecords,
  unpricedEnergy: a.unpricedEnergy + b.unpricedEnergy,
})
