import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import type { MeterReadingRow } from '../platform/clickhouse/meter-readings.ts'
import type { BatchFailureRow } from '../platform/clickhouse/receipts.ts'
import { inTurns, openTurns } from '../platform/event-loop-turn.ts'
import type { Order } from '../platform/log/messages.ts'
import type { HeldPricing, PricingAsk, PricingBook } from '../platform/pricing-book.ts'
import { countBook, type OwedSpan } from './count-book.ts'
import type { PoisonRecord } from './dead-letter.ts'
import { estimateBook } from './estimate-book.ts'
import { type Cause, directions, type LaneGroup, newestOf } from './lane-group.ts'
import { type FailedOrder, type LaneOrder, type OrderPlan, type Portion, planOrders } from './plan-orders.ts'
import { type RowHold, rowHold } from './row-hold.ts'
import { isCounted, isLong, type LaneRecord, settleAlone, settleInTurns } from './settle.ts'
import { type LaneReading, type NewestReadings, settleReadings } from './settle-readings.ts'
import { settleOrderedSlice, usualSlices } from './settle-slices.ts'
import { shareOrders } from './share-orders.ts'
import { usualLoad } from './step-load.ts'

/** What a step writes: `readings` last of all, behind `failures`, because they are judged from what was stored before. */
export type Settled = {
  /** Rows that are not stored yet. */
  readonly rows: readonly MeterCostRow[]
  /** How many were costed in all. */
  readonly costed: { readonly rows: number; readonly pieces: number }
  readonly poison: readonly PoisonRecord[]
  readonly readings: readonly MeterReadingRow[]
  readonly failures: readonly BatchFailureRow[]
  /** What is left of the step's orders. */
  readonly rest: readonly LaneOrder[]
  /** Orders that take long, of one location each: to be done beside the steps. */
  readonly slow: readonly LaneOrder[]
  readonly failedOrders: readonly FailedOrder[]
}

/** What a step brings. */
export type Arrived = {
  readonly records: ReadonlyMap<string, readonly LaneRecord[]>
  readonly readings: readonly LaneReading[]
  readonly orders: readonly LaneOrder[]
}

/**
 * `stored` settles once the rows of the step before are stored: rows are read after it. `store` stores rows of this one, behind those, when
 * their pieces are too many to be held. `canPutBack`: what a step does not do of its orders goes back to the lane; else it does all of them.
 */
export type SettleMeans = {
  readonly stored: Promise<void>
  readonly store: (rows: readonly MeterCostRow[]) => Promise<void>
  readonly canPutBack: boolean
  /** It is slow work, and does the orders that take long. */
  readonly isBeside?: boolean
}

/** Settles steps. Several may be under way if no location is in two of them. */
export type Settler = {
  readonly settle: (arrived: Arrived, means: SettleMeans) => Promise<Settled>
  /** The newest readings that it knows of. */
  readonly newest: NewestReadings
  /** Forget what was gathered: the last step did not reach the store. */
  readonly drop: () => void
}

type Records = Arrived['records']
type Held = ReadonlyMap<string, HeldPricing>
type Groups = Map<string, LaneGroup & { readonly records: LaneRecord[]; readonly causes: Cause[]; hasEstimates: boolean }>
type Building = {
  readonly hold: RowHold
  readonly poison: PoisonRecord[]
  readonly failedOrders: FailedOrder[]
  readonly owed: LaneOrder[]
  readonly slow: LaneOrder[]
  readonly isBeside: boolean
}

/** Cost a record that stands alone; null, and it is poison, where that throws. Of a long one others run meanwhile. */
const tryAlone = (entry: LaneRecord, prices: HeldPricing, { poison }: Building): MeterCostRow | Promise<MeterCostRow | null> | null => {
  if (isLong(entry)) return tryLong(entry, prices, poison)
  try {
    return settleAlone(entry, prices)
  } catch (error) {
    poison.push({ entry, code: 'cost_failed', reason: String(error) })
    return null
  }
}

const tryLong = async (entry: LaneRecord, prices: HeldPricing, poison: PoisonRecord[]): Promise<MeterCostRow | null> => {
  try {
    return (await inTurns(settleInTurns(entry, prices))).row
  } catch (error) {
    poison.push({ entry, code: 'cost_failed', reason: String(error) })
    return null
  }
}

