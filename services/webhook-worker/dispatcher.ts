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
import { type EndpointCapacity, openSubscribers, type Subscribers } from './subscribers.ts'

export type DispatcherOptions = AttemptOptions & {
  readonly database: Pick<Database, 'operator'>
  readonly logger: Pick<Logger, 'error'>
  readonly writer: Pick<OutcomeWriter, 'put' | 'waiting' | 'isStuck'>
  /** Called at the end of each attempt. */
  readonly onAttempt: (attempt: Attempt) => void
}

/** Sends due deliveries. */
export type Dispatcher = AsyncDisposable & {
  /** Note that endpoints have due deliveries, and poll now. */
  readonly note: (endpointIds: readonly string[]) => void
  /** Poll now: there is free capacity. */
  readonly wake: () => void
  /** Time of the last poll, in ms on the clock of the process. */
  readonly lastPollAt: () => number
}

/** Maximum number and bytes of deliveries that are being sent or wait for the outcome writer. */
const maxInFlight = 1_024
const maxInFlightBytes = 64 * 1_048_576
/** Longer than any attempt. */
const leaseMs = 25_000
const pollMs = 250
const maxBackoffMs = 5_000
/** Time to wait for running attempts at the end. The next process repeats attempts that take longer. */
const graceMs = 5_000
const maxClosedPerStatement = 5_000

/** Create a pause that another function can end. An end before the pause begins counts for it. */
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

type DispatcherState = {
  readonly options: DispatcherOptions
  readonly stopping: AbortController
  readonly subscribers: Subscribers
  readonly sending: Set<Promise<void>>
  readonly pause: ReturnType<typeof openPause>
  inFlightBytes: number
  nextPollAt: number
  lastPollAt: number
  isDisposed: boolean
}

const send = async (state: DispatcherState, claim: DeliveryClaim): Promise<void> => {
  const { options, subscribers, pause } = state
  subscribers.begin(claim.endpointId, claim.failingSince !== null)
  state.inFlightBytes += claim.bytes
  let isDelivered = false
  try {
    const result = await attempt(claim, options)
    if (state.isDisposed) return
    // A truncated response costs a connection, so it does not increase the concurrency of the endpoint.
    isDelivered = result.outcome.status === 'DELIVERED' && !result.isCut
    options.writer.put(result)
    options.onAttempt(result)
  } catch (error) {
    // Without an outcome, the delivery is claimed again after its lease.
    const fields = { err: error, delivery: claim.id, endpoint: claim.endpointId }
    options.logger.error(fields, 'Webhook attempt failed, retrying')
  } finally {
    state.inFlightBytes -= claim.bytes
    subscribers.end(claim.endpointId, isDelivered)
    pause.end()
  }
}

const begin = (state: DispatcherState, claims: readonly DeliveryClaim[]): void => {
  for (const claim of claims) {
    const task = send(state, claim).finally(() => state.sending.delete(task))
    state.sending.add(task)
  }
}

/** Claim deliveries of endpoints, and send them. */
const claimAndSend = async (state: DispatcherState, capacities: readonly EndpointCapacity[]): Promise<void> => {
  const { database, at } = state.options
  const now = at()
  const claims = await claimDeliveries(database.operator, capacities, {
    at: now,
    leaseUntil: now + leaseMs,
    bytes: Math.max(0, maxInFlightBytes - state.inFlightBytes),
  })
  const claimsByEndpoint = Map.groupBy(claims, ({ endpointId }) => endpointId)
  state.subscribers.note(
    capacities
      .filter(({ endpointId, capacity }) => (claimsByEndpoint.get(endpointId)?.length ?? 0) >= capacity)
      .map(one => one.endpointId),
  )
  begin(
    state,
    claims.filter(({ isClosed }) => !isClosed),
  )
  const closed = new Set(claims.filter(({ isClosed }) => isClosed).map(({ endpointId }) => endpointId))
  if (closed.size > 0) await closeDeliveries(database.operator, [...closed], maxClosedPerStatement)
}

/** Poll, claim and send. Return false if there was nothing to claim. */
const runTurn = async (state: DispatcherState): Promise<boolean> => {
  const { options, subscribers } = state
  const { database, writer, at } = options
  state.lastPollAt = performance.now()
  if (state.lastPollAt >= state.nextPollAt) {
    subscribers.note(await readDueEndpoints(database.operator, at()))
    // If many endpoints wait for a retry, a poll takes long. Polls may use a tenth of the time.
    state.nextPollAt = performance.now() + Math.max(pollMs, 10 * (performance.now() - state.lastPollAt))
  }
  const capacity = writer.isStuck() ? 0 : maxInFlight - subscribers.inFlight() - writer.waiting()
  const capacities = capacity > 0 && state.inFlightBytes < maxInFlightBytes ? subscribers.choose(capacity) : []
  if (capacities.length === 0) return false
  await claimAndSend(state, capacities)
  return true
}

const run = async (state: DispatcherState): Promise<void> => {
  const { options, stopping, pause } = state
  let backoffMs = 0
  while (!stopping.signal.aborted) {
    try {
      const hasWorked = await runTurn(state)
      backoffMs = 0
      if (!hasWorked) await pause.begin(Math.max(1, state.nextPollAt - performance.now()))
    } catch (error) {
      backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
      options.logger.error({ err: error, again_in_ms: backoffMs }, 'Sending of webhooks failed, retrying')
      await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
}

/**
 * Start to send deliveries. The dispatcher polls several times per second for endpoints with due deliveries, and at
 * once after `note`.
 * It claims deliveries under a lease, many in one statement, up to the concurrency of each endpoint. After the lease,
 * another process can claim the deliveries of a process that ended.
 */
export const startDispatcher = (options: DispatcherOptions): Dispatcher => {
  const state: DispatcherState = {
    options,
    stopping: new AbortController(),
    subscribers: openSubscribers(),
    sending: new Set(),
    pause: openPause(),
    inFlightBytes: 0,
    nextPollAt: 0,
    lastPollAt: performance.now(),
    isDisposed: false,
  }
  const { stopping, subscribers, sending, pause } = state
  const running = run(state)
  return {
    note: endpointIds => {
      subscribers.note(endpointIds)
      pause.end()
    },
    wake: pause.end,
    lastPollAt: () => state.lastPollAt,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      pause.end()
      await running
      await Promise.race([Promise.all(sending), sleep(graceMs, undefined, { ref: false })])
      state.isDisposed = true
    },
  }
}
