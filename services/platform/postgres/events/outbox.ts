import { randomUUID } from 'node:crypto'
import sql from 'sql-template-tag'
import type { Tenant } from '../../../domain/tenant.ts'
import { recordTopic, type TopicName } from '../../log/log.ts'
import { toTimestamp } from '../column.ts'
import { type Query, readRows } from '../database.ts'

/**
 * Recost request of a change at locations: recalculate the costs of [from, to) with a pricing revision of at least
 * `revision`. Instants in ms; null is open. Changes of market prices use `pricing/price-fan-outs.ts`.
 */
export type OutboxRecostRequest = Tenant & {
  readonly id: string
  readonly locations: readonly string[]
  readonly revision: number
  readonly from: number | null
  readonly to: number | null
}

/** Message that waits for its publication. `payload` is JSON text; `key` decides the partition. */
export type OutboxMessage = {
  readonly id: number
  readonly topic: TopicName
  readonly key: string
  readonly accountId: string | null
  readonly liveMode: boolean | null
  readonly payload: string
}

/** Create a recost request with a new id. */
export const newRecostRequest = (recostRequest: Omit<OutboxRecostRequest, 'id'>): OutboxRecostRequest => ({
  id: randomUUID(),
  ...recostRequest,
})

/** JSON of a recost request in the outbox. */
type RecostPayload = Omit<OutboxRecostRequest, 'accountId' | 'liveMode'> & {
  readonly account_id: string
  readonly live_mode: boolean
}

const payloadOf = ({ accountId, liveMode, locations, revision, from, to, id }: OutboxRecostRequest): string => {
  const payload: RecostPayload = { id, account_id: accountId, live_mode: liveMode, locations, revision, from, to }
  return JSON.stringify(payload)
}

/** Read the payload of a recost request. */
export const recostRequestOf = (payload: string): OutboxRecostRequest => {
  const { account_id: accountId, live_mode: liveMode, ...request } = JSON.parse(payload) as RecostPayload
  return { ...request, accountId, liveMode }
}

/** Write recost requests to the outbox, in the transaction of the change. Returns the messages in the same order. */
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
      payload: payloadOf(recostRequest),
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
 * Read the oldest messages of a topic, up to `limit`. There is no cursor, so a change that commits late is found too.
 * One process at a time reads, under a lease. A message that was published but not deleted is read again.
 */
export const readOutbox = (operator: Query, topic: TopicName, limit: number): Promise<readonly OutboxMessage[]> =>
  readRows(operator)(sql`
    select id, topic, key, account_id as "accountId", live_mode as "liveMode", payload
    from outbox where topic = ${topic} order by id limit ${limit}`)

/** Delete messages that the log acknowledged. */
export const deleteOutbox = async (operator: Query, ids: readonly number[]): Promise<void> => {
  if (ids.length > 0) await operator(sql`delete from outbox where id = any(${ids})`)
}
