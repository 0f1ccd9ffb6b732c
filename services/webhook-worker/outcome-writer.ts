import { setTimeout as sleep } from 'node:timers/promises'
import { isDisableDue } from '../domain/webhook/delivery-attempt.ts'
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

/** Stores the outcomes of attempts, many in one statement. */
export type OutcomeWriter = {
  /** Add an attempt; it is stored soon. */
  readonly put: (attempt: Attempt) => void
  /** Number of attempts that are not stored. */
  readonly waiting: () => number
  /**
   * Return whether the last write failed. The lease of waiting attempts can end, so their deliveries could be claimed
   * again.
   */
  readonly isStuck: () => boolean
  /** Store all attempts, then resolve. If the database is unavailable, resolve without storing them. */
  readonly close: () => Promise<void>
}

export type OutcomeWriterOptions = {
  readonly database: Database
  readonly logger: Pick<Logger, 'error' | 'warn'>
  /** Called after each write: there is free capacity. */
  readonly onWritten: () => void
}

const maxPerStatement = 500
const maxBackoffMs = 5_000

/** Return the health of endpoints after attempts, which are in the order of their end. */
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

/** Return the last attempt of each endpoint to disable: after a status 410, or after days of failures only. */
const attemptsThatDisable = (attempts: readonly Attempt[]): readonly Attempt[] => {
  const disabling = attempts.filter(({ claim, decision, outcome }) => {
    if (decision === 'GONE') return true
    return outcome.status !== 'DELIVERED' && claim.failingSince !== null && isDisableDue(claim.failingSince, outcome.at)
  })
  return [...new Map(disabling.map(one => [one.claim.endpointId, one])).values()]
}

/** Write the effects of attempts. The outcomes are last: a repeat of the writes before them changes nothing. */
const writeOutcomes = async (
  { database, logger }: OutcomeWriterOptions,
  attempts: readonly Attempt[],
): Promise<void> => {
  await recordHealth(database.operator, healthOf(attempts))
  for (const { claim, decision, outcome } of attemptsThatDisable(attempts)) {
    const reason = decision === 'GONE' ? 'GONE' : 'FAILING'
    const why = { reason, failingSince: claim.failingSince } as const
    const isNew = await withOperator(database, transaction => disableEndpoint(transaction, claim, why, outcome.at))
    if (isNew)
      logger.warn({ endpoint: claim.endpointId, account: claim.accountId, reason }, 'Webhook endpoint disabled')
  }
  await recordOutcomes(
    database.operator,
    attempts.map(({ outcome }) => outcome),
  )
}

/**
 * Create the writer. One statement runs at a time; later attempts go into the next one. While the database is
 * unavailable, attempts wait. If the process ends before, their deliveries are attempted again.
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
        options.logger.error({ err: error, waiting: waiting.length }, 'Outcomes of webhooks not stored, retrying')
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
