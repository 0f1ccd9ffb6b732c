import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../platform/postgres/database.ts'
import {
  claimDeliveries,
  closeDeliveries,
  type DeliveryClaim,
  readDueEndpoints,
} from '../platform/postgres/webhooks/webhook-queue.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { type Attempt, type AttemptOptions, attempt } from './attempt.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import { type EndpointCapacity, openSubscribers } from './subscribers.ts'

export type DispatcherOptions = AttemptOptions & {
  readonly database: Pick<Database, 'operator'>
  readonly logger: Pick<Logger, 'error'>
  readonly writer: Pick<OutcomeWriter, 'put' | 'waiting' | 'isStuck'>
  /** Told of each attempt as it ends. */
  readonly onAttempt: (attempt: Attempt) => void
}

/** Sends what is due. */
export type Dispatcher = AsyncDisposable & {
  /** Note that endpoints have deliveries due, and look at once. */
  readonly note: (endpointIds: readonly string[]) => void
  /** Look again: there is room. */
  readonly wake: () => void
  /** When it last looked, in ms of the process's own clock. */
  readonly lastPollAt: () => number
}

/** Deliveries of this process that are under way or wait to be kept. */
const maxInFlight = 1_024
const maxInFlightBytes = 64 * 1_048_576
/** Longer than any attempt takes. */
const leaseMs = 25_000
const pollMs = 250
const maxBackoffMs = 5_000
/** How long attempts under way are waited for at the end; those that take longer are made again by the next process. */
const graceMs = 5_000
const maxClosedPerStatement = 5_000

/** A rest that can be ended from outside; an end that comes before it begins counts for it. */
const openPause = () => {
  let isOver = false
  let end: (() => void) | null = null
  return {
    begin: async (ms: number): Promise<void> => {
      if (!isOver) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, ms)
        end = resolve
        await promise
        clearTimeout(timer)
        end = null
      }
      isOver = false
    },
    end: (): void => {
      isOver = true
      end?.()
    },
  }
}

/**
 * Start to send. Endpoints with something due are looked for several times a second, and at once where the fan-out tells; deliveries are
 * claimed under a lease, of each endpoint as many as it may have under way, and many in one statement. What a process held that died is
 * claimed by another once its lease has run out.
 */
export const startDispatcher = (options: DispatcherOptions): Dispatcher => {
  const { database, logger, writer, at } = options
  const stopping = new AbortController()
  const subscribers = openSubscribers()
  const sending = new Set<Promise<void>>()
  const pause = openPause()
  let inFlightBytes = 0
  let nextPollAt = 0
  let lastPollAt = performance.now()
  let isDisposed = false

  const send = async (claim: DeliveryClaim): Promise<void> => {
    subscribers.begin(claim.endpointId, claim.failingSince !== null)
    inFlightBytes += claim.bytes
    let isDelivered = false
    try {
      const result = await attempt(claim, options)
      if (isDisposed) return
      // An answer that is cut costs a connection: an endpoint with such answers gets no more of them at once.
      isDelivered = result.outcome.status === 'DELIVERED' && !result.isCut
      writer.put(result)
      options.onAttempt(result)
    } catch (error) {
      // Nothing was decided: the delivery comes again when its lease has run out.
      logger.error({ err: error, delivery: claim.id, endpoint: claim.endpointId }, 'a delivery could not be attempted')
    } finally {
      inFlightBytes -= claim.bytes
      subscribers.end(claim.endpointId, isDelivered)
      pause.end()
    }
  }

  const begin = (claims: readonly DeliveryClaim[]): void => {
    for (const claim of claims) {
      const task = send(claim).finally(() => sending.delete(task))
      sending.add(task)
    }
  }

  const claim = async (capacities: readonly EndpointCapacity[]): Promise<void> => {
    const now = at()
    const claims = await claimDeliveries(database.operator, capacities, {
      at: now,
      leaseUntil: now + leaseMs,
      bytes: Math.max(0, maxInFlightBytes - inFlightBytes),
    })
    const claimsByEndpoint = Map.groupBy(claims, ({ endpointId }) => endpointId)
    subscribers.note(
      capacities
        .filter(({ endpointId, capacity }) => (claimsByEndpoint.get(endpointId)?.length ?? 0) >= capacity)
        .map(one => one.endpointId),
    )
    begin(claims.filter(({ isClosed }) => !isClosed))
    const closed = new Set(claims.filter(({ isClosed }) => isClosed).map(({ endpointId }) => endpointId))
    if (closed.size > 0) await closeDeliveries(database.operator, [...closed], maxClosedPerStatement)
  }

  /** Work a turn; false where there was nothing to claim. */
  const turn = async (): Promise<boolean> => {
    lastPollAt = performance.now()
    if (lastPollAt >= nextPollAt) {
      subscribers.note(await readDueEndpoints(database.operator, at()))
      // Where many endpoints wait for a later attempt, looking takes longer: it shall not be all that is done.
      nextPollAt = performance.now() + Math.max(pollMs, 10 * (performance.now() - lastPollAt))
    }
    const capacity = writer.isStuck() ? 0 : maxInFlight - subscribers.inFlight() - writer.waiting()
    const capacities = capacity > 0 && inFlightBytes < maxInFlightBytes ? subscribers.choose(capacity) : []
    if (capacities.length === 0) return false
    await claim(capacities)
    return true
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted) {
      try {
        const hasWorked = await turn()
        backoffMs = 0
        if (!hasWorked) await pause.begin(Math.max(1, nextPollAt - performance.now()))
      } catch (error) {
        backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'webhooks wait to be sent')
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }
  const running = run()
  return {
    note: endpointIds => {
      subscribers.note(endpointIds)
      pause.end()
    },
    wake: pause.end,
    lastPollAt: () => lastPollAt,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      pause.end()
      await running
      await Promise.race([Promise.all(sending), sleep(graceMs, undefined, { ref: false })])
      isDisposed = true
    },
  }
}
