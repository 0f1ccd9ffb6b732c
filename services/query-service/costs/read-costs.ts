import { hourMs } from '../../domain/interval.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  blocksAcrossBuckets,
  costedRowsIfFew,
  type QueryInterval,
  type RowFilter,
  type Tenant,
} from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { type CostedRow, decodeCostedRows } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import {
  type BucketSums,
  type CrossingRows,
  readBucketSums,
} from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { type StoredPart, storedParts } from '../../platform/clickhouse/meter-cost/stored-parts.ts'
import { Failure, isFailure } from '../../platform/failure.ts'
import type { StoredCosts } from '../work-thread/cost-work.ts'
import { areSmall } from './answer-costs.ts'
import {
  type BucketSumCache,
  findBucket,
  type KeyedBucket,
  keyedBuckets,
  maxCachedEdges,
  maxComparedParts,
  storeBuckets,
  textsByStart,
} from './bucket-sum-cache.ts'

/** Longest interval whose rows are read instead of their sums: a local day. Planning a sum takes longer than its rows. */
const maxRowsMs = 25 * hourMs
/** Maximum size of the rows that are read instead of their sums: some hundred rows. */
const maxRowsBytes = 131_072

/** Maximum number of reads of rows that change during the read. */
const maxReads = 20

/** Read the rows of one location that share time with a short interval. Null if the interval is long, or the rows many. */
export const readRowsIfFew = (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  interval: QueryInterval,
): Promise<readonly CostedRow[] | null> | null =>
  filter.locationIds?.length === 1 && interval.to - interval.from <= maxRowsMs
    ? costedRowsIfFew(db, tenant, filter, interval, maxRowsBytes)
    : null

/** Costs between edges from all rows that share time with them. */
export const costsOfRows = (edges: readonly number[], rows: readonly CostedRow[]): StoredCosts => ({
  edges,
  sums: [],
  blocks: [],
  rows,
})

const crossedRowsOf = (blocks: readonly Buffer[]): CrossingRows => {
  const rows = blocks.flatMap(decodeCostedRows)
  return {
    records: rows.length,
    versions: BigInt.asUintN(
      64,
      rows.reduce((sum, { version }) => sum + version, 0n),
    ),
  }
}

/** Sums and crossing rows of the same state of the stored rows. */
type ConsistentRead = { readonly lines: string; readonly blocks: readonly Buffer[] }

/** Read the rows that cross edges, after the sums; null if the crossing rows changed between the two reads. */
const withCrossingRows = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  edges: readonly number[],
  { lines, crossingRows: crossed }: BucketSums,
): Promise<ConsistentRead | null> => {
  if (crossed === null) return { lines, blocks: [] }
  const blocks: Buffer[] = []
  for await (const block of blocksAcrossBuckets(db, tenant, filter, edges)) blocks.push(block)
  // Decoding many rows takes longer than adding them up again in ClickHouse.
  const crossedAgain = areSmall(blocks)
    ? crossedRowsOf(blocks)
    : (await readBucketSums(db, tenant, filter, edges)).crossingRows
  return crossedAgain?.records === crossed.records && crossedAgain.versions === crossed.versions
    ? { lines, blocks }
    : null
}

/** List the stored parts; null if the user of the engine may not read the list. */
const partsIfAllowed = async (db: ClickHouse, tenant: Tenant, to: number): Promise<readonly StoredPart[] | null> => {
  try {
    return await storedParts(db, tenant, to)
  } catch (error) {
    if (isFailure(error) && !error.retriable) return null
    throw error
  }
}

/**
 * Read the sums of all locations of an account, and read only buckets whose rows may have changed since an earlier read.
 * Null if the parts are unknown or too many, or if a row crosses an edge. Null also if rows of a cached bucket changed
 * during the read: then cached and new sums may belong to different states.
 */
const readWithCache = async (
  db: ClickHouse,
  tenant: Tenant,
  filter: RowFilter,
  edges: readonly number[],
  cache: BucketSumCache,
): Promise<ConsistentRead | null> => {
  const keyed = async () => {
    const parts = await partsIfAllowed(db, tenant, edges.at(-1) ?? 0)
    if (parts === null || parts.length * edges.length > maxComparedParts) return null
    return keyedBuckets(tenant, filter, edges, parts)
  }
  const buckets = await keyed()
  if (buckets === null) return null
  const cached = buckets.map(bucket => findBucket(cache, bucket))
  if (!cached.includes(null)) return { lines: cached.join(''), blocks: [] }
  // Buckets between two unknown ones are read again. The time before the edges is read together with the first bucket. No
  // row of a known bucket crosses its edge, so that the read need not look for rows that start before the first bucket.
  const [first, last] = [Math.max(0, cached.indexOf(null) - 1), Math.max(1, cached.lastIndexOf(null))]
  const read = await readBucketSums(db, tenant, filter, edges.slice(first, last + 1), cached[0] === null)
  const after = await keyed()
  if (first === 0 && last === edges.length - 1 && read.crossingRows !== null)
    return withCrossingRows(db, tenant, filter, edges, read)
  const isUnchanged = (index: number): boolean => buckets[index]?.parts === after?.[index]?.parts
  const isRead = (index: number): boolean => index > first && index <= last
  if (read.crossingRows !== null || !buckets.every((_, index) => isRead(index) || isUnchanged(index))) return null
  const texts = textsByStart(read.lines)
  const isStored = (index: number): boolean => (isRead(index) || cached[index] === null) && isUnchanged(index)
  storeBuckets(
    cache,
    buckets.filter((_, index) => isStored(index)),
    texts,
  )
  const textAt = ({ from }: KeyedBucket, index: number): string =>
    (isRead(index) ? texts.get(from) : cached[index]) ?? ''
  return { lines: buckets.map(textAt).join(''), blocks: [] }
}

/**
 * Read the costs of the rows that match each filter, between edges. The result of each filter shows one state of its
 * rows. One statement reads the sums. A row that crosses an edge crosses it in each version, because start and end are
 * part of its identity. If the crossing rows are unchanged since the sums, both belong to the same state. Otherwise
 * both are read again. The filters select different locations, whose costs do not depend on each other. `cache`: sums
 * of whole accounts. Throws `costs_changing` (retriable) after 20 reads during which rows changed.
 */
export const readCosts = async (
  db: ClickHouse,
  tenant: Tenant,
  filters: readonly RowFilter[],
  edges: readonly number[],
  cache?: BucketSumCache,
): Promise<StoredCosts> => {
  const sums: string[] = []
  const blocks: Buffer[] = []
  for (const filter of filters) {
    const isWhole = filter.locationIds === null && edges.length <= maxCachedEdges
    // The parts of a replica are no evidence of the rows of another replica.
    const isCached = cache !== undefined && isWhole && !db.hasReplicas
    let read = isCached ? await readWithCache(db, tenant, filter, edges, cache) : null
    for (let reads = 0; read === null && reads < maxReads; reads += 1) {
      const sumsRead = await readBucketSums(db, tenant, filter, edges)
      read = await withCrossingRows(db, tenant, filter, edges, sumsRead)
    }
    if (read === null)
      throw new Failure('costs_changing', 'The stored costs changed during each read. Repeat the request.', {
        retriable: true,
      })
    sums.push(read.lines)
    blocks.push(...read.blocks)
  }
  return { edges, sums, blocks, rows: [] }
}
