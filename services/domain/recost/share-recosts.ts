import type { Interval } from '../interval.ts'

/** Revisions of prices that a request brings. Null: it brings none. A source and its revision are null together. */
export type RecostPrices = {
  readonly locationRevision: number | null
  readonly sourceId: string | null
  readonly priceRevision: number | null
}

/** Deferred recost request. An open end of the interval is ±Infinity. */
export type SharableRecost = {
  /** Partition, account, mode and location: requests with different keys share no work. Null shares none. */
  readonly ownerKey: string | null
  readonly interval: Interval
  /** The request recosts rows that start in its interval. Other requests recost rows that share time with it. */
  readonly isTier: boolean
  readonly prices: RecostPrices
  /** Lowest version of the rows that the request writes. */
  readonly version: bigint
}

/** Intervals of two requests that together recost the same rows as before. `later` is null if nothing remains. */
type Division = { readonly earlier: Interval; readonly later: Interval | null }

/** Compare two numbers, also infinite ones. */
const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0)

const startOf = (request: SharableRecost | undefined): number => request?.interval.start ?? 0

const contains = (outer: Interval, inner: Interval): boolean => outer.start <= inner.start && outer.end >= inner.end

const highest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

/** Return the prices of both requests; null if no request can have both. */
const mergePrices = (a: RecostPrices, b: RecostPrices): RecostPrices | null =>
  a.sourceId !== null && b.sourceId !== null && a.sourceId !== b.sourceId
    ? null
    : {
        locationRevision: highest(a.locationRevision, b.locationRevision),
        sourceId: a.sourceId ?? b.sourceId,
        priceRevision: highest(a.priceRevision, b.priceRevision),
      }

/**
 * Divide the rows of two requests of one location between them. Null if they share no rows, or if no two intervals
 * have exactly these rows.
 */
const divide = (earlier: SharableRecost, later: SharableRecost): Division | null => {
  const [a, b] = [earlier.interval, later.interval]
  const joined = { start: a.start, end: Math.max(a.end, b.end) }
  if (b.start < a.start && a.start < b.end) return { earlier: joined, later: { start: b.start, end: a.start } }
  if (contains(a, b) && (later.isTier || !earlier.isTier)) return { earlier: a, later: null }
  if (!earlier.isTier) return contains(b, a) && !later.isTier ? { earlier: b, later: null } : null
  return later.isTier && a.start <= b.start && b.start <= a.end ? { earlier: joined, later: null } : null
}

/** Compare requests of one location: requests that continue come before requests that begin. */
const byProgress = (a: SharableRecost, b: SharableRecost): number =>
  Number(b.isTier) - Number(a.isTier) || compareNumbers(b.interval.start, a.interval.start)

/**
 * Return the requests of a step so that each location continues before it begins again. The places of a location in
 * the list stay, so no location waits longer for the others.
 */
export const continueFirst = <Request extends SharableRecost>(requests: readonly Request[]): readonly Request[] => {
  const ordered = [...requests]
  const places = Map.groupBy(requests.keys(), index => requests[index]?.ownerKey ?? null)
  for (const [ownerKey, own] of places) {
    if (ownerKey === null) continue
    const sorted = own.map(index => requests[index] as Request).toSorted(byProgress)
    for (const [place, index] of own.entries()) ordered[index] = sorted[place] as Request
  }
  return ordered
}

/** Requests of a location that each later one is compared with, so that the time grows in proportion to the requests. */
const maxCompared = 100

/**
 * Divide the rows of deferred requests, so that no row is recosted for each of several new prices. A request that
 * began earlier takes over the rows after its start, with the newer prices. With `continueFirst` this request continues
 * at its position: new prices that arrive all the time do not keep the request from its last rows. All prices of the
 * requests must be known already.
 * Laws: The requests of a location have the same rows as before. Each row keeps at least the versions and the prices of
 * all requests that had it. The order of the requests stays.
 */
export const shareRecosts = <Request extends SharableRecost>(requests: readonly Request[]): readonly Request[] => {
  const shared: Request[] = []
  const indexesByOwner = new Map<string, number[]>()
  for (const request of requests) {
    const { ownerKey } = request
    const indexes = ownerKey === null ? [] : (indexesByOwner.get(ownerKey) ?? [])
    if (ownerKey !== null) indexesByOwner.set(ownerKey, indexes)
    let interval: Interval | null = request.interval
    for (const index of indexes.toSorted((a, b) => compareNumbers(startOf(shared[b]), startOf(shared[a])))) {
      const earlier = shared[index] as Request
      const prices = mergePrices(earlier.prices, request.prices)
      const division: Division | null =
        prices === null || interval === null ? null : divide(earlier, { ...request, interval })
      if (prices === null || division === null) continue
      const version = earlier.version > request.version ? earlier.version : request.version
      shared[index] = { ...earlier, interval: division.earlier, prices, version }
      interval = division.later
    }
    if (interval === null) continue
    if (indexes.length < maxCompared) indexes.push(shared.length)
    shared.push({ ...request, interval })
  }
  return shared
}
