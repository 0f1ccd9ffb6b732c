import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordTopic } from '../platform/log/log.ts'
import { appendPriceNotice, appendReprice, type RecostAppenderDependencies } from '../platform/log/recost-appender.ts'
import type { Database } from '../platform/postgres/database.ts'
import { deleteOutbox, type OutboxMessage, readOutbox } from '../platform/postgres/events/outbox.ts'
import { type Lease, releaseLease, takeLease } from '../platform/postgres/leases.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { fanOutPage } from './price-fan-out.ts'

/** Brings what changes of prices owe into the lanes, at least once; a repeated order does no harm. */
export type RecostRelay = AsyncDisposable & {
  /** Bring the orders of a change that this process has just committed. Never rejects: what the log does not take waits for the sweep. */
  readonly publish: (messages: readonly OutboxMessage[]) => Promise<void>
  /**
   * Tell every lane that a source's prices of older revisions hold no more, so that records behind this are priced with the new ones; what
   * is stored follows by the fan-out, which begins at once. Never rejects.
   */
  readonly announce: (change: SourceRevision) => Promise<void>
}

export type RecostRelayOptions = RecostAppenderDependencies & {
  readonly database: Database
  readonly at: () => number
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

const leaseMs = 10_000
const restMs = 1_000
const pageSize = 500

/** The order as it stands in the outbox. */
type RecostPayload = {
  readonly id: string
  readonly account_id: string
  readonly live_mode: boolean
  readonly locations: readonly string[]
  readonly revision: number
  readonly from: number | null
  readonly to: number | null
}

const appendOutboxMessage = (appender: RecostAppenderDependencies, { payload }: OutboxMessage): Promise<void> => {
  const recostPayload = JSON.parse(payload) as RecostPayload
  return appendReprice(appender, {
    orderId: recostPayload.id,
    accountId: recostPayload.account_id,
    liveMode: recostPayload.live_mode,
    locationIds: recostPayload.locations,
    locationRevision: recostPayload.revision,
    sourceId: null,
    priceRevision: null,
    from: recostPayload.from,
    to: recostPayload.to,
  })
}

/**
 * Start the relay. Orders of this process go at once. By turns, and by one process at a time, it brings what crashes left in the outbox,
 * and price changes to the locations of their source, a page each turn. Without work it looks every second.
 * Rows are taken without a cursor and deleted by the ids that were published, so that a change that commits late is found all the same.
 */
export const startRecostRelay = (options: RecostRelayOptions): RecostRelay => {
  const { database, logger } = options
  const stopping = new AbortController()
  const holder = randomUUID()
  let lease: Lease | null = null
  let pause = new AbortController()

  const warnAndContinue = (message: string) => (error: unknown) => {
    logger.warn({ err: error }, message)
    return false
  }

  const send = async (messages: readonly OutboxMessage[]): Promise<void> => {
    const recostMessages = messages.filter(message => message.topic === recordTopic)
    await Promise.all(recostMessages.map(message => appendOutboxMessage(options, message)))
    await deleteOutbox(
      database.operator,
      recostMessages.map(({ id }) => id),
    )
  }

  const publishOutbox = async (): Promise<boolean> => {
    const messages = await readOutbox(database.operator, recordTopic, pageSize)
    await send(messages)
    return messages.length === pageSize
  }

  const fanOut = async (heldLease: Lease): Promise<boolean> => {
    const fannedOut = await fanOutPage(options, heldLease)
    if (fannedOut === null) return false
    const { sourceId, revision, page, total } = fannedOut
    logger.info(
      { source: sourceId, revision, page, locations: fannedOut.done, of: total },
      'a price change goes to its locations',
    )
    return true
  }

  /** Work a turn; true where more waits. What fails does not keep the other from its turn. */
  const turn = async (): Promise<boolean> => {
    lease = await takeLease(database.operator, 'order-relay', holder, leaseMs)
    if (lease === null) return false
    const heldLease = lease
    const results = [
      await publishOutbox().catch(warnAndContinue('orders wait in the outbox')),
      await fanOut(heldLease).catch(warnAndContinue('a price change waits for its turn')),
    ]
    return results.includes(true)
  }

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (await turn().catch(warnAndContinue('the relay waits for its lease'))) continue
      pause = new AbortController()
      await sleep(restMs, undefined, { signal: AbortSignal.any([stopping.signal, pause.signal]) }).catch(
        () => undefined,
      )
    }
    if (lease !== null)
      await releaseLease(database.operator, lease).catch(warnAndContinue('the lease of the relay runs out by itself'))
  }
  const running = run()
  return {
    publish: async messages => {
      await send(messages).catch(warnAndContinue('an order waits in the outbox'))
    },
    announce: async change => {
      pause.abort()
      await appendPriceNotice(options, change).catch(warnAndContinue('a price change waits for its turn'))
    },
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
