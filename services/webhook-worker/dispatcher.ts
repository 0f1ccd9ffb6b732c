import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../platform/postgres/database.ts'
import { type Claim, claimDeliveries, closeDeliveries, readDueEndpoints } from '../platform/postgres/webhook-queue.ts'
import type { Logger } from '../platform/telemetry.ts'
import { type Attempt, type AttemptOptions, attempt } from './attempt.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import { type Asked, openSubscribers } from './subscribers.ts'

export type DispatcherOptions = AttemptOptions & {
  readonly database: Pick<Database, 'operator'>
  readonly logger: Pick<Logger, 'error'>
  readonly writer: Pick<OutcomeWriter, 'put' | 'waiting' | 'isStuck'>
  /** Told of each attempt as it ends. */
  readonly attempted: (attempt: Attempt) => void
}

/** Sends what is due. */
export type Dispatcher = AsyncDisposable & {
  /** Note that endpoints have deliveries due, and look at once. */
  readonly note: (endpointIds: readonly string[]) => void
  /** Look again: there is room. */
  readonly wake: () => void
  /** When it last looked, in ms of the process's own clock. */
  readonly lookedAt: () => number
}

/** Deliveries of this process that are under way or wait to be kept. */
const mostHeld = 1_024
const mostHeldBytes = 64 * 1_048_576
/** Longer than any attempt takes. */
const leaseMs = 25_000
const lookEveryMs = 250
const mostBackoffMs = 5_000
/** How long attempts under way are waited for at the end; those that take longer are made again by the next process. */
const graceMs = 5_000
const closedAtOnce = 5_000

/** A rest that can be ended from outside; an end that comes before it begins counts for it. */
const openRest = () => {
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
  const rest = openRest()
  let heldBytes = 0
  let lookAt = 0
  let lookedAt = performance.now()
  let isAbandoned = false

  const send = async (claim: Claim): Promise<void> => {
    subscribers.begin(claim.endpointId, claim.failingSince !== null)
    heldBytes += claim.bytes
    let succeeded = false
    try {
      const made = await attempt(claim, options)
      if (isAbandoned) return
      // An answer that is cut costs a connection: an endpoint with such answers gets no more of them at once.
      succeeded = made.outcome.status === 'DELIVERED' && !made.isCut
      writer.put(made)
      options.attempted(made)
    } catch (error) {
      // Nothing was decided: the delivery comes again when its lease has run out.
      logger.error({ err: error, delivery: claim.id, endpoint: claim.endpointId }, 'a delivery could not be attempted')
    } finally {
      heldBytes -= claim.bytes
      subscribers.end(claim.endpointId, succeeded)
      rest.end()
    }
  }

  const begin = (claims: readonly Claim[]): void => {
    for (const claim of claims) {
      const task = send(claim).finally(() => sending.delete(task))
      sending.add(task)
    }
  }

  const claim = async (asked: readonly Asked[]): Promise<void> => {
    const now = at()
    const claims = await claimDeliveries(database.operator, asked, {
      at: now,
      leaseUntil: now + leaseMs,
      bytes: Math.max(0, mostHeldBytes - heldBytes),
    })
    const taken = Map.groupBy(claims, ({ endpointId }) => endpointId)
    subscribers.note(asked.filter(({ endpointId, room }) => (taken.get(endpointId)?.length ?? 0) >= room).map(one => one.endpointId))
    begin(claims.filter(({ isClosed }) => !isClosed))
    const closed = new Set(claims.filter(({ isClosed }) => isClosed).map(({ endpointId }) => endpointId))
    if (closed.size > 0) await closeDeliveries(database.operator, [...closed], closedAtOnce)
  }

  /** Work a turn; false where there was nothing to claim. */
  const turn = async (): Promise<boolean> => {
    lookedAt = performance.now()
    if (lookedAt >= lookAt) {
      subscribers.note(await readDueEndpoints(database.operator, at()))
      // Where many endpoints wait for a later attempt, looking takes longer: it shall not be all that is done.
      lookAt = performance.now() + Math.max(lookEveryMs, 10 * (performance.now() - lookedAt))
    }
    const room = writer.isStuck() ? 0 : mostHeld - subscribers.underWay() - writer.waiting()
    const asked = room > 0 && heldBytes < mostHeldBytes ? subscribers.choose(room) : []
    if (asked.length === 0) return false
    await claim(asked)
    return true
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted) {
      try {
        const hasWorked = await turn()
        backoffMs = 0
        if (!hasWorked) await rest.begin(Math.max(1, lookAt - performance.now()))
      } catch (error) {
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'webhooks wait to be sent')
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
  }
  const running = run()
  return {
    note: endpointIds => {
      subscribers.note(endpointIds)
      rest.end()
    },
    wake: rest.end,
    lookedAt: () => lookedAt,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      rest.end()
      await running
      await Promise.race([Promise.all(sending), sleep(graceMs, undefined, { ref: false })])
      isAbandoned = true
    },
  }
}
