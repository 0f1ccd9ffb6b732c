import type { Interval } from '../interval.ts'
import { firstIndexAbove } from '../sorted.ts'

/** Part of a piece or row in a bucket. Buckets lie between neighbouring edges; `bucket` is an index. */
export type BucketPart = Interval & { readonly bucket: number }

/**
 * Cut a piece of a row, or the row, at the edges of buckets (ascending, at least two). The parts are ordered. Time
 * outside all buckets is left out.
 * A piece without length belongs to the bucket of its instant. If it ends a row that has length, it belongs to the
 * bucket of the last ms before its instant.
 * Source: docs/rules/costs.md #cumulative-shares.
 */
export const cutAtEdges = (edges: readonly number[], piece: Interval, row: Interval): readonly BucketPart[] => {
  const { start, end } = piece
  const isRowEnd = start === end && end === row.end && row.start < row.end
  const first = firstIndexAbove(edges, isRowEnd ? end - 1 : start) - 1
  if (start === end || end <= (edges[first + 1] ?? Number.NEGATIVE_INFINITY))
    return first >= 0 && first < edges.length - 1 ? [{ start, end, bucket: first }] : []
  const parts: BucketPart[] = []
  for (let bucket = Math.max(0, first); bucket < edges.length - 1; bucket += 1) {
    const [from, to] = [Math.max(start, edges[bucket] as number), Math.min(end, edges[bucket + 1] as number)]
    if (from >= end) break
    if (from < to) parts.push({ start: from, end: to, bucket })
  }
  return parts
}
