import { setTimeout as sleep } from 'node:timers/promises'
import { takesEvent } from '../domain/webhook/event-filter.ts'
import { isFailure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/codec.ts'
import { eventTopic } from '../platform/log/event-message.ts'
import { groupCommit } from '../platform/log/group-commit.ts'
import type { Lane, Log, StoredMessage } from '../platform/log/log.ts'
import type { EventEnvelope } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { type DeliveryDraft, insertDeliveries, readSubscriptions, type Subscription } from '../platform/postgres/webhook-queue.ts'
import type { Logger } from '../platform/telemetry.ts'

export type FanOutOptions = {
  readonly log: Pick<Log, 'subscribe'>
  readonly codec: Pick<Codec, 'decodeEvent'>
  readonly database: Pick<Database, 'operator'>
  readonly logger: Pick<Logger, 'error'>
  readonly at: () => number
  /** Told of the endpoints that have deliveries to be sent. */
  readonly queued: (endpointIds: readonly string[]) => void
}

/** The group under which the topic of events is read. */
const group = 'webhook-worker'

const bounds = { maxMessages: 500, maxBytes: 1_048_576 }
const mostBackoffMs = 5_000

/** Events this much older than an endpoint may still reach it: the clocks of the processes that wrote the two may differ. */
const clockDifferenceMs = 5_000

const tenantKey = (of: Pick<EventEnvelope, 'accountId' | 'liveMode'>): string => `${of.accountId} ${of.liveMode}`

/**
 * List what events owe to endpoints of their account and mode: one delivery for each event and each endpoint that takes its type and was
 * there when it happened, in the order of the events.
 */
export const deliveriesOf = (events: readonly EventEnvelope[], subscriptions: readonly Subscription[]): readonly DeliveryDraft[] => {
  const byTenant = Map.groupBy(subscriptions, tenantKey)
  return events.flatMap(event =>
    (byTenant.get(tenantKey(event)) ?? [])
      .filter(one => takesEvent(one.eventTypes, event.type) && event.timeCreated + clockDifferenceMs >= one.since)
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
const writer = ({ database, at, queued }: FanOutOptions) =>
  groupCommit<readonly EventEnvelope[], null>(async batches => {
    const events = batches.flat()
    const tenants = new Map(events.map(({ accountId, liveMode }) => [tenantKey({ accountId, liveMode }), { accountId, liveMode }]))
    const drafts = deliveriesOf(events, await readSubscriptions(database.operator, [...tenants.values()]))
    await insertDeliveries(database.operator, drafts, at())
    queued([...new Set(drafts.map(({ endpointId }) => endpointId))])
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
  const batches = writer(options)

  const decoded = async ({ value, offset }: StoredMessage, { partition }: Lane): Promise<readonly EventEnvelope[]> => {
    try {
      return [await codec.decodeEvent(value)]
    } catch (error) {
      if (isFailure(error) && error.retriable) throw error
      logger.error({ err: error, partition, offset }, 'an event cannot be read and is passed over')
      return []
    }
  }

  const turn = async (lane: Lane): Promise<void> => {
    const messages = await lane.read({ ...bounds, signal: stopping.signal })
    const last = messages.at(-1)
    if (last === undefined) return
    const events = (await Promise.all(messages.map(message => decoded(message, lane)))).flat()
    if (events.length > 0) await batches.submit(events)
    await lane.commit(last.offset + 1)
  }

  const run = async (lane: Lane): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted && !lane.lost.aborted) {
      try {
        await turn(lane)
        backoffMs = 0
      } catch (error) {
        if (stopping.signal.aborted || lane.lost.aborted) return
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, partition: lane.partition, again_in_ms: backoffMs }, 'events wait to become deliveries')
        await sleep(backoffMs, undefined, { signal: AbortSignal.any([stopping.signal, lane.lost]) }).catch(() => undefined)
        await lane.rewind().catch(cause => logger.error({ err: cause }, 'a lane cannot be read again'))
      }
    }
  }

  const subscription = await log.subscribe(eventTopic, group, lane => {
    const task = run(lane).finally(() => running.delete(task))
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
