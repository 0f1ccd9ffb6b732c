import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { countsEnergy } from '../domain/tariff/snapshot.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type LongRows, longRowsWithin, type MonthCount, rowsByMonth, startOfRow } from '../platform/clickhouse/meter-cost-counts.ts'
import type { Span, Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { Order } from '../platform/log/messages.ts'
import type { HeldPricing, PricingAsk, PricingBook } from '../platform/pricing-book.ts'
import { startAcross } from './gather-slice.ts'
import { type Cause, directions } from './lane-group.ts'
import type { Origin } from './settle.ts'
import type { SliceBounds } from './settle-slices.ts'
import { edgesAbout, type LoadBounds } from './step-load.ts'

/** An order as it stands in its lane. */
export type LaneOrder = { readonly order: Order; readonly version: bigint; readonly origin: Origin }

/** A location-month whose rows are costed again. Of a slice, those that start in its span: what reaches into it is of the one before. */
export type Portion = {
  readonly isSlice: boolean
  readonly tenant: Tenant
  readonly locationId: string
  readonly held: HeldPricing
  readonly cause: Cause
  readonly of: LaneOrder
}

/** An order that cannot be done at a location. */
export type FailedOrder = { readonly of: LaneOrder; readonly reason: string }

/** What a step does of its orders, and what goes back to the end of the lane. */
export type OrderPlan = {
  readonly portions: readonly Portion[]
  readonly rest: readonly LaneOrder[]
  readonly failed: readonly FailedOrder[]
  /** For locations whose rows take long to cost again: to be done beside the steps. */
  readonly slow: readonly LaneOrder[]
}

/**
 * How much a step does of its orders at a time: location-months until about so many rows, of so many locations at most. Fresh records wait
 * for such a step; a smaller one costs nearly as much.
 */
const orderBudget = { rows: 5_000, locations: 200 }

/** Locations in a message. */
const mostInOrder = 500
/** A location-month costs about as much as so many rows, however few it has. */
const portionRows = 5
/** A month that no other portion of the step lies in costs a statement and a part of the table, about as much as so many rows. */
const newMonthRows = 150
/** So many pieces cost about as much as a row. */
const piecesOfRow = 8

type Target = { readonly locationId: string; readonly held: HeldPricing; readonly months: readonly MonthCount[] }

type Counted = Span & { readonly rows: number }

/** The local months of a location that have rows in the order's span, with about how many; the one that holds the span's start always. */
const monthSpans = ({ from, to }: Order, { held, months }: Target): readonly Counted[] => {
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

/** What is taken of a span at a time: all of it where it has few rows. */
const sliceOf = async (
  db: ClickHouse,
  { one, tenant }: Look,
  { locationId, held }: Target,
  span: Counted,
  most: number,
  isCut: boolean,
) => {
  const isTiered = directions.some(direction => countsEnergy(held.snapshot, direction))
  const isSlice = isTierOrder(one) || isCut || (isTiered && span.rows > most)
  const flows = isSlice && !isTierOrder(one) ? directions.map(direction => ({ tenant, locationId, direction })) : []
  // Rows that share time with the start of a span may begin before it.
  const from = Math.min(span.from, ...(await Promise.all(flows.map(flow => startAcross(db, flow, span.from)))))
  if (span.rows <= most && !(isCut && from < span.from)) return { isSlice, from, to: span.to }
  const start = await startOfRow(db, tenant, locationId, { from, to: span.to }, most)
  return { isSlice, from, to: start === null ? span.to : Math.max(start, from + 1) }
}

/** An order for rows that start in its span; of others, for those that share time with it. */
export const isTierOrder = ({ order }: Pick<LaneOrder, 'order'>): boolean => order.orderKind === 'TIER'

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

/** An order of a step, and those of its locations that the step looks at. */
type Look = { readonly one: LaneOrder; readonly tenant: Tenant; readonly ids: readonly string[] }

/** Look at the first locations of a step's orders; a notice of a source's new revision has none. */
const lookAt = (orders: readonly LaneOrder[], most: number): readonly Look[] => {
  let room = most
  return orders.flatMap(one => {
    const { accountId, liveMode, locationIds } = one.order
    if (accountId === null) return []
    const ids = locationIds.slice(0, room)
    room -= ids.length
    return [{ one, tenant: { accountId, liveMode }, ids }]
  })
}

const earliest = (bounds: readonly (number | null)[]): number | null =>
  bounds.reduce((a, b) => (a === null || b === null ? null : Math.min(a, b)))
const latest = (bounds: readonly (number | null)[]): number | null =>
  bounds.reduce((a, b) => (a === null || b === null ? null : Math.max(a, b)))

/** Count the rows of all locations that are looked at, by month: a statement for each account and mode. */
const countMonths = async (db: ClickHouse, looks: readonly Look[]): Promise<ReadonlyMap<string, readonly MonthCount[]>> => {
  const counts: MonthCount[] = []
  for (const own of Map.groupBy(looks, ({ tenant }) => `${tenant.accountId}/${tenant.liveMode}`).values()) {
    const from = earliest(own.map(({ one }) => one.order.from))
    const to = latest(own.map(({ one }) => one.order.to))
    const ids = [...new Set(own.flatMap(look => look.ids))]
    counts.push(...(await rowsByMonth(db, (own[0] as Look).tenant, ids, from, to)))
  }
  return Map.groupBy(counts, ({ locationId }) => locationId)
}

/** The long rows of all locations that are looked at, in the spans of their orders. */
const longRowsOf = async (db: ClickHouse, looks: readonly Look[]): Promise<ReadonlyMap<string, LongRows>> => {
  const found: LongRows[] = []
  for (const own of Map.groupBy(looks, ({ tenant }) => `${tenant.accountId}/${tenant.liveMode}`).values()) {
    const from = earliest(own.map(({ one }) => one.order.from))
    const to = latest(own.map(({ one }) => one.order.to))
    found.push(...(await longRowsWithin(db, (own[0] as Look).tenant, [...new Set(own.flatMap(look => look.ids))], from, to)))
  }
  return new Map(found.map(one => [one.locationId, one]))
}

/** What bounds how much is done at a time. */
export type PlanBounds = { readonly slices: SliceBounds; readonly load: LoadBounds }

type Lengths = { readonly rows: number; readonly lengthMs: number }

/** Rows that have so many pieces in all, and each of them on average. */
type Pieces = { readonly all: number; readonly ofRow: number }

const piecesOf = (held: HeldPricing, from: number, { rows, lengthMs }: Lengths): Pieces => {
  if (rows === 0) return { all: 0, ofRow: 0 }
  const lengths = { from, to: Number.POSITIVE_INFINITY, lengthMs, longestMs: lengthMs / rows }
  const all = Math.max(...directions.map(direction => edgesAbout(held, direction, lengths)))
  return { all, ofRow: all / rows }
}

const noRows: Lengths = { rows: 0, lengthMs: 0 }

const sumOf = (counts: readonly Lengths[]): Lengths => ({
  rows: counts.reduce((sum, { rows }) => sum + rows, 0),
  lengthMs: counts.reduce((sum, { lengthMs }) => sum + lengthMs, 0),
})

/** How many rows of a location are costed again at a time: fewer than usual where these, or the long ones among them, have many pieces. */
const rowsAtOnce = (of: readonly Pieces[], usual: number, { pieces, perRecord }: LoadBounds): number => {
  let most = usual
  for (const { all, ofRow } of of) if (all > pieces && ofRow >= perRecord) most = Math.min(most, Math.max(1, Math.floor(pieces / ofRow)))
  return most
}

/** The prices of all locations that are looked at, each from the earliest start of its orders on. */
const gatherPrices = (pricing: Pick<PricingBook, 'gather'>, looks: readonly Look[]): ReturnType<PricingBook['gather']> => {
  const asks = new Map<string, PricingAsk>()
  for (const { one, tenant, ids } of looks) {
    for (const locationId of ids) {
      const from = Math.min(one.order.from ?? 0, asks.get(locationId)?.from ?? Number.POSITIVE_INFINITY)
      asks.set(locationId, { ...tenant, locationId, from })
    }
  }
  return pricing.gather([...asks.values()])
}

/**
 * Plan what a step does of its orders: location-months until the budget is used up, at least one; the rest goes back to the end of the
 * lane, so that fresh records never wait for long. Locations whose rows have many pieces are left to slow work, which comes here with `isBeside`
 * and takes some rows of one month at a time.
 */
export const planOrders = async (
  db: ClickHouse,
  pricing: Pick<PricingBook, 'gather' | 'faultOf'>,
  orders: readonly LaneOrder[],
  { slices: bounds, load }: PlanBounds,
  isBeside = false,
): Promise<OrderPlan> => {
  const looks = lookAt(orders, orderBudget.locations)
  const [held, counts, long] = [await gatherPrices(pricing, looks), await countMonths(db, looks), await longRowsOf(db, looks)]
  const portions: Portion[] = []
  const rest: LaneOrder[] = []
  const failed: FailedOrder[] = []
  const slow: LaneOrder[] = []
  const months = new Set<string>()
  let left = orderBudget.rows

  const put = (one: LaneOrder, locationIds: readonly string[], changes: Partial<Order>): void => {
    if (locationIds.length > 0) rest.push({ ...one, order: { ...one.order, ...changes, locationIds } })
  }

  /** Take months of a location until the budget is used up. */
  const take = async (look: Look, target: Target): Promise<void> => {
    const { one, tenant } = look
    const { locationId, held } = target
    const from = one.order.from ?? target.months[0]?.month ?? 0
    const pieces = piecesOf(held, from, sumOf(target.months))
    const most = rowsAtOnce([pieces, piecesOf(held, from, long.get(locationId) ?? noRows)], bounds.rows, load)
    const isCut = most < bounds.rows
    if (isCut && !isBeside) {
      slow.push({ ...one, order: { ...one.order, locationIds: [locationId] } })
      return
    }
    const spans = monthSpans(one.order, target)
    for (const span of spans) {
      if (left <= 0) return put(one, [locationId], { from: span.from })
      const { isSlice, from, to } = await sliceOf(db, look, target, span, most, isCut)
      portions.push({ tenant, locationId, held, cause: { from, to, version: one.version }, of: one, isSlice })
      const month = monthOf(tenant, span)
      const rows = Math.min(span.rows, bounds.rows) * (1 + pieces.ofRow / piecesOfRow)
      left -= isCut ? left : rows + portionRows + (months.has(month) ? 0 : newMonthRows)
      months.add(month)
      if (isCut && !isTierOrder(one)) {
        // Each long row once, however many months it lies in: what follows is done for rows that start there.
        if (to < span.to || span !== spans.at(-1)) put(one, [locationId], { orderKind: 'TIER', from: to })
        return
      }
      if (to === span.to) continue
      if (!isSlice || isTierOrder(one)) return put(one, [locationId], { from: to })
      put(one, [locationId], { orderKind: 'TIER', from: to, to: span.to })
      if (span.to !== one.order.to) put(one, [locationId], { from: span.to })
      return
    }
  }

  for (const look of looks) {
    const { one, ids } = look
    let done = 0
    for (; done < ids.length && left > 0; done += 1) {
      const locationId = ids[done] as string
      const prices = held.get(locationId)
      const fault = prices === undefined ? pricing.faultOf(locationId) : undefined
      if (prices !== undefined) await take(look, { locationId, held: prices, months: counts.get(locationId) ?? [] })
      else if (fault !== undefined) failed.push({ of: one, reason: `${locationId}: ${fault}` })
    }
    put(one, one.order.locationIds.slice(done), {})
  }
  return { portions, rest: joined(rest), failed, slow }
}
