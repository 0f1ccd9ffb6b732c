import { randomUUID } from 'node:crypto'
import sql from 'sql-template-tag'
import { recordTopic, type TopicName } from '../../log/log.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'

/**
 * What a change of a location's prices asks of its lane: cost the span again, with a snapshot of at least this revision.
 * `from` inclusive, `to` exclusive (ms); null is open. Changes of market prices go their own way: `price-fan-outs.ts`.
 */
export type OutboxRecostRequest = {
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

/** Give a new order its id. */
export const newRecostRequest = (recostRequest: Omit<OutboxRecostRequest, 'id'>): OutboxRecostRequest => ({
  id: randomUUID(),
  ...recostRequest,
})

/** Write orders into the outbox, in the transaction of the change. Gives the messages in the same order, for publishing at once after the commit. */
export const writeRecostRequests = async (
  query: Query,
  recostRequests: readonly OutboxRecostRequest[],
  at: number,
): Promise<readonly OutboxMessage[]> => {
  if (recostRequests.length === 0) return []
  const messages = recostRequests.map(
    (recostRequest): Omit<OutboxMessage, 'id'> => ({
      topic: recordTopic,
      key: `${recostRequest.accountId}:${recostRequest.locations[0]}`,
      accountId: recostRequest.accountId,
      liveMode: recostRequest.liveMode,
      payload: JSON.stringify({
        id: recostRequest.id,
        account_id: recostRequest.accountId,
        live_mode: recostRequest.liveMode,
        locations: recostRequest.locations,
        revision: recostRequest.revision,
        from: recostRequest.from,
        to: recostRequest.to,
      }),
    }),
  )
  const { rows } = await query<{ id: number }>(sql`
    insert into outbox (topic, key, account_id, live_mode, payload, time_created)
    select ${recordTopic}, key, account_id, live_mode, payload::json, ${toTimestamp(at)}
    from unnest(${messages.map(({ key }) => key)}::text[], ${messages.map(({ accountId }) => accountId)}::text[],
      ${messages.map(({ liveMode }) => liveMode)}::boolean[], ${messages.map(({ payload }) => payload)}::text[])
      with ordinality as m(key, account_id, live_mode, payload, place)
    order by place returning id`)
  return messages.map((message, index) => ({ id: rows[index]?.id ?? 0, ...message }))
}

/**
 * Read the oldest messages that wait, up to `limit`, of one topic. Without a cursor: a change that commits late is found all the same.
 * One reader at a time, under a lease; a message that was published but not yet deleted comes again.
 */
export const readOutbox = async (
  operator: Query,
  topic: TopicName,
  limit: number,
): Promise<readonly OutboxMessage[]> => {
  const { rows } = await operator<OutboxMessage>(sql`
    select id, topic, key, account_id as "accountId", live_mode as "liveMode", payload
    from outbox where topic = ${topic} order by id limit ${limit}`)
  return rows
}

/** Delete messages that the log has acknowledged. */
export const deleteOutbox = async (operator: Query, ids: readonly number[]): Promise<void> => {
  if (ids.length > 0) await operator(sql`delete from outbox where id = any(${ids})`)
}
