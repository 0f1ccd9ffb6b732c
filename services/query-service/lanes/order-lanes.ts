import { randomUUID } from 'node:crypto'
import { toHeaders } from '../../platform/log/chunk-headers.ts'
import type { Codec } from '../../platform/log/codec.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Order } from '../../platform/log/messages.ts'
import { laneKey, partitionOf } from '../../platform/log/partition.ts'
import type { SourceRevision } from '../../platform/postgres/pricing-input.ts'

/** What orders travel by. */
export type OrderLanes = {
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeLane'>
  readonly generation: () => number
}

/** A span to be priced again at locations of one account and mode. */
export type RePrice = Pick<Order, 'liveMode' | 'locationIds' | 'locationRevision' | 'sourceId' | 'priceRevision' | 'from' | 'to'> & {
  readonly orderId?: string
  readonly accountId: string
}

const topic = 'meter.records.v1'

/** The lanes of some locations of an account, with the locations of each. */
const lanesOf = (accountId: string, locationIds: readonly string[], partitions: number): ReadonlyMap<number, readonly string[]> =>
  Map.groupBy(locationIds, locationId => partitionOf(laneKey(accountId, locationId), partitions))

/**
 * Put an order into the lanes of its locations, at most `most` locations in a message; resolves once all of it is durable. Rejects with what
 * the log throws: a part may stand in its lane then, and putting all of it again does no harm.
 */
export const putRePrice = async ({ log, codec, generation }: OrderLanes, order: RePrice, most = 500): Promise<void> => {
  const { orderId = randomUUID() } = order
  const headers = toHeaders({ generation: generation(), chunkId: orderId, batches: [] })
  const put = (lane: number, locationIds: readonly string[]): Promise<number> => {
    const message: Order = { ...order, kind: 'order', orderKind: 'RE_PRICE', orderId, locationIds, objectId: null, detail: '' }
    return log.append(topic, lane, { key: orderId, value: codec.encodeLane(message), headers })
  }
  const lanes = [...lanesOf(order.accountId, order.locationIds, log.partitions(topic))]
  await Promise.all(
    lanes.flatMap(([lane, ids]) =>
      Array.from({ length: Math.ceil(ids.length / most) }, (_, part) => put(lane, ids.slice(part * most, (part + 1) * most))),
    ),
  )
}

/** Tell every lane that a source has a new revision of its prices: an order without locations. */
export const putPriceNotice = async ({ log, codec, generation }: OrderLanes, { sourceId, revision }: SourceRevision): Promise<void> => {
  const orderId = randomUUID()
  const headers = toHeaders({ generation: generation(), chunkId: orderId, batches: [] })
  const unbound = {
    accountId: null,
    liveMode: true,
    locationIds: [],
    locationRevision: null,
    from: null,
    to: null,
    objectId: null,
    detail: '',
  }
  const value = codec.encodeLane({ ...unbound, kind: 'order', orderKind: 'RE_PRICE', orderId, sourceId, priceRevision: revision })
  const lanes = Array.from({ length: log.partitions(topic) }, (_, lane) => lane)
  await Promise.all(lanes.map(lane => log.append(topic, lane, { key: orderId, value, headers })))
}
