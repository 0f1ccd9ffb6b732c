import type { StoredRowRequest } from '../../platform/log/messages.ts'
import { isTierRequest, type ReceivedRequest } from './plan-recosts.ts'

type RequestInterval = { readonly from: number; readonly to: number }

const requestInterval = ({ from, to }: StoredRowRequest): RequestInterval => ({
  from: from ?? Number.NEGATIVE_INFINITY,
  to: to ?? Number.POSITIVE_INFINITY,
})

/** An order for what records have changed; one that prices have changed must come with its prices, and is done whole. */
const canTrim = (received: ReceivedRequest): boolean => {
  const { locationIds, locationRevision, sourceId } = received.request
  return isTierRequest(received) && locationIds.length === 1 && locationRevision === null && sourceId === null
}

/** Tell whether an order that is yet to be done passes over rows of another's location. */
const coversSameLocations = (a: ReceivedRequest, b: ReceivedRequest): boolean =>
  isTierRequest(a) &&
  a.origin.assignment.partition === b.origin.assignment.partition &&
  a.request.accountId === b.request.accountId &&
  a.request.liveMode === b.request.liveMode &&
  b.request.locationIds.every(id => a.request.locationIds.includes(id))

/** What is left of a span behind which another one goes on to its end; null where the other one holds all of it. */
const remainderBefore = ({ from, to }: RequestInterval, other: RequestInterval): RequestInterval | null => {
  if (other.to < to || other.from >= to) return { from, to }
  return other.from <= from ? null : { from, to: other.from }
}

/**
 * Leave to each of the orders that go back to a lane what no other of them passes over later: counts follow from energies alone, so whichever
 * comes to a row counts what all records before it have brought. However many records are late at one large month, all that is
 * owed there is its rows once. Law: per location, the spans together stay the same.
 */
export const trimRecostOverlaps = (requests: readonly ReceivedRequest[]): readonly ReceivedRequest[] => {
  const trimmed = [...requests]
  for (const received of requests) {
    if (!canTrim(received)) continue
    const index = trimmed.indexOf(received)
    let remaining: RequestInterval | null = requestInterval(received.request)
    for (const other of trimmed) {
      if (remaining !== null && other !== received && coversSameLocations(other, received))
        remaining = remainderBefore(remaining, requestInterval(other.request))
    }
    if (remaining === null) trimmed.splice(index, 1)
    else
      trimmed[index] = {
        ...received,
        request: { ...received.request, to: remaining.to === Number.POSITIVE_INFINITY ? null : remaining.to },
      }
  }
  return trimmed
}
