import type { Codec } from '../platform/log/avro/codec.ts'
import { eventMessage, eventOfPayload, eventPartition } from '../platform/log/event-message.ts'
import { eventTopic, type Log } from '../platform/log/log.ts'
import type { EventEnvelope } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { deleteOutbox, type OutboxMessage, readOutbox } from '../platform/postgres/events/outbox.ts'
import type { LeasedWork } from '../platform/role-module.ts'

export type EventRelayOptions = {
  readonly database: Pick<Database, 'operator'>
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeEvent'>
  /** Called with the number of published events. */
  readonly onPublished: (events: number) => void
}

const pageSize = 500
const restMs = 100

const publishEvent = async (
  { log, codec }: EventRelayOptions,
  event: EventEnvelope,
  outboxId: number,
): Promise<void> => {
  await log.append(eventTopic, eventPartition(event, log.partitions(eventTopic)), eventMessage(codec, event, outboxId))
}

type PublishResult = { readonly ids: readonly number[]; readonly failure: unknown }

/**
 * Publish the events of one object in order. Each event waits until the one before it is durable. After a failure the
 * rest stay in the outbox.
 */
const publishInOrder = async (
  options: EventRelayOptions,
  messages: readonly OutboxMessage[],
): Promise<PublishResult> => {
  const ids: number[] = []
  for (const { id, payload } of messages) {
    try {
      await publishEvent(options, eventOfPayload(payload), id)
    } catch (failure) {
      return { ids, failure }
    }
    ids.push(id)
  }
  return { ids, failure: null }
}

/**
 * Publish the oldest events of the outbox and delete those that the log acknowledged. Events of one object stay in
 * order.
 * Returns true if more events may be waiting. After a crash the relay publishes events again, with the same ids.
 * Throws the first error of the log, after all other events are published.
 * Source: docs/rules/events-and-webhooks.md #publication; docs/architecture.md #outbox-and-leases.
 */
export const publishEvents = async (options: EventRelayOptions, limit = pageSize): Promise<boolean> => {
  const messages = await readOutbox(options.database.operator, eventTopic, limit)
  if (messages.length === 0) return false
  const objects = Map.groupBy(messages, ({ key }) => key)
  const results = await Promise.all([...objects.values()].map(group => publishInOrder(options, group)))
  const ids = results.flatMap(one => one.ids)
  await deleteOutbox(options.database.operator, ids)
  options.onPublished(ids.length)
  const failedResult = results.find(({ failure }) => failure !== null)
  if (failedResult !== undefined) throw failedResult.failure
  return messages.length === limit
}

/** Work that publishes events from the outbox, within 0.1 s of their change. */
export const eventRelay = (options: EventRelayOptions): LeasedWork => ({
  name: 'event-relay',
  restMs,
  turn: () => publishEvents(options),
})
