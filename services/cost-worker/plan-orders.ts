import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type MonthCount, rowsByMonth } from '../platform/clickhouse/meter-cost-counts.ts'
import type { Span, Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { Order } from '../platform/log/messages.ts'
import type { HeldPricing, PricingBook } from '../platform/pricing-book.ts'
import type { Cause } from './lane-group.ts'
import type { Origin } from './settle.ts'

/** An order as it stands in its lane. */
export type LaneOrder = { readonly order: Order; readonly version: bigint; readonly origin: Origin }

/** A location-month whose rows are costed again. */
export type Portion = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly held: HeldPricing
  readonly cause: Cause
  readonly of: LaneOrder
}

/** What a step does of its orders, and what goes back to the end of the lane. */
export type OrderPlan = { readonly portions: readonly Portion[]; readonly rest: readonly LaneOrder[] }

/** A step takes location-months until about so many rows. */
const budgetRows = 5_000
/** Locations that are looked at in one step. */
const mostLocations = 200
/** Locations in a message. */
const mostInOrder = 500
/** A location-month costs about as much as so many rows, however few it has. */
const portionRows = 5
/** A month that no other portion of the step lies in costs a statement and a part of the table, about as much as so many rows. */
const newMonthRows = 150

type Target = { readonly locationId: string; readonly held: HeldPricing; readonly months: readonly MonthCount[] }

/** The local months of a location that have rows in the order's span, with about how many; the one that holds the span's start always. */
const monthSpans = ({ from, to }: Order, { held, months }: Target): readonly (Span & { readonly rows: number })[] => {
  const zone = held.snapshot.timeZone
  const rowsOf = new Map<number, number>()
  const bound = from ?? months[0]?.month
  if (bound === undefined) return []
  rowsOf.set(startOfLocalMonth(zone, bound), 0)
  for (const { month, rows } of months) {
    const date = new Date(month)
    const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    for (let at = startOfLocalMonth(zone, month); at < end; at = nextLocalMonth(zone, at)) rowsOf.set(at, (rowsOf.get(at) ?? 0) + rows)
  }
  return [...rowsOf]
    .sort(([a], [b]) => a - b)
    .map(([start, rows]) => ({
      from: Math.max(start, from ?? start),
      to: Math.min(nextLocalMonth(zone, start), to ?? Number.POSITIVE_INFINITY),
      rows,
    }))
    .filter(span => span.from < span.to)
}

/** Rows of months that have this in common are read and written together. */
const monthOf = ({ accountId, liveMode }: Tenant, { from }: Span): string =>
  `${accountId}/${liveMode}/${new Date(from).toISOString().slice(0, 7)}`

const isSameBut = (a: LaneOrder, b: LaneOrder): boolean => {
  const [x, y] = [a.order, b.order]
  return (
    a.origin.lane.partition === b.origin.lane.partition &&
    x.orderKind === y.orderKind &&
    x.accountId === y.accountId &&
    x.liveMode === y.liveMode &&
    x.sourceId === y.sourceId &&
    x.priceRevision === y.priceRevision &&
    x.locationRevision === y.locationRevision &&
    x.from === y.from &&
    x.to === y.to
  )
}

/** Put what is left of orders together where only the locations differ. */
const joined = (rest: readonly LaneOrder[]): readonly LaneOrder[] => {
  const orders: LaneOrder[] = []
  for (const one of rest) {
    const last = orders.at(-1)
    if (last !== undefined && isSameBut(last, one) && last.order.locationIds.length + one.order.locationIds.length <= mostInOrder) {
      orders[orders.length - 1] = { ...last, order: { ...last.order, locationIds: [...last.order.locationIds, ...one.order.locationIds] } }
    } else orders.push(one)
  }
  return orders
}

/**
 * Plan what a step does of its orders: location-months until about 5,000 rows, at least one; the rest goes back to the end of the lane,
 * so that fresh records never wait for long. `budget`: rows that may be taken at most, for a lane that takes no more messages.
 */
export const planOrders = async (
  db: ClickHouse,
  pricing: Pick<PricingBook, 'gather'>,
  orders: readonly LaneOrder[],
  budget = budgetRows,
): Promise<OrderPlan> => {
  const portions: Portion[] = []
  const rest: LaneOrder[] = []
  const months = new Set<string>()
  let left = budget
  let looked = 0
  for (const one of orders) {
    const { order, version } = one
    // The notice of a source's new revision.
    if (order.accountId === null) continue
    const put = (locationIds: readonly string[], from: number | null): void => {
      if (locationIds.length > 0) rest.push({ ...one, order: { ...order, locationIds, from } })
    }
    const room = budget === budgetRows ? mostLocations - looked : Number.POSITIVE_INFINITY
    if (left <= 0 || room <= 0) {
      put(order.locationIds, order.from)
      continue
    }
    const ids = order.locationIds.slice(0, room)
    looked += ids.length
    const tenant = { accountId: order.accountId, liveMode: order.liveMode }
    const held = await pricing.gather(ids.map(locationId => ({ ...tenant, locationId, from: order.from ?? 0 })))
    const counts = Map.groupBy(await rowsByMonth(db, tenant, ids, order.from, order.to), ({ locationId }) => locationId)
    for (const [index, locationId] of ids.entries()) {
      const prices = held.get(locationId)
      if (prices === undefined) continue
      if (left <= 0) {
        put(ids.slice(index), order.from)
        break
      }
      for (const { rows, ...span } of monthSpans(order, { locationId, held: prices, months: counts.get(locationId) ?? [] })) {
        if (left <= 0) {
          put([locationId], span.from)
          break
        }
        portions.push({ tenant, locationId, held: prices, cause: { ...span, version }, of: one })
        const month = monthOf(tenant, span)
        left -= rows + portionRows + (months.has(month) ? 0 : newMonthRows)
        months.add(month)
      }
    }
    put(order.locationIds.slice(room), order.from)
  }
  return { portions, rest: joined(rest) }
}
