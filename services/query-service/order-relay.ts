import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { Order } from '../platform/log/messages.ts'
import { laneKey, partitionOf } from '../platform/log/partition.ts'
import type { Database } from '../platform/postgres/database.ts'
import { takeLease } from '../platform/postgres/leases.ts'
import { deleteOutbox, type OutboxMessage, takeOutbox } from '../platform/postgres/outbox.ts'
import type { Logger } from '../platform/telemetry.ts'

/** Brings orders from the outbox into their lanes, at least once; a repeated order does no harm. */
export type OrderRelay = AsyncDisposable & {
  /** Bring the orders of a change that this process has just committed. Never rejects: what the log does not take waits for the sweep. */
  readonly publish: (messages: readonly OutboxMessage[]) => Promise<void>
}

export type OrderRelayOptions = {
  readonly database: Database
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeLane'>
  readonly generation: () => number
  readonly logger: Pick<Logger, 'warn'>
}

const topic = 'meter.records.v1'
const leaseMs = 10_000
const restMs = 1_000
const pageSize = 500

/** The order as it stands in the outbox. */
type Payload = {
  readonly id: string
  readonly account_id: string | null
  readonly live_mode: boolean | null
  readonly locations: readonly string[]
  readonly source: string | null
  readonly revision: number
  readonly from: number | null
  readonly to: number | null
}

const orderOf = (payload: Payload): Order => ({
  kind: 'order',
  orderId: payload.id,
  orderKind: 'RE_PRICE',
  accountId: payload.account_id,
  liveMode: payload.live_mode ?? true,
  locationIds: payload.locations,
  locationRevision: payload.source === null ? payload.revision : null,
  sourceId: payload.source,
  priceRevision: payload.source === null ? null : payload.revision,
  from: payload.from,
  to: payload.to,
  objectId: null,
  detail: '',
})

/** The lanes that an order concerns, with the locations of each; an order of a market source concerns every lane. */
const lanesOf = (order: Order, partitions: number): ReadonlyMap<number, readonly string[]> => {
  if (order.sourceId !== null) return new Map(Array.from({ length: partitions }, (_, lane) => [lane, order.locationIds]))
  return Map.groupBy(order.locationIds, locationId => partitionOf(laneKey(order.accountId ?? '', locationId), partitions))
}

/**
 * Start the relay. Orders of this process go at once; a sweep every second, by one process at a time, brings what a crash left behind.
 * Rows are taken without a cursor and deleted by the ids that were published, so that a change that commits late is found all the same.
 */
export const startOrderRelay = ({ database, log, codec, generation, logger }: OrderRelayOptions): OrderRelay => {
  const stopping = new AbortController()
  const holder = randomUUID()

  const append = async (order: Order): Promise<void> => {
    const headers = toHeaders({ generation: generation(), chunkId: order.orderId, batches: [] })
    const lanes = [...lanesOf(order, log.partitions(topic))]
    await Promise.all(
      lanes.map(([lane, locationIds]) =>
        log.append(topic, lane, { key: order.orderId, value: codec.encodeLane({ ...order, locationIds }), headers }),
      ),
    )
  }

  const send = async (messages: readonly OutboxMessage[]): Promise<void> => {
    const orders = messages.filter(message => message.topic === topic)
    for (const message of orders) await append(orderOf(JSON.parse(message.payload) as Payload))
    await deleteOutbox(
      database.operator,
      orders.map(({ id }) => id),
    )
  }

  const sweep = async (): Promise<boolean> => {
    if ((await takeLease(database.operator, 'order-relay', holder, leaseMs)) === null) return false
    const messages = await takeOutbox(database.operator, topic, pageSize)
    await send(messages)
    return messages.length === pageSize
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        if (await sweep()) continue
      } catch (error) {
        logger.warn({ err: error }, 'orders wait in the outbox')
      }
      await sleep(restMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    publish: messages => send(messages).catch(error => logger.warn({ err: error }, 'an order waits in the outbox')),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
