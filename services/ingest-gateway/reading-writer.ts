import { randomBytes } from 'node:crypto'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { recordTopic } from '../platform/log/log.ts'
import type { Reading, ReadingPart } from '../platform/log/messages.ts'
import { partitionKey } from '../platform/log/partition.ts'
import { type ChunkWriterOptions, gatewayFull, partitionFull } from './chunk-writer.ts'
import { type WriteLimit, writeLate } from './write-limit.ts'

/** Writes accepted register readings into the partition of their location. */
export type ReadingWriter = {
  /**
   * Write the readings of one submission, in chunks of up to 500 readings or 256 KiB, one after the other. Resolves
   * when all are durable.
   * Throws `gateway_full` (retriable) before anything is written if too many bytes wait. Throws the log's error if the
   * result of an append is unknown; then nothing may be acknowledged, and later chunks are not written. After `limit` is
   * over, no chunk is written.
   */
  readonly write: (partition: number, part: ReadingPart, limit: WriteLimit) => Promise<void>
}

const maxReadings = 500
const maxChunkBytes = 262_144

/** Return an upper bound of the bytes of a reading in the chunk and its headers. */
const sizeOf = ({ recordReferenceId }: Reading): number => 64 + 3 * (recordReferenceId?.length ?? 0)

/** Create the writer. The bytes that wait or are being appended are limited. */
export const readingWriter = (options: ChunkWriterOptions): ReadingWriter => {
  const { log, codec, generation, accepts, onAppended, maxWaitingBytes = 64 * 2 ** 20 } = options
  const processId = randomBytes(6).toString('hex')
  let chunkCount = 0
  let waitingBytes = 0
  return {
    write: async (partition, part, limit) => {
      const size = part.readings.reduce((sum, reading) => sum + sizeOf(reading), 0)
      if (!accepts(partition, part.liveMode, part.accountId)) throw partitionFull()
      if (waitingBytes + size > maxWaitingBytes) throw gatewayFull('Too many readings wait for the log.')
      waitingBytes += size
      try {
        for (const readings of chunksOf(part.readings)) {
          if (limit.isOver) throw writeLate()
          const { accountId, liveMode, batchId, locationId } = part
          const recordNumbers = readings.map(({ recordNumber }) => recordNumber)
          const batches = batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumbers }]
          await log.append(recordTopic, partition, {
            key: partitionKey(accountId, locationId),
            value: codec.encodeMeterMessage({ kind: 'readings', parts: [{ ...part, readings }] }),
            headers: toHeaders({
              generation: generation(),
              chunkId: `${processId}${(chunkCount++).toString(36)}`,
              batches,
            }),
          })
          onAppended(partition, readings.length)
        }
      } finally {
        waitingBytes -= size
      }
    },
  }
}

const chunksOf = (readings: readonly Reading[]): readonly (readonly Reading[])[] => {
  const chunks: Reading[][] = []
  let bytes = 0
  for (const reading of readings) {
    const current = chunks.at(-1)
    const size = sizeOf(reading)
    if (current === undefined || current.length === maxReadings || bytes + size > maxChunkBytes) {
      chunks.push([reading])
      bytes = size
    } else {
      current.push(reading)
      bytes += size
    }
  }
  return chunks
}
