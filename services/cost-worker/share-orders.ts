import type { Order } from '../platform/log/messages.ts'
import { isTierOrder, type LaneOrder } from './plan-orders.ts'

type Bounds = { readonly from: number; readonly to: number }

const boundsOf = ({ from, to }: Order): Bounds => ({ from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY })

/** An order for what records have changed; one that prices have changed must come with its prices, and is done whole. */
const canGiveUp = (one: LaneOrder): boolean => {
  const { locationIds, locationRevision, sourceId } = one.order
  return isTierOrder(one) && locationIds.length === 1 && locationRevision === null && sourceId === null
}

/** Tell whether an order that is yet to be done passes over rows of another's location. */
const isOfSame = (a: LaneOrder, b: LaneOrder): boolean =>
  isTierOrder(a) &&
  a.origin.lane.partition === b.origin.lane.partition &&
  a.order.accountId === b.order.accountId &&
  a.order.liveMode === b.order.liveMode &&
  b.order.locationIds.every(id => a.order.locationIds.includes(id))

/** What is left of a span behind which another one goes on to its end; null where the other one holds all of it. */
const before = ({ from, to }: Bounds, other: Bounds): Bounds | null => {
  if (other.to < to || other.from >= to) return { from, to }
  return other.from <= from ? null : { from, to: other.from }
}

/**
 * Leave to each of the orders that go back to a lane what no other of them passes over later: counts follow from energies alone, so whichever
 * comes to a row counts what all records before it have brought. However many records are late at one large month, all that is
 * owed there is its rows once. Law: per location, the spans together stay the same.
 */
export const shareOrders = (orders: readonly LaneOrder[]): readonly LaneOrder[] => {
  const left = [...orders]
  for (const one of orders) {
    if (!canGiveUp(one)) continue
    const place = left.indexOf(one)
    let own: Bounds | null = boundsOf(one.order)
    for (const other of left) {
      if (own !== null && other !== one && isOfSame(other, one)) own = before(own, boundsOf(other.order))
    }
    if (own === null) left.splice(place, 1)
    else left[place] = { ...one, order: { ...one.order, to: own.to === Number.POSITIVE_INFINITY ? null : own.to } }
  }
  return left
}
