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
  /** Told how many events were published. */
  readonly onPublished: (events: number) => void
}

const pageSize = 500
const restMs = 100

const publishEvent = async ({ log, codec }: EventRelayOptions, event: EventEnvelope): Promise<void> => {
  await log.append(eventTopic, eventPartition(event, log.partitions(eventTopic)), eventMessage(codec, event))
}

type PublishResult = { readonly ids: readonly number[]; readonly failure: unknown }

/** Put the events of one object into their partition, each once the one before it is durable; one that fails holds back those behind it. */
const publishInOrder = async (
  options: EventRelayOptions,
  messages: readonly OutboxMessage[],
): Promise<PublishResult> => {
  const ids: number[] = []
  for (const { id, payload } of messages) {
    try {
      await publishEvent(options, eventOfPayload(payload))
    } catch (failure) {
      return { ids, failure }
    }
    ids.push(id)
  }
  return { ids, failure: null }
}

/**
 * Publish the oldest events that wait in the outbox, those of one object in their order, and delete those that the log holds; gives whether
 * more wait. A crash between the two publishes again, under the same ids. Throws what the log has thrown, once the others are done.
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

/** The relay of events: from the outbox to those who deliver them, within a moment of the change. */
export const eventRelay = (options: EventRelayOptions): LeasedWork => ({
  name: 'event-relay',
  restMs,
  turn: () => publishEvents(options),
})
