import { setTimeout as sleep } from 'node:timers/promises'
import { isDisableDue } from '../domain/webhook/retry-delay.ts'
import type { Database } from '../platform/postgres/database.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import {
  disableEndpoint,
  type EndpointHealth,
  recordHealth,
  recordOutcomes,
} from '../platform/postgres/webhooks/webhook-outcomes.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { Attempt } from './attempt.ts'

/** Keeps what attempts brought, many in a statement. */
export type OutcomeWriter = {
  /** Hand an attempt over; it is kept soon. */
  readonly put: (attempt: Attempt) => void
  /** How many wait to be kept. */
  readonly waiting: () => number
  /** Whether the last try to keep them failed: what is claimed meanwhile could be what waits here, its lease run out. */
  readonly isStuck: () => boolean
  /** Resolve once all that was handed over is kept; gives up where the database is away. */
  readonly close: () => Promise<void>
}

export type OutcomeWriterOptions = {
  readonly database: Database
  readonly logger: Pick<Logger, 'error' | 'warn'>
  /** Called after each write: there is room again. */
  readonly onWritten: () => void
}

const maxPerStatement = 500
const maxBackoffMs = 5_000

/** How endpoints fared in attempts that ended in this order. */
const healthOf = (attempts: readonly Attempt[]): readonly EndpointHealth[] => {
  const health = new Map<string, EndpointHealth>()
  for (const { outcome, claim } of attempts) {
    const { accountId, liveMode, endpointId, status, at } = outcome
    const before = health.get(endpointId)
    if (outcome.error === 'event_expired') continue
    const succeeded = status === 'DELIVERED'
    health.set(endpointId, {
      accountId,
      liveMode,
      endpointId,
      url: claim.url,
      succeeded: succeeded || before?.succeeded === true,
      failedAt: succeeded ? null : (before?.failedAt ?? at),
    })
  }
  return [...health.values()]
}

/** The last attempt of each endpoint that asks for its end: by 410, or after days of nothing but failure. */
const attemptsThatDisable = (attempts: readonly Attempt[]): readonly Attempt[] => {
  const disabling = attempts.filter(({ claim, decision: judgement, outcome }) => {
    if (judgement === 'GONE') return true
    return outcome.status !== 'DELIVERED' && claim.failingSince !== null && isDisableDue(claim.failingSince, outcome.at)
  })
  return [...new Map(disabling.map(one => [one.claim.endpointId, one])).values()]
}

/** Attempts are kept last: what comes before changes nothing when it is done again. */
const writeOutcomes = async (
  { database, logger }: OutcomeWriterOptions,
  attempts: readonly Attempt[],
): Promise<void> => {
  await recordHealth(database.operator, healthOf(attempts))
  for (const { claim, decision: judgement, outcome } of attemptsThatDisable(attempts)) {
    const reason = judgement === 'GONE' ? 'GONE' : 'FAILING'
    const why = { reason, failingSince: claim.failingSince } as const
    const isNew = await withOperator(database, transaction => disableEndpoint(transaction, claim, why, outcome.at))
    if (isNew)
      logger.warn({ endpoint: claim.endpointId, account: claim.accountId, reason }, 'a webhook endpoint was disabled')
  }
  await recordOutcomes(
    database.operator,
    attempts.map(({ outcome }) => outcome),
  )
}

/**
 * Start to keep outcomes: one statement is under way at a time, and what comes meanwhile goes with the next. While the database is away they
 * wait; where the process ends before they are kept, their deliveries are attempted again.
 */
export const outcomeWriter = (options: OutcomeWriterOptions): OutcomeWriter => {
  let waiting: Attempt[] = []
  let running: Promise<void> | undefined
  let isClosing = false
  let isStuck = false

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxPerStatement)
      try {
        await writeOutcomes(options, batch)
        waiting = waiting.slice(batch.length)
        backoffMs = 0
        isStuck = false
        options.onWritten()
      } catch (error) {
        isStuck = true
        options.logger.error({ err: error, waiting: waiting.length }, 'outcomes of webhooks wait to be kept')
        if (isClosing) break
        backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
        await sleep(backoffMs)
      }
    }
    running = undefined
  }

  return {
    put: attempt => {
      waiting.push(attempt)
      running ??= run()
    },
    waiting: () => waiting.length,
    isStuck: () => isStuck,
    close: async () => {
      isClosing = true
      await running
    },
  }
}
