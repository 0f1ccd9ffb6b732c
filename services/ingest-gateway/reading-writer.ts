import { randomBytes } from 'node:crypto'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { recordTopic } from '../platform/log/log.ts'
import type { Reading, ReadingPart } from '../platform/log/messages.ts'
import { partitionKey } from '../platform/log/partition.ts'
import { type ChunkWriterOptions, gatewayFull } from './chunk-writer.ts'

/** Writes accepted register readings into the lane of their location, durably before it answers. */
export type ReadingWriter = {
  /**
   * Write the readings of one submission, in chunks of up to 500 or 256 KiB, one after the other; resolve once all are durable.
   * Throws `gateway_full` (retriable) before anything is written where too much waits already, here or in the lane, and the log's own failure
   * where a chunk's fate is unknown; then nothing may be acknowledged, and what follows is not written.
   */
  readonly write: (partition: number, part: ReadingPart) => Promise<void>
}

const maxReadings = 500
const maxChunkBytes = 262_144

/** An upper bound of what a reading takes in the chunk and in its headers. */
const sizeOf = ({ recordReferenceId }: Reading): number => 64 + 3 * (recordReferenceId?.length ?? 0)

/** Make the writer. Bytes that wait or are under way are bounded. */
export const readingWriter = (options: ChunkWriterOptions): ReadingWriter => {
  const { log, codec, generation, accepts, onAppended, maxWaitingBytes = 64 * 2 ** 20 } = options
  const processId = randomBytes(6).toString('hex')
  let chunkCount = 0
  let waitingBytes = 0
  return {
    write: async (partition, part) => {
      const size = part.readings.reduce((sum, reading) => sum + sizeOf(reading), 0)
      if (!accepts(partition, part.liveMode, part.accountId))
        throw gatewayFull('too many records of a lane wait for its worker')
      if (waitingBytes + size > maxWaitingBytes) throw gatewayFull('too many readings wait for the log')
      waitingBytes += size
      try {
        for (const readings of chunksOf(part.readings)) {
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
