import type { Interval } from '../../domain/interval.ts'
import { continueFirst, type SharableRecost, shareRecosts } from '../../domain/recost/share-recosts.ts'
import { trimRecostOverlaps } from '../../domain/recost/trim-recost-overlaps.ts'
import type { StoredRowRequest } from '../../platform/log/messages.ts'
import { rowVersionParts } from '../../platform/log/row-version.ts'
import type { MessageOrigin } from '../record-to-cost.ts'

/** Recost request or erase request, as read from a partition. */
export type ReceivedRequest = {
  readonly request: StoredRowRequest
  readonly version: bigint
  readonly origin: MessageOrigin
}

/** Maximum number of locations in a message. */
const maxLocationsPerRequest = 500

/**
 * Return whether a request applies to rows that start in its interval. Other requests apply to rows that share time
 * with it.
 */
export const isTierRequest = ({ request }: Pick<ReceivedRequest, 'request'>): boolean => request.orderKind === 'TIER'

/** Key that is equal for requests that differ only in their locations. */
const keyOf = ({ request, version, origin }: ReceivedRequest): string => {
  const { orderKind, accountId, liveMode, sourceId, priceRevision, locationRevision, from, to } = request
  const log = [origin.assignment.partition, rowVersionParts(version).generation]
  return JSON.stringify([...log, orderKind, accountId, liveMode, sourceId, priceRevision, locationRevision, from, to])
}

/**
 * Merge neighbouring deferred requests that differ only in their locations. A location that several such requests name,
 * neighbours or not, stays in the first of them: a process that ends before it commits a step defers its requests again.
 * Call it for requests that become new messages: a merged request has the origin of its first one.
 */
export const mergeRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const requests: ReceivedRequest[] = []
  const namedByKey = new Map<string, Set<string>>()
  let lastKey: string | null = null
  for (const received of deferred) {
    const key = keyOf(received)
    const named = namedByKey.get(key) ?? new Set()
    namedByKey.set(key, named)
    const locationIds = received.request.locationIds.filter(id => !named.has(id))
    for (const id of locationIds) named.add(id)
    if (locationIds.length === 0) continue
    const last = key === lastKey ? requests.at(-1) : undefined
    const before = last?.request.locationIds ?? []
    lastKey = key
    if (last !== undefined && before.length + locationIds.length <= maxLocationsPerRequest)
      requests[requests.length - 1] = {
        ...last,
        request: { ...last.request, locationIds: [...before, ...locationIds] },
      }
    else requests.push({ ...received, request: { ...received.request, locationIds } })
  }
  return requests
}

const intervalOf = ({ request: { from, to } }: ReceivedRequest): Interval => ({
  start: from ?? Number.NEGATIVE_INFINITY,
  end: to ?? Number.POSITIVE_INFINITY,
})

const finite = (instant: number): number | null => (Number.isFinite(instant) ? instant : null)

/** Remove from deferred requests the work that another of them does: see `trimRecostOverlaps`. */
export const trimRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const remaining = trimRecostOverlaps(
    deferred.map(received => {
      const { accountId, liveMode, locationIds, locationRevision, sourceId } = received.request
      return {
        ownerKey: `${received.origin.assignment.partition}/${accountId}/${liveMode}`,
        locationIds,
        interval: intervalOf(received),
        isTier: isTierRequest(received),
        hasPrices: locationRevision !== null || sourceId !== null,
      }
    }),
  )
  return deferred.flatMap((received, index) => {
    const interval = remaining[index]
    if (interval === null || interval === undefined) return []
    const to = finite(interval.end)
    return [to === received.request.to ? received : { ...received, request: { ...received.request, to } }]
  })
}

type Sharable = SharableRecost & { readonly received: ReceivedRequest }

const sharableOf = (received: ReceivedRequest): Sharable => {
  const { accountId, liveMode, locationIds, locationRevision, sourceId, priceRevision } = received.request
  const ownerKey = `${received.origin.assignment.partition}/${accountId}/${liveMode}/${locationIds[0]}`
  return {
    received,
    ownerKey: locationIds.length === 1 ? ownerKey : null,
    interval: intervalOf(received),
    isTier: isTierRequest(received),
    prices: { locationRevision, sourceId, priceRevision },
    version: received.version,
  }
}

/** Order the requests of a step so that each location continues before it begins again: see `continueFirst`. */
export const orderRequests = (requests: readonly ReceivedRequest[]): readonly ReceivedRequest[] =>
  continueFirst(requests.map(sharableOf)).map(({ received }) => received)

/**
 * Divide the rows of a location between its deferred requests: see `shareRecosts`. Call it for requests that become
 * new messages, after their prices have left the cache.
 */
export const shareRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] =>
  shareRecosts(deferred.map(sharableOf)).map(({ received, interval, prices, version }) => ({
    ...received,
    version,
    request: { ...received.request, ...prices, from: finite(interval.start), to: finite(interval.end) },
  }))
