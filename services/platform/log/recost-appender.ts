import { randomUUID } from 'node:crypto'
import type { SourceRevision } from '../postgres/pricing/pricing-input.ts'
import type { Codec } from './avro/codec.ts'
import { toHeaders } from './chunk-headers.ts'
import { type Log, recordTopic } from './log.ts'
import type { StoredRowRequest } from './messages.ts'
import { partitionKey, partitionOf } from './partition.ts'

/** Dependencies of the functions that append recost requests. */
export type RecostAppenderDependencies = {
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeMeterMessage'>
  readonly generation: () => number
}

/** An interval to price again at locations of one account and mode. */
export type RepriceRequest = Pick<
  StoredRowRequest,
  'liveMode' | 'locationIds' | 'locationRevision' | 'sourceId' | 'priceRevision' | 'from' | 'to'
> & {
  readonly orderId?: string
  readonly accountId: string
}

/** Group locations of an account by partition. */
const locationsByPartition = (
  accountId: string,
  locationIds: readonly string[],
  partitions: number,
): ReadonlyMap<number, readonly string[]> =>
  Map.groupBy(locationIds, locationId => partitionOf(partitionKey(accountId, locationId), partitions))

/**
 * Append a recost request to the partitions of its locations, with at most `maxLocations` locations per message.
 * Resolves after all messages are durable. Rejects with the errors of the log; some messages may then be stored, and a
 * repeated call is harmless.
 */
export const appendReprice = async (
  { log, codec, generation }: RecostAppenderDependencies,
  repriceRequest: RepriceRequest,
  maxLocations = 500,
): Promise<void> => {
  const { orderId = randomUUID() } = repriceRequest
  const headers = toHeaders({ generation: generation(), chunkId: orderId, batches: [] })
  const append = (partition: number, locationIds: readonly string[]): Promise<number> => {
    const message: StoredRowRequest = {
      ...repriceRequest,
      kind: 'order',
      orderKind: 'RE_PRICE',
      orderId,
      locationIds,
      objectId: null,
      detail: '',
    }
    return log.append(recordTopic, partition, { key: orderId, value: codec.encodeMeterMessage(message), headers })
  }
  const partitions = [
    ...locationsByPartition(repriceRequest.accountId, repriceRequest.locationIds, log.partitions(recordTopic)),
  ]
  await Promise.all(
    partitions.flatMap(([partition, ids]) =>
      Array.from({ length: Math.ceil(ids.length / maxLocations) }, (_, part) =>
        append(partition, ids.slice(part * maxLocations, (part + 1) * maxLocations)),
      ),
    ),
  )
}

/**
 * Append a notice to every partition that a market source has a new price revision. The notice is a recost request
 * without locations.
 */
export const appendPriceNotice = async (
  { log, codec, generation }: RecostAppenderDependencies,
  { sourceId, revision }: SourceRevision,
): Promise<void> => {
  const orderId = randomUUID()
  const headers = toHeaders({ generation: generation(), chunkId: orderId, batches: [] })
  const withoutLocations = {
    accountId: null,
    liveMode: true,
    locationIds: [],
    locationRevision: null,
    from: null,
    to: null,
    objectId: null,
    detail: '',
  }
  const value = codec.encodeMeterMessage({
    ...withoutLocations,
    kind: 'order',
    orderKind: 'RE_PRICE',
    orderId,
    sourceId,
    priceRevision: revision,
  })
  const partitions = Array.from({ length: log.partitions(recordTopic) }, (_, partition) => partition)
  await Promise.all(partitions.map(partition => log.append(recordTopic, partition, { key: orderId, value, headers })))
}
