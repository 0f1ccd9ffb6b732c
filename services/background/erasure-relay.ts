import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Codec } from '../platform/log/avro/codec.ts'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { type Log, recordTopic } from '../platform/log/log.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { takeLease } from '../platform/postgres/leases.ts'
import { eraseObjects, removeErasedLocations } from '../platform/postgres/registry/erase-objects.ts'
import { dueErasures, type Erasure, markErasureDispatched } from '../platform/postgres/registry/erasures.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import type { Logger } from '../platform/telemetry/logger.ts'

export type ErasureRelayOptions = {
  readonly database: Database
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeMeterMessage'>
  /** The present generation of the lanes. */
  readonly generation: () => number
  readonly logger: Pick<Logger, 'info' | 'warn'>
  /** The present instant in ms. */
  readonly at: () => number
}

const leaseMs = 10_000
const restMs = 1_000
const maxPerTurn = 10

const eraseRequestOf = ({ accountId, liveMode, objectId }: Erasure, orderId: string): StoredRowRequest => ({
  kind: 'order',
  orderId,
  orderKind: 'ERASE',
  accountId,
  liveMode,
  objectId,
  locationIds: [],
  locationRevision: null,
  sourceId: null,
  priceRevision: null,
  from: null,
  to: null,
  detail: '',
})

/**
 * Do a round of erasures: of each that is due by now, PostgreSQL forgets what has come up since, every lane gets an order, and the mark is
 * noted as told, last. A crash in between tells the lanes again. Gives the number of erasures.
 */
export const dispatchErasures = async ({
  database,
  log,
  codec,
  generation,
  logger,
  at,
}: ErasureRelayOptions): Promise<number> => {
  const due = await dueErasures(database.operator, at(), maxPerTurn)
  for (const erasure of due) {
    const dispatchedAt = at()
    await withOperator(database, transaction => eraseObjects(transaction, erasure, erasure, dispatchedAt))
    const orderId = randomUUID()
    const value = codec.encodeMeterMessage(eraseRequestOf(erasure, orderId))
    const headers = toHeaders({ generation: generation(), chunkId: orderId, batches: [] })
    const partitions = Array.from({ length: log.partitions(recordTopic) }, (_, partition) => partition)
    await Promise.all(partitions.map(partition => log.append(recordTopic, partition, { key: orderId, value, headers })))
    await withOperator(database, async transaction => {
      if (dispatchedAt >= erasure.until) await removeErasedLocations(transaction, erasure, erasure)
      await markErasureDispatched(transaction, erasure, dispatchedAt)
    })
    logger.info({ object: erasure.objectId, order: orderId }, 'every lane was told of an erasure')
  }
  return due.length
}

/** Start telling the lanes of erasures: at once of new ones, of each again every day until nothing can bring its objects back; one process at a time. */
export const startErasureRelay = (options: ErasureRelayOptions): AsyncDisposable => {
  const stopping = new AbortController()
  const holder = randomUUID()
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const lease = await takeLease(options.database.operator, 'erasure-relay', holder, leaseMs)
        if (lease !== null && (await dispatchErasures(options)) > 0) continue
      } catch (error) {
        options.logger.warn({ err: error }, 'erasures wait')
      }
      await sleep(restMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
