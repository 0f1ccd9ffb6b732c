import { randomUUID } from 'node:crypto'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { recordTopic } from '../platform/log/log.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import { eraseObjects, removeErasedLocations } from '../platform/postgres/registry/erase-objects.ts'
import { dueErasures, type Erasure, markErasureDispatched } from '../platform/postgres/registry/erasures.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import type { LeasedWork } from '../platform/role-module.ts'
import type { RecostRelayOptions } from './recost-relay.ts'

export type ErasureRelayOptions = RecostRelayOptions

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
 * Dispatch the erasures that are due. For each erasure, the relay erases new data of the objects in PostgreSQL, appends
 * an erase request to every partition, and last marks the erasure as dispatched. After a crash in between, the relay
 * repeats all of it.
 * Returns the number of erasures.
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
    logger.info({ object: erasure.objectId, order: orderId }, 'Erasure sent to all partitions')
  }
  return due.length
}

/**
 * Work that sends erasures to the partitions: a new erasure at once, and each erasure again every day until no late
 * message can restore its objects.
 */
export const erasureRelay = (options: ErasureRelayOptions): LeasedWork => ({
  name: 'erasure-relay',
  restMs,
  turn: async () => (await dispatchErasures(options)) > 0,
})