/** So many records are looked at before the time is. */
const recordsAtOnce = 64

/** Why the records of a location have no prices. */
const unpriceable = (pricing: PricingBook, locationId: string): { readonly code: string; readonly reason: string } => {
  const fault = pricing.faultOf(locationId)
  return fault === undefined
    ? { code: 'location_unknown', reason: `${locationId} is not in the registry` }
    : { code: 'prices_failed', reason: `${locationId}: ${fault}` }
}

const asksOf = (records: Records): readonly PricingAsk[] =>
  [...records].map(([locationId, entries]) => {
    const { accountId, liveMode } = (entries[0] as LaneRecord).part
    let from = Number.POSITIVE_INFINITY
    for (const { record } of entries) if (record.start < from) from = record.start
    return { accountId, liveMode, locationId, from }
  })

const withIntervals = (records: Records, intervals: readonly LaneRecord[]): Records => {
  if (intervals.length === 0) return records
  const all = new Map<string, readonly LaneRecord[]>(records)
  for (const [locationId, own] of Map.groupBy(intervals, ({ record }) => record.locationId)) {
    all.set(locationId, [...(records.get(locationId) ?? []), ...own])
  }
  return all
}

const groupOf = (groups: Groups, of: Pick<LaneGroup, 'tenant' | 'locationId' | 'direction' | 'held'>) => {
  const key = `${of.locationId}/${of.direction}`
  const known = groups.get(key)
  if (known !== undefined) return known
  const group = { ...of, records: [], causes: [], hasEstimates: false }
  groups.set(key, group)
  return group
}

/** The order for what records of a group have changed too far behind them to be costed again with them. */
const tierOrderOf = ({ group, span }: OwedSpan): LaneOrder => {
  const { tenant, locationId, records } = group
  // The interval that a reading ends may have no message of its own; the one that it opens does.
  const origin = records.find(one => one.origin !== null)?.origin
  if (origin === undefined || origin === null) throw new Error(`no record of the step tells the lane of ${locationId}`)
  const order: Order = {
    ...{ kind: 'order', orderKind: 'TIER', orderId: `tier-${origin.message.offset}-${locationId}`, ...tenant, ...span },
    ...{ locationIds: [locationId], locationRevision: null, sourceId: null, priceRevision: null, objectId: null, detail: '' },
  }
  return { order, version: newestOf(records), origin }
}

