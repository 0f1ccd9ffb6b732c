import { setTimeout as sleep } from 'node:timers/promises'
import { matchesAnyFilter } from '../domain/event-types.ts'
import { isFailure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
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
  /** Told of the endpoints that have deliveries to be sent. */
  readonly onQueued: (endpointIds: readonly string[]) => void
}

/** The group under which the topic of events is read. */
const group = 'webhook-worker'

const readLimits = { maxMessages: 500, maxBytes: 1_048_576 }
const maxBackoffMs = 5_000

/** Events this much older than an endpoint may still reach it: the clocks of the processes that wrote the two may differ. */
const clockDifferenceMs = 5_000

const tenantKey = (of: Pick<EventEnvelope, 'accountId' | 'liveMode'>): string => `${of.accountId} ${of.liveMode}`

/**
 * List what events owe to endpoints of their account and mode: one delivery for each event and each endpoint that takes its type and was
 * there when it happened, in the order of the events.
 */
export const deliveriesOf = (
  events: readonly EventEnvelope[],
  subscriptions: readonly EndpointSubscription[],
): readonly DeliveryDraft[] => {
  const byTenant = Map.groupBy(subscriptions, tenantKey)
  return events.flatMap(event =>
    (byTenant.get(tenantKey(event)) ?? [])
      .filter(one => matchesAnyFilter(one.eventTypes, event.type) && event.timeCreated + clockDifferenceMs >= one.since)
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

/** Write deliveries for what several lanes have read, in two statements for all of them. */
const deliveryWriter = ({ database, at, onQueued }: FanOutOptions) =>
  groupCommit<readonly EventEnvelope[], null>(async batches => {
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
 * Start to turn events into deliveries. A lane's offset moves last, over events whose deliveries are stored; events read twice have their
 * deliveries already. An event that cannot be decoded is logged and passed over; a registry that is away is waited for.
 */
export const startFanOut = async (options: FanOutOptions): Promise<AsyncDisposable> => {
  const { log, codec, logger } = options
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  const batches = deliveryWriter(options)

  const decode = async (
    { value, offset }: StoredMessage,
    { partition }: Assignment,
  ): Promise<readonly EventEnvelope[]> => {
    try {
      return [await codec.decodeEvent(value)]
    } catch (error) {
      if (isFailure(error) && error.retriable) throw error
      logger.error({ err: error, partition, offset }, 'an event cannot be read and is passed over')
      return []
    }
  }

  const turn = async (assignment: Assignment): Promise<void> => {
    const messages = await assignment.read({ ...readLimits, signal: stopping.signal })
    const last = messages.at(-1)
    if (last === undefined) return
    const events = (await Promise.all(messages.map(message => decode(message, assignment)))).flat()
    if (events.length > 0) await batches.submit(events)
    await assignment.commit(last.offset + 1)
  }

  const run = async (assignment: Assignment): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted && !assignment.lost.aborted) {
      try {
        await turn(assignment)
        backoffMs = 0
      } catch (error) {
        if (stopping.signal.aborted || assignment.lost.aborted) return
        backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
        logger.error(
          { err: error, partition: assignment.partition, again_in_ms: backoffMs },
          'events wait to become deliveries',
        )
        await sleep(backoffMs, undefined, { signal: AbortSignal.any([stopping.signal, assignment.lost]) }).catch(
          () => undefined,
        )
        await assignment.rewind().catch(cause => logger.error({ err: cause }, 'a lane cannot be read again'))
      }
    }
  }

  const subscription = await log.subscribe(eventTopic, group, assignment => {
    const task = run(assignment).finally(() => running.delete(task))
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
