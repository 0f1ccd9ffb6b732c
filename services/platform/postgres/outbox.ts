import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { TopicName } from '../log/log.ts'
import { toTimestamp } from './column.ts'
import type { Tables } from './tables.ts'

/**
 * What a change of a location's prices asks of its lane: cost the span again, with a snapshot of at least this revision.
 * `from` inclusive, `to` exclusive (ms); null is open. Changes of market prices go their own way: `price-fan-outs.ts`.
 */
export type Order = {
  readonly id: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly locations: readonly string[]
  readonly revision: number
  readonly from: number | null
  readonly to: number | null
}

/** A message that is owed to the log. `payload` is JSON text, `key` decides the lane. */
export type OutboxMessage = {
  readonly id: number
  readonly topic: TopicName
  readonly key: string
  readonly accountId: string | null
  readonly liveMode: boolean | null
  readonly payload: string
}

const orderTopic: TopicName = 'meter.records.v1'

/** Give a new order its id. */
export const newOrder = (order: Omit<Order, 'id'>): Order => ({ id: randomUUID(), ...order })

/** Write orders into the outbox, in the transaction of the change. Gives the messages in the same order, for publishing at once after the commit. */
export const writeOrders = async (query: Kysely<Tables>, orders: readonly Order[], at: number): Promise<readonly OutboxMessage[]> => {
  if (orders.length === 0) return []
  const messages = orders.map(order => ({
    topic: orderTopic,
    key: `${order.accountId}:${order.locations[0]}`,
    accountId: order.accountId,
    liveMode: order.liveMode,
    payload: JSON.stringify({
      id: order.id,
      account_id: order.accountId,
      live_mode: order.liveMode,
      locations: order.locations,
      revision: order.revision,
      from: order.from,
      to: order.to,
    }),
  }))
  const { rows } = await sql<{ id: number }>`
    insert into outbox (topic, key, account_id, live_mode, payload, time_created)
    select ${orderTopic}, key, account_id, live_mode, payload::json, ${toTimestamp(at)}
    from unnest(${messages.map(({ key }) => key)}::text[], ${messages.map(({ accountId }) => accountId)}::text[],
      ${messages.map(({ liveMode }) => liveMode)}::boolean[], ${messages.map(({ payload }) => payload)}::text[])
      with ordinality as m(key, account_id, live_mode, payload, place)
    order by place returning id`.execute(query)
  return messages.map((message, index) => ({ id: rows[index]?.id ?? 0, ...message }))
}

/**
 * Read the oldest messages that wait, up to `limit`, of one topic. Without a cursor: a change that commits late is found all the same.
 * One reader at a time, under a lease; a message that was published but not yet deleted comes again.
 */
export const takeOutbox = async (operator: Kysely<Tables>, topic: TopicName, limit: number): Promise<readonly OutboxMessage[]> => {
  const { rows } = await sql<OutboxMessage>`
    select id, topic, key, account_id as "accountId", live_mode as "liveMode", payload
    from outbox where topic = ${topic} order by id limit ${limit}`.execute(operator)
  return rows
}

/** Delete messages that the log has acknowledged. */
export const deleteOutbox = async (operator: Kysely<Tables>, ids: readonly number[]): Promise<void> => {
  if (ids.length > 0) await sql`delete from outbox where id = any(${ids})`.execute(operator)
}
