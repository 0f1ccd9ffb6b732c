import type { ChunkHeaders } from '../platform/log/chunk-headers.ts'
import type { LaneOrder } from './plan-orders.ts'
import type { LaneRecord, Origin } from './settle.ts'
import type { LaneReading } from './settle-readings.ts'
import type { Step } from './step.ts'

/** What a step brings for one location, to be settled beside the steps that follow. */
export type Portion = {
  readonly accountId: string
  readonly locationId: string
  readonly partition: number
  readonly records: readonly LaneRecord[]
  readonly readings: readonly LaneReading[]
  readonly orders: readonly LaneOrder[]
}

/** `slowChunks`: by account, what receipts of the step wait for its slow portions. */
export type SplitStep = {
  readonly fast: Step
  readonly portions: readonly Portion[]
  readonly slowChunks: ReadonlyMap<string, readonly ChunkHeaders[]>
}

const slowLocations = (step: Step, isBusy: (locationId: string) => boolean, heavy: ReadonlySet<string>): ReadonlySet<string> => {
  const slow = new Set(heavy)
  for (const locationId of step.records.keys()) if (isBusy(locationId)) slow.add(locationId)
  for (const { row } of step.readings) if (isBusy(row.locationId)) slow.add(row.locationId)
  for (const { order } of step.orders) for (const id of order.locationIds) if (isBusy(id)) slow.add(id)
  return slow
}

/** Lay out orders of one location each that turned out to take long. */
export const portionsOfOrders = (orders: readonly LaneOrder[]): readonly Portion[] =>
  [...Map.groupBy(orders, ({ order }) => order.locationIds[0] ?? '')].map(([locationId, own]) => portionOf(locationId, [], [], own))

const receiptKey = (chunkId: string | undefined, batchId: string | null): string => `${chunkId}/${batchId}`

/** The chunks of a step, each with the batches of slow records, by account, and with the others. */
const splitChunks = (chunks: readonly ChunkHeaders[], portions: readonly Portion[]) => {
  const accounts = new Map<string, string>()
  const note = (accountId: string, origin: Origin | null, batchId: string | null): void => {
    accounts.set(receiptKey(origin?.message.headers['chunk'], batchId), accountId)
  }
  for (const { accountId, records, readings } of portions) {
    for (const { origin, part } of records) note(accountId, origin, part.batchId)
    for (const { origin, row } of readings) note(accountId, origin, row.batchId)
  }
  const slow = new Map<string, ChunkHeaders[]>()
  const fast = chunks.map(chunk => {
    for (const [accountId, batches] of Map.groupBy(chunk.batches, ({ batchId }) => accounts.get(receiptKey(chunk.chunkId, batchId)))) {
      if (accountId === undefined) continue
      const own = slow.get(accountId)
      if (own === undefined) slow.set(accountId, [{ ...chunk, batches }])
      else own.push({ ...chunk, batches })
    }
    return { ...chunk, batches: chunk.batches.filter(({ batchId }) => !accounts.has(receiptKey(chunk.chunkId, batchId))) }
  })
  return { fast, slow }
}

const withLocations = (one: LaneOrder, locationIds: readonly string[]): LaneOrder => ({ ...one, order: { ...one.order, locationIds } })

const portionsOf = (step: Step, slow: ReadonlySet<string>): readonly Portion[] => {
  const readingsOf = Map.groupBy(step.readings, ({ row }) => row.locationId)
  const ordersOf = new Map<string, LaneOrder[]>()
  for (const one of step.orders) {
    for (const id of new Set(one.order.locationIds)) {
      if (!slow.has(id)) continue
      const own = ordersOf.get(id)
      if (own === undefined) ordersOf.set(id, [withLocations(one, [id])])
      else own.push(withLocations(one, [id]))
    }
  }
  return [...slow].map(id => portionOf(id, step.records.get(id) ?? [], readingsOf.get(id) ?? [], ordersOf.get(id) ?? []))
}

const portionOf = (
  locationId: string,
  records: readonly LaneRecord[],
  readings: readonly LaneReading[],
  orders: readonly LaneOrder[],
): Portion => {
  const origin = records[0]?.origin ?? readings[0]?.origin ?? orders[0]?.origin
  const accountId = records[0]?.part.accountId ?? readings[0]?.row.accountId ?? orders[0]?.order.accountId ?? ''
  return { accountId, locationId, partition: origin?.lane.partition ?? 0, records, readings, orders }
}

/**
 * Split a step into what is settled at once, and portions of locations whose work takes long: those that are `heavy`, and those of which
 * work of earlier steps is still under way. All that concerns a location goes with its portion, so its order stays.
 */
export const splitStep = (step: Step, isBusy: (locationId: string) => boolean, heavy: ReadonlySet<string>): SplitStep => {
  const slow = slowLocations(step, isBusy, heavy)
  if (slow.size === 0) return { fast: step, portions: [], slowChunks: new Map() }
  const portions = portionsOf(step, slow)
  const chunks = splitChunks(step.chunks, portions)
  const orders = step.orders.flatMap(one => {
    const { locationIds } = one.order
    const rest = locationIds.filter(id => !slow.has(id))
    return rest.length === 0 && locationIds.length > 0 ? [] : [withLocations(one, rest)]
  })
  const fast: Step = {
    ...step,
    records: new Map([...step.records].filter(([locationId]) => !slow.has(locationId))),
    readings: step.readings.filter(({ row }) => !slow.has(row.locationId)),
    chunks: chunks.fast,
    orders,
  }
  return { fast, portions, slowChunks: chunks.slow }
}
