import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Secret } from '../platform/access/secrets.ts'
import type { Database } from '../platform/postgres/database.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import { deleteExpiredWebhooks } from '../platform/postgres/webhooks/webhook-outcomes.ts'
import { stepResend } from '../platform/postgres/webhooks/webhook-resends.ts'
import { webhookSeal } from '../platform/postgres/webhooks/webhook-secret.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { WebhookHttpClient } from '../platform/webhook-client/webhook-http-client.ts'
import { openWorkThread } from '../platform/work-thread/work-thread.ts'
import type { Attempt } from './attempt.ts'
import { startDispatcher } from './dispatcher.ts'
import { eventThreadOptions } from './event-body.ts'
import { type FanOutOptions, startFanOut } from './fan-out.ts'
import { outcomeWriter } from './outcome-writer.ts'

export type WebhookWorkerOptions = Pick<FanOutOptions, 'log' | 'codec' | 'at'> & {
  readonly database: Database
  readonly webhookClient: Pick<WebhookHttpClient, 'post'>
  /** Secret of the installation, which seals the secrets of the endpoints. */
  readonly secret: Secret
  readonly logger: Pick<Logger, 'error' | 'warn'>
  /** Called at the end of each attempt. */
  readonly onAttempt: (attempt: Attempt) => void
  /** Random number in [0, 1). */
  readonly random?: () => number
}

/** Running worker. It is live while it polls for due deliveries. */
export type WebhookWorker = AsyncDisposable & { readonly isLive: () => boolean }

const stuckMs = 60_000
const resendPageSize = 500
const resendPauseMs = 500
const sweepEveryMs = 600_000
const maxSweptRows = 5_000

/**
 * Return a random number in [0, 1). `randomInt` uses a pool of random bytes; single requests cost as much time as an
 * HMAC.
 */
const random32Bits = (): number => randomInt(2 ** 32) / 2 ** 32

/** Repeat work until the signal aborts: at once if more work waits, else after a pause. Errors are logged. */
const repeat = async (
  work: () => Promise<boolean>,
  pauseMs: number,
  signal: AbortSignal,
  logger: Pick<Logger, 'error'>,
): Promise<void> => {
  while (!signal.aborted) {
    const hasMore = await work().catch(error => {
      logger.error({ err: error }, 'Background work of the webhook worker failed, retrying')
      return false
    })
    if (!hasMore) await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
  }
}

/**
 * Start the worker: it creates deliveries of events, sends due deliveries, and stores their outcomes. The events of one
 * object are sent in order if each is delivered at its first attempt.
 */
export const startWebhookWorker = async (options: WebhookWorkerOptions): Promise<WebhookWorker> => {
  const { database, logger, at, log, codec, webhookClient, onAttempt, random = random32Bits } = options
  const stopping = new AbortController()
  const thread = openWorkThread(eventThreadOptions)
  const writer = outcomeWriter({ database, logger, onWritten: () => dispatcher.wake() })
  const dispatcher = startDispatcher({
    database,
    logger,
    writer,
    webhookClient,
    at,
    random,
    onAttempt,
    seal: webhookSeal(options.secret),
    thread,
  })
  const fanOut = await startFanOut({ log, codec, database, logger, at, onQueued: dispatcher.note })
  const backgroundTasks = Promise.all([
    repeat(
      () => withOperator(database, transaction => stepResend(transaction, at(), resendPageSize)),
      resendPauseMs,
      stopping.signal,
      logger,
    ),
    repeat(() => deleteExpiredWebhooks(database.operator, at(), maxSweptRows), sweepEveryMs, stopping.signal, logger),
  ])
  return {
    isLive: () => performance.now() - dispatcher.lastPollAt() < stuckMs,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await fanOut[Symbol.asyncDispose]()
      await dispatcher[Symbol.asyncDispose]()
      await thread[Symbol.asyncDispose]()
      await writer.close()
      await backgroundTasks
    },
  }
}
