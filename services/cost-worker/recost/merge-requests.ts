import { trimRecostOverlaps } from '../../domain/recost/trim-recost-overlaps.ts'
import type { StoredRowRequest } from '../../platform/log/messages.ts'
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

const differOnlyInLocations = (a: ReceivedRequest, b: ReceivedRequest): boolean => {
  const [first, second] = [a.request, b.request]
  return (
    a.origin.assignment.partition === b.origin.assignment.partition &&
    first.orderKind === second.orderKind &&
    first.accountId === second.accountId &&
    first.liveMode === second.liveMode &&
    first.sourceId === second.sourceId &&
    first.priceRevision === second.priceRevision &&
    first.locationRevision === second.locationRevision &&
    first.from === second.from &&
    first.to === second.to
  )
}

/** Merge neighbouring deferred requests that differ only in their locations. */
export const mergeRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const requests: ReceivedRequest[] = []
  for (const received of deferred) {
    const last = requests.at(-1)
    if (
      last !== undefined &&
      differOnlyInLocations(last, received) &&
      last.request.locationIds.length + received.request.locationIds.length <= maxLocationsPerRequest
    ) {
      requests[requests.length - 1] = {
        ...last,
        request: { ...last.request, locationIds: [...last.request.locationIds, ...received.request.locationIds] },
      }
    } else requests.push(received)
  }
  return requests
}

/** Remove from deferred requests the work that another of them does: see `trimRecostOverlaps`. */
export const trimRequests = (deferred: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const remaining = trimRecostOverlaps(
    deferred.map(received => {
      const { accountId, liveMode, locationIds, locationRevision, sourceId, from, to } = received.request
      return {
        ownerKey: `${received.origin.assignment.partition}/${accountId}/${liveMode}`,
        locationIds,
        interval: { start: from ?? Number.NEGATIVE_INFINITY, end: to ?? Number.POSITIVE_INFINITY },
        isTier: isTierRequest(received),
        hasPrices: locationRevision !== null || sourceId !== null,
      }
    }),
  )
  return deferred.flatMap((received, index) => {
    const interval = remaining[index]
    if (interval === null || interval === undefined) return []
    const to = interval.end === Number.POSITIVE_INFINITY ? null : interval.end
    return [to === received.request.to ? received : { ...received, request: { ...received.request, to } }]
  })
}