/** Make a settler on the stored rows and the book of prices. */
export const createSettler = (db: ClickHouse, pricing: PricingBook, bounds = usualSlices, load = usualLoad): Settler => {
  const counts = countBook(db, pricing, bounds)
  const estimates = estimateBook(db)
  const newest: NewestReadings = new Map()

  /**
   * Cost what stands alone; gather the rest by location and direction. Records of a location that an order of the step costs again go
   * with it: else it would write their stored forms behind them.
   */
  const settleRecords = async (
    records: Records,
    orders: readonly LaneOrder[],
    held: Held,
    settled: Building,
    groups: Groups,
  ): Promise<void> => {
    const ordered = new Set(orders.flatMap(({ order }) => order.locationIds))
    const turns = openTurns()
    let looked = 0
    for (const [locationId, entries] of records) {
      const prices = held.get(locationId)
      for (const entry of entries) {
        looked += 1
        if (looked % recordsAtOnce === 0 && turns.isOver()) await turns.next()
        if (prices === undefined) {
          settled.poison.push({ entry, ...unpriceable(pricing, locationId) })
          continue
        }
        const hasEstimates = estimates.has(entry.record)
        if (!hasEstimates && !ordered.has(locationId) && entry.version === entry.sourceVersion && !isCounted(prices, entry)) {
          const costed = tryAlone(entry, prices, settled)
          const row = costed instanceof Promise ? await costed : costed
          if (row !== null && settled.hold.add(row)) await settled.hold.store()
          continue
        }
        const { accountId, liveMode } = entry.part
        const direction = entry.record.tariffDirection
        const group = groupOf(groups, { tenant: { accountId, liveMode }, locationId, direction, held: prices })
        group.records.push(entry)
        group.hasEstimates ||= hasEstimates
      }
    }
  }

  const settleGroups = async (groups: Groups, portions: readonly Portion[], stored: Promise<void>, settled: Building): Promise<void> => {
    if (groups.size === 0) return
    const { failed, owed } = await counts.settle([...groups.values()], stored, settled.hold)
    settled.owed.push(...owed.map(tierOrderOf))
    for (const { group, reason } of failed) {
      for (const entry of group.records) settled.poison.push({ entry, code: 'cost_failed', reason })
      const ordered = portions.filter(({ cause }) => group.causes.includes(cause))
      for (const { of } of ordered) settled.failedOrders.push({ of, reason: `${group.locationId}: ${reason}` })
    }
  }

  /** Prices older than an order says are dropped before anything is costed. */
  const heed = ({ order }: LaneOrder): void => {
    if (order.sourceId !== null && order.priceRevision !== null) pricing.raiseSource(order.sourceId, order.priceRevision)
    for (const locationId of order.locationIds) {
      pricing.raiseLocation(locationId, order.locationRevision ?? 0)
      // What is owed changes no count.
      if (order.orderKind !== 'TIER') counts.dropLocation(locationId)
    }
  }

  const plan = async (orders: readonly LaneOrder[], stored: Promise<void>, groups: Groups, isBeside: boolean): Promise<OrderPlan> => {
    if (orders.length === 0) return { portions: [], rest: [], failed: [], slow: [] }
    await stored
    const planned = await planOrders(db, pricing, orders, { slices: bounds, load }, isBeside)
    for (const { tenant, locationId, held, cause, isSlice } of planned.portions) {
      if (isSlice) continue
      for (const direction of directions) groupOf(groups, { tenant, locationId, direction, held }).causes.push(cause)
    }
    return planned
  }

  /** Slices of months too large to be held read what all else in the step has changed. */
  const settleOrderedSlices = async (portions: readonly Portion[], settled: Building): Promise<void> => {
    for (const { tenant, locationId, held, cause, of } of portions.filter(({ isSlice }) => isSlice)) {
      for (const direction of directions) {
        await settled.hold.store()
        const reason = await settleOrderedSlice({ db, pricing, hold: settled.hold, bounds }, { tenant, locationId, direction, held }, cause)
        if (reason !== null) settled.failedOrders.push({ of, reason: `${locationId}: ${reason}` })
      }
    }
  }

  /** Do orders, with the records of a step that go with them, and give what is left of them. */
  const settleOrders = async (
    orders: readonly LaneOrder[],
    stored: Promise<void>,
    groups: Groups,
    settled: Building,
  ): Promise<readonly LaneOrder[]> => {
    const { portions, rest, failed, slow } = await plan(orders, stored, groups, settled.isBeside)
    settled.failedOrders.push(...failed)
    settled.slow.push(...slow)
    await settleGroups(groups, portions, stored, settled)
    await settleOrderedSlices(portions, settled)
    return shareOrders([...rest, ...settled.owed.splice(0)])
  }

  return {
    newest,
    settle: async ({ records, readings, orders }, { stored, store, canPutBack, isBeside = false }) => {
      if (readings.length > 0) await stored
      const metered = await settleReadings(db, readings, newest)
      const all = withIntervals(records, metered.intervals)
      await estimates.learn(all)
      for (const order of orders) heed(order)
      const hold = rowHold(async rows => {
        await stored
        await store(rows)
      })
      const settled: Building = { hold, poison: [], failedOrders: [], owed: [], slow: [], isBeside }
      const groups: Groups = new Map()
      await settleRecords(all, orders, await pricing.gather(asksOf(all)), settled, groups)
      let rest = await settleOrders(orders, stored, groups, settled)
      while (rest.length > 0 && !canPutBack) {
        // The next part reads what this one has costed.
        await hold.store()
        rest = await settleOrders(rest, stored, new Map(), settled)
      }
      const { poison, failedOrders, slow } = settled
      const { readings: held, failures } = metered
      return { rows: hold.rows(), costed: hold.added(), poison, failedOrders, readings: held, failures, rest, slow }
    },
    drop: () => {
      counts.drop()
      estimates.drop()
      newest.clear()
    },
  }
}
