import { createHash } from 'node:crypto'
import { linesOf } from '../../platform/clickhouse/clickhouse.ts'
import type { RowFilter, Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { StoredPart } from '../../platform/clickhouse/meter-cost/stored-parts.ts'

/** Maximum number of cached buckets. A bucket takes some 500 bytes. */
const maxBuckets = 5_000
/** Longest text of a cached bucket. Rows in many currencies make a text longer. All buckets take 20 MB at most. */
const maxTextLength = 4_096
/** Maximum number of edges of a cached answer: its buckets must not push out those of all other answers. */
export const maxCachedEdges = 400

/** Maximum number of parts times edges: comparing them takes some milliseconds of the thread that answers requests. */
export const maxComparedParts = 20_000

/** Text of the sums of a bucket, and the hash of the parts that can have rows of the bucket. */
type CachedSum = { readonly parts: string; readonly lines: string }

/** Cache of sums of buckets. A bucket is valid if the parts with rows of its time are those of its read. */
export type BucketSumCache = Map<string, CachedSum>

export const bucketSumCache = (): BucketSumCache => new Map()

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64')

/**
 * Buckets of an answer, with the key and the parts of each. The first bucket reaches from -Infinity to the first edge:
 * its rows can reach into the answer.
 */
export type KeyedBucket = { readonly from: number; readonly key: string; readonly parts: string }

/** Return the buckets between edges, led by the time before them. */
export const keyedBuckets = (
  { accountId, liveMode }: Tenant,
  filter: RowFilter,
  edges: readonly number[],
  parts: readonly StoredPart[],
): readonly KeyedBucket[] => {
  const subject = hashOf(JSON.stringify([accountId, liveMode, filter]))
  const starts = [Number.NEGATIVE_INFINITY, ...edges]
  return edges.map((to, index) => {
    const from = starts[index] ?? 0
    const touching = parts.filter(part => part.from < to && part.to > from)
    return { from, key: `${subject} ${from} ${to}`, parts: hashOf(touching.map(({ content }) => content).join('\n')) }
  })
}

/** Return the cached text of a bucket; null if it is missing or the rows of its time may have changed. */
export const findBucket = (cache: BucketSumCache, { key, parts }: KeyedBucket): string | null => {
  const found = cache.get(key)
  if (found?.parts !== parts) return null
  cache.delete(key)
  cache.set(key, found)
  return found.lines
}

/** Text of the sums of buckets, by the start of the bucket. */
type BucketTexts = ReadonlyMap<number, string>

/** Split the text of `readBucketSums`. It also has groups of rows outside of the buckets. */
export const textsByStart = (lines: string): BucketTexts =>
  new Map(
    [...Map.groupBy(linesOf(lines), line => Number(line.slice(2, line.indexOf('"', 2))))].map(([start, group]) => [
      start,
      group.map(line => `${line}\n`).join(''),
    ]),
  )

/** Store the sums of buckets that no row crosses. The oldest buckets are removed, and long texts are not stored. */
export const storeBuckets = (cache: BucketSumCache, buckets: readonly KeyedBucket[], texts: BucketTexts): void => {
  for (const { from, key, parts } of buckets) {
    const lines = texts.get(from) ?? ''
    cache.delete(key)
    if (lines.length <= maxTextLength) cache.set(key, { parts, lines })
  }
  for (const key of cache.keys()) {
    if (cache.size <= maxBuckets) break
    cache.delete(key)
  }
}
