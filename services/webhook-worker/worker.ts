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
import type { Attempt } from './attempt.ts'
import { startDispatcher } from './dispatcher.ts'
import { type FanOutOptions, startFanOut } from './fan-out.ts'
import { outcomeWriter } from './outcome-writer.ts'

export type WebhookWorkerOptions = Pick<FanOutOptions, 'log' | 'codec' | 'at'> & {
  readonly database: Database
  readonly webhookClient: Pick<WebhookHttpClient, 'post'>
  /** Secret of the installation, under which those of the endpoints are sealed. */
  readonly secret: Secret
  readonly logger: Pick<Logger, 'error' | 'warn'>
  /** Told of each attempt as it ends. */
  readonly onAttempt: (attempt: Attempt) => void
  /** A number of 0 … 1 that nobody foresees. */
  readonly random?: () => number
}

/** A worker that runs; it is live as long as it looks for what is due. */
export type WebhookWorker = AsyncDisposable & { readonly isLive: () => boolean }

const stuckMs = 60_000
const resendPageSize = 500
const resendRestMs = 500
const sweepEveryMs = 600_000
const maxSweptRows = 5_000

/** Drawn from a store of random bytes that the runtime fills at once; bytes asked for one by one cost as much as an HMAC. */
const random32Bits = (): number => randomInt(2 ** 32) / 2 ** 32

/** Do a thing again and again until the signal aborts: at once while it says that more waits, else after a rest. Failures are logged. */
const repeat = async (
  turn: () => Promise<boolean>,
  restMs: number,
  signal: AbortSignal,
  logger: Pick<Logger, 'error'>,
): Promise<void> => {
  while (!signal.aborted) {
    const hasMore = await turn().catch(error => {
      logger.error({ err: error }, 'a part of the webhook worker waits for its next turn')
      return false
    })
    if (!hasMore) await sleep(restMs, undefined, { signal }).catch(() => undefined)
  }
}

/**
 * Start the worker: events become deliveries, deliveries that are due are sent, what came of them is kept. The order in which events of one
 * object are sent is their own as far as each is delivered at its first attempt.
 */
export const startWebhookWorker = async (options: WebhookWorkerOptions): Promise<WebhookWorker> => {
  const { database, logger, at, log, codec, webhookClient, onAttempt, random = random32Bits } = options
  const stopping = new AbortController()
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
  })
  const fanOut = await startFanOut({ log, codec, database, logger, at, onQueued: dispatcher.note })
  const backgroundTasks = Promise.all([
    repeat(
      () => withOperator(database, transaction => stepResend(transaction, at(), resendPageSize)),
      resendRestMs,
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
      await writer.close()
      await backgroundTasks
    },
  }
}
