import { recordTopic } from '../platform/log/log.ts'
import { appendPriceNotice, appendReprice, type RecostAppenderDependencies } from '../platform/log/recost-appender.ts'
import type { Database } from '../platform/postgres/database.ts'
import { deleteOutbox, type OutboxMessage, readOutbox, recostRequestOf } from '../platform/postgres/events/outbox.ts'
import type { Lease } from '../platform/postgres/leases.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import type { LeasedTurn } from '../platform/role-module.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import { startTask } from './leased-work.ts'
import { fanOutPage } from './price-fan-out.ts'

/** Appends recost requests and price notices to the partitions, at least once. A repeated request changes nothing. */
export type RecostRelay = AsyncDisposable & {
  /**
   * Publish the recost requests of a change after its commit. Never rejects: requests that the log refuses stay in the
   * outbox, and the relay publishes them later.
   */
  readonly publish: (messages: readonly OutboxMessage[]) => Promise<void>
  /**
   * Announce new prices of a source in every partition. Records after the notice are costed with the new prices. The
   * fan-out, which begins at once, requests the recalculation of stored costs. Never rejects.
   */
  readonly announce: (change: SourceRevision) => Promise<void>
}

export type RecostRelayOptions = RecostAppenderDependencies & {
  readonly database: Database
  /** Current instant in ms. */
  readonly at: () => number
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

const restMs = 1_000
const pageSize = 500

/**
 * Append recost requests to their partitions, then delete them from the outbox. Returns true if more may be waiting.
 */
const publishMessages = async (options: RecostRelayOptions, messages: readonly OutboxMessage[]): Promise<boolean> => {
  const recostMessages = messages.filter(({ topic }) => topic === recordTopic)
  const append = ({ payload }: OutboxMessage): Promise<void> => {
    const { id: orderId, locations, revision, ...request } = recostRequestOf(payload)
    const cause = { locationRevision: revision, sourceId: null, priceRevision: null }
    return appendReprice(options, { ...request, ...cause, orderId, locationIds: locations })
  }
  await Promise.all(recostMessages.map(append))
  await deleteOutbox(
    options.database.operator,
    recostMessages.map(({ id }) => id),
  )
  return messages.length === pageSize
}

/** Do one page of a price change. Returns false if no price change is left. */
const fanOut = async (options: RecostRelayOptions, lease: Lease): Promise<boolean> => {
  const result = await fanOutPage(options, lease)
  if (result === null) return false
  const { sourceId, revision, page, done, total } = result
  options.logger.info(
    { source: sourceId, revision, page, locations: done, of: total },
    'Recost requests of a price change published',
  )
  return true
}

/**
 * Start the relay. `publish` sends the requests of this process at once. In each turn, one process publishes requests
 * that a crash left in the outbox, and one page of a price change. Without work, the relay looks every second.
 * Source: docs/architecture.md #outbox-and-leases, #recost-requests.
 */
export const startRecostRelay = (options: RecostRelayOptions): RecostRelay => {
  const { database, logger } = options
  const warnAndContinue = (message: string) => (error: unknown) => {
    logger.warn({ err: error }, message)
    return false
  }
  const turn = async ({ renewLease }: LeasedTurn): Promise<boolean> => {
    const lease = await renewLease()
    if (lease === null) return false
    const publishWaiting = async () =>
      publishMessages(options, await readOutbox(database.operator, recordTopic, pageSize))
    const hasMore = [
      await publishWaiting().catch(warnAndContinue('Recost requests not published, retrying')),
      await fanOut(options, lease).catch(warnAndContinue('Page of a price change failed, retrying')),
    ]
    return hasMore.includes(true)
  }
  const work = startTask(options, { name: 'order-relay', restMs, turn })
  return {
    publish: async messages => {
      await publishMessages(options, messages).catch(warnAndContinue('Recost request stays in the outbox'))
    },
    announce: async change => {
      work.wake()
      await appendPriceNotice(options, change).catch(warnAndContinue('Price notice not published'))
    },
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  }
}
