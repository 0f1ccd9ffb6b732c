import { setTimeout as sleep } from 'node:timers/promises'
import { matchesAnyFilter } from '../domain/event-types.ts'
import { tenantKey } from '../domain/tenant.ts'
import { isFailure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { outboxIdOf } from '../platform/log/event-message.ts'
import { groupCommit } from '../platform/log/group-commit.ts'
import { type Assignment, eventTopic, type Log, type StoredMessage } from '../platform/log/log.ts'
import type { EventEnvelope } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  type DeliveryDraft,
  type EndpointSubscription,
  insertDeliveries,
  readSubscriptions,
} from '../platform/postgres/webhooks/webhook-queue.ts'
import type { Logger } from '../platform/telemetry/logger.ts'

export type FanOutOptions = {
  readonly log: Pick<Log, 'subscribe'>
  readonly codec: Pick<Codec, 'decodeEvent'>
  readonly database: Pick<Database, 'operator'>
  readonly logger: Pick<Logger, 'error'>
  readonly at: () => number
  /** Called with the endpoints that have new deliveries. */
  readonly onQueued: (endpointIds: readonly string[]) => void
}

/** Consumer group that reads the events. */
const group = 'webhook-worker'

const readLimits = { maxMessages: 500, maxBytes: 1_048_576 }
const maxBackoffMs = 5_000

/** An event of a partition; `outboxId`: its number in the outbox, null in messages without it. */
export type NumberedEvent = EventEnvelope & { readonly outboxId: number | null }

/** Clocks of processes can differ by this much: an endpoint also receives older events, if they have no number. */
const clockDifferenceMs = 5_000

/** The numbers decide, because a clock can change between the creation of the endpoint and the event. */
const isAfterCreation = ({ outboxId, timeCreated }: NumberedEvent, endpoint: EndpointSubscription): boolean =>
  outboxId === null ? timeCreated + clockDifferenceMs >= endpoint.createdAt : outboxId > endpoint.outboxId

/**
 * Return the deliveries of events, in the order of the events. An event has one delivery for each endpoint of its
 * account and mode that accepts its type and existed before the event.
 */
export const deliveriesOf = (
  events: readonly NumberedEvent[],
  subscriptions: readonly EndpointSubscription[],
): readonly DeliveryDraft[] => {
  const byTenant = Map.groupBy(subscriptions, tenantKey)
  return events.flatMap(event =>
    (byTenant.get(tenantKey(event)) ?? [])
      .filter(one => matchesAnyFilter(one.eventTypes, event.type) && isAfterCreation(event, one))
      .map(({ accountId, liveMode, endpointId }) => ({
        accountId,
        liveMode,
        endpointId,
        eventId: event.eventId,
        eventType: event.type,
        bytes: event.data.length,
      })),
  )
}

/** Write the deliveries of several partitions together, in two statements. */
const deliveryWriter = ({ database, at, onQueued }: FanOutOptions) =>
  groupCommit<readonly NumberedEvent[], null>(async batches => {
    const events = batches.flat()
    const tenants = new Map(
      events.map(({ accountId, liveMode }) => [tenantKey({ accountId, liveMode }), { accountId, liveMode }]),
    )
    const drafts = deliveriesOf(events, await readSubscriptions(database.operator, [...tenants.values()]))
    await insertDeliveries(database.operator, drafts, at())
    onQueued([...new Set(drafts.map(({ endpointId }) => endpointId))])
    return batches.map(() => null)
  }, 16)

/**
 * Decode an event. An event that cannot be decoded is logged and skipped; an unavailable schema registry is an error.
 */
const decode = async (
  { codec, logger }: FanOutOptions,
  { value, headers, offset }: StoredMessage,
  { partition }: Assignment,
): Promise<readonly NumberedEvent[]> => {
  try {
    return [{ ...(await codec.decodeEvent(value)), outboxId: outboxIdOf(headers) }]
  } catch (error) {
    if (isFailure(error) && error.retriable) throw error
    logger.error({ err: error, partition, offset }, 'Event cannot be decoded, skipped')
    return []
  }
}

type FanOut = {
  readonly options: FanOutOptions
  readonly stopping: AbortController
  readonly batches: ReturnType<typeof deliveryWriter>
}

const runTurn = async ({ options, stopping, batches }: FanOut, assignment: Assignment): Promise<void> => {
  const messages = await assignment.read({ ...readLimits, signal: stopping.signal })
  const last = messages.at(-1)
  if (last === undefined) return
  const events = (await Promise.all(messages.map(message => decode(options, message, assignment)))).flat()
  if (events.length > 0) await batches.submit(events)
  await assignment.commit(last.offset + 1)
}

/** Read a partition until its assignment is lost or the worker stops. */
const run = async (fanOut: FanOut, assignment: Assignment): Promise<void> => {
  const { options, stopping } = fanOut
  const { partition } = assignment
  let backoffMs = 0
  while (!stopping.signal.aborted && !assignment.lost.aborted) {
    try {
      await runTurn(fanOut, assignment)
      backoffMs = 0
    } catch (error) {
      if (stopping.signal.aborted || assignment.lost.aborted) return
      backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
      options.logger.error({ err: error, partition, again_in_ms: backoffMs }, 'Fan-out of events failed, retrying')
      const signal = AbortSignal.any([stopping.signal, assignment.lost])
      await sleep(backoffMs, undefined, { signal }).catch(() => undefined)
      await assignment
        .rewind()
        .catch(cause => options.logger.error({ err: cause, partition }, 'Partition cannot be rewound'))
    }
  }
}

/**
 * Start to create deliveries of events. The offset of a partition is committed last, after the deliveries of its events
 * are stored. Events that are read twice already have their deliveries.
 */
export const startFanOut = async (options: FanOutOptions): Promise<AsyncDisposable> => {
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  const fanOut: FanOut = { options, stopping, batches: deliveryWriter(options) }
  const subscription = await options.log.subscribe(eventTopic, group, assignment => {
    const task = run(fanOut, assignment).finally(() => running.delete(task))
    running.add(task)
  })
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await Promise.all(running)
      await subscription.close()
    },
  }
}
