import { randomUUID } from 'node:crypto'
import type { SourceRevision } from '../postgres/pricing/pricing-input.ts'
import type { Codec } from './avro/codec.ts'
import { toHeaders } from './chunk-headers.ts'
import { type Log, recordTopic } from './log.ts'
import type { StoredRowRequest } from './messages.ts'
import { partitionKey, partitionOf } from './partition.ts'

/** What orders travel by. */
export type RecostAppenderDependencies = {
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeMeterMessage'>
  readonly generation: () => number
}

/** A span to be priced again at locations of one account and mode. */
export type RepriceRequest = Pick<
  StoredRowRequest,
  'liveMode' | 'locationIds' | 'locationRevision' | 'sourceId' | 'priceRevision' | 'from' | 'to'
> & {
  readonly orderId?: string
  readonly accountId: string
}

/** The lanes of some locations of an account, with the locations of each. */
const locationsByPartition = (
  accountId: string,
  locationIds: readonly string[],
  partitions: number,
): ReadonlyMap<number, readonly string[]> =>
  Map.groupBy(locationIds, locationId => partitionOf(partitionKey(accountId, locationId), partitions))

/**
 * Put an order into the lanes of its locations, at most `most` locations in a message; resolves once all of it is durable. Rejects with what
 * the log throws: a part may stand in its lane then, and putting all of it again does no harm.
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

/** Tell every lane that a source has a new revision of its prices: an order without locations. */
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
