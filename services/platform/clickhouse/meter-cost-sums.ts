import type { ClickHouse } from './clickhouse.ts'
import {
  filterIs,
  isEmpty,
  mayShareTime,
  meterCost,
  type RowFilter,
  readSettings,
  spanOf,
  type Tenant,
  withEdges,
} from './meter-cost-reads.ts'

/**
 * Sums over whole rows. `weighted…` are sums of energy (1e-6 Wh), time (ms) and rows, each times record and price confidence in 1e-6.
 * `time` is of all rows; `energy` leaves out what is unpriced.
 */
export type CostSum = {
  /** Index of the bucket among those that the edges bound. */
  readonly bucket: number
  readonly currency: string
  /** Rows, priced or not. */
  readonly records: number
  readonly energy: bigint
  readonly cost: bigint
  readonly weightedEnergy: bigint
  readonly time: bigint
  readonly weightedTime: bigint
  readonly weightedRecords: bigint
  readonly unpricedRecords: number
  readonly unpricedEnergy: bigint
}

/** Sums of buckets, and whether rows cross their edges, which `rowsAcrossBuckets` then reads. */
export type BucketSums = { readonly sums: readonly CostSum[]; readonly isCrossed: boolean }

/**
 * Sum the rows that lie in one bucket as a whole; bucket i reaches from `edges[i]` to `edges[i + 1]`. Buckets without rows are
 * left out; each currency has its own sum. An impulse is in the bucket that holds its instant.
 */
export const sumsOfBuckets = async (db: ClickHouse, tenant: Tenant, filter: RowFilter, edges: readonly number[]): Promise<BucketSums> => {
  if (isEmpty(filter)) return { sums: [], isCrossed: false }
  const span = spanOf(edges)
  const [before, crossing] = [span.from - 1, span.from - 2]
  const condition = `${filterIs(filter)} AND ${mayShareTime(tenant, filter, span)}`
  // The engine takes longer to plan this than to add up a day of it, so that every function counts: what is constant in a group is a key
  // of it, and what ended before the span is a group that is left out. Integers of the smallest units, wide enough to add up: decimals
  // would be checked for overflow row by row.
  const answer = await db.rows(
    `${withEdges([before, ...edges])}SELECT if(
      (roundDown(toUnixTimestamp64Milli(start_time) AS s, edges) AS bucket_of_start) = roundDown(greatest(s, (toUnixTimestamp64Milli(end_time) AS t) - 1), edges),
      bucket_of_start, ${crossing}) AS bucket, currency, status = 'UNPRICED' AS is_unpriced, count(), sum(toInt128(reinterpretAsInt64(energy)) AS e),
    sum(reinterpretAsInt128(coalesce(cost, 0))), sum(e * (toInt128(record_confidence) * confidence AS w)), sum(toInt128(t - s) AS l), sum(l * w), sum(w)
    ${meterCost(tenant, condition)} GROUP BY bucket, currency, is_unpriced
    ${readSettings}, output_format_json_quote_64bit_integers=1`,
    tenant,
  )
  const groups = answer.map(([start, ...group]) => ({ start: Number(start), group })).filter(({ start }) => start !== before)
  const bucketAt = new Map(edges.map((edge, index) => [edge, index]))
  const sums = groups.flatMap(({ start, group }) => (start === crossing ? [] : [costSumOf(bucketAt.get(start) ?? -1, group)]))
  const byBucket = Map.groupBy(sums, ({ bucket, currency }) => `${bucket} ${currency}`)
  return {
    sums: [...byBucket.values()].map(parts => parts.reduce(added)).sort(inOrder),
    isCrossed: groups.length > sums.length,
  }
}

const inOrder = (a: CostSum, b: CostSum): number => a.bucket - b.bucket || (a.currency < b.currency ? -1 : 1)

const unweighted = { energy: 0n, cost: 0n, weightedEnergy: 0n, weightedTime: 0n, weightedRecords: 0n }

const costSumOf = (bucket: number, [currency, isUnpriced, records, ...sums]: readonly unknown[]): CostSum => {
  const [energy = 0n, cost = 0n, weightedEnergy = 0n, time = 0n, weightedTime = 0n, weightedRecords = 0n] = sums.map(sum =>
    BigInt(String(sum)),
  )
  const of = { bucket, currency: String(currency), records: Number(records), time }
  return Number(isUnpriced) === 1
    ? { ...of, ...unweighted, unpricedRecords: Number(records), unpricedEnergy: energy }
    : { ...of, energy, cost, weightedEnergy, weightedTime, weightedRecords, unpricedRecords: 0, unpricedEnergy: 0n }
}

const added = (a: CostSum, b: CostSum): CostSum => ({
  ...{ bucket: a.bucket, currency: a.currency },
  ...{ records: a.records + b.records, energy: a.energy + b.energy, cost: a.cost + b.cost },
  ...{ weightedEnergy: a.weightedEnergy + b.weightedEnergy, time: a.time + b.time, weightedTime: a.weightedTime + b.weightedTime },
  ...{ weightedRecords: a.weightedRecords + b.weightedRecords },
  ...{ unpricedRecords: a.unpricedRecords + b.unpricedRecords, unpricedEnergy: a.unpricedEnergy + b.unpricedEnergy },
})
