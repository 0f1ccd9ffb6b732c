import type { Interval } from '../interval.ts'

/** Deferred recost request, as far as work can be shared. An open end of the interval is ±Infinity. */
export type DeferredRecost = {
  /** Partition, account and mode: requests with different keys share no work. */
  readonly ownerKey: string
  readonly locationIds: readonly string[]
  readonly interval: Interval
  /** The request comes from changed records and recosts rows that start in its interval. */
  readonly isTier: boolean
  /** The request brings new prices, so all its rows must be recosted with this request. */
  readonly hasPrices: boolean
}

const canTrim = ({ isTier, locationIds, hasPrices }: DeferredRecost): boolean =>
  isTier && locationIds.length === 1 && !hasPrices

/** Return whether a request recosts rows of another request's locations. */
const coversSameLocations = (a: DeferredRecost, b: DeferredRecost): boolean =>
  a.isTier && a.ownerKey === b.ownerKey && b.locationIds.every(id => a.locationIds.includes(id))

/**
 * Return the part of an interval before another one that reaches its end; null if the other interval contains all of
 * it.
 */
const remainderBefore = (interval: Interval, other: Interval): Interval | null => {
  if (other.end < interval.end || other.start >= interval.end) return interval
  return other.start <= interval.start ? null : { start: interval.start, end: other.start }
}

/**
 * Remove from each deferred request the rows that a later interval covers. Counts follow from energies alone, so any
 * request counts the energy of all records before a row. Many late records of a large month then recost its rows once.
 * The result has the remaining interval of each request, in the same order; null if nothing remains.
 * Law: for each location, the union of the intervals stays the same.
 */
export const trimRecostOverlaps = (requests: readonly DeferredRecost[]): readonly (Interval | null)[] => {
  const remaining: (Interval | null)[] = requests.map(({ interval }) => interval)
  for (const [index, request] of requests.entries()) {
    if (!canTrim(request)) continue
    let interval: Interval | null = request.interval
    for (const [otherIndex, other] of requests.entries()) {
      const otherInterval = remaining[otherIndex]
      if (interval === null || otherIndex === index || otherInterval === null || otherInterval === undefined) continue
      if (coversSameLocations(other, request)) interval = remainderBefore(interval, otherInterval)
    }
    remaining[index] = interval
  }
  return remaining
}
