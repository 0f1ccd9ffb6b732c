import { randomBytes } from 'node:crypto'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import { Failure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { encodeParts } from '../platform/log/avro/fast-path/record-chunk.ts'
import { type EncodedPart, maxPartBytes, maxPartRecords } from '../platform/log/avro/fast-path/record-part.ts'
import { type ChunkBatch, toHeaders } from '../platform/log/chunk-headers.ts'
import { type Log, recordTopic } from '../platform/log/log.ts'
import type { RecordPart, Submission } from '../platform/log/messages.ts'
import { partitionKey, partitionOf } from '../platform/log/partition.ts'
import { maxRefusedObjects, refusedObjectBytes, toObjectsHeader } from '../platform/log/refused-objects.ts'
import { type ChunkPace, chunkPace } from './chunk-pace.ts'
import type { PartitionBacklog } from './partition-backlog.ts'

/** Where a record stands in the log. */
export type RecordPosition = { readonly generation: number; readonly offset: number; readonly position: number }

/** Writes accepted records into their lanes, durably before it answers. */
export type ChunkWriter = {
  /**
   * Write what one submission brings, by partition, one part or several; resolve with the place of each partition's first record once
   * all of it is durable. The records of a partition keep their order. Throws `gateway_full` (retriable) before anything is written where
   * too much waits already, here or in a lane, and the log's own failure where one chunk's fate is unknown; then nothing may be acknowledged.
   */
  readonly write: (
    parts: ReadonlyMap<number, RecordPart | readonly EncodedPart[]>,
  ) => Promise<ReadonlyMap<number, RecordPosition>>
  /** Write what is told of a submission as a whole, in as many messages as its refused records need. */
  readonly writeHeader: (submission: Submission) => Promise<void>
}

export type ChunkWriterOptions = {
  readonly log: Pick<Log, 'append' | 'partitions' | 'lingerMs'>
  readonly codec: Pick<Codec, 'encodeMeterMessage' | 'encodeParts'>
  /** The generation of the lanes. Throws `Failure` while it is not known. */
  readonly generation: () => number
  /** Tell whether records of an account in a mode may go into a lane now. */
  readonly accepts: PartitionBacklog['accepts']
  /** Called when records are durable in a lane. */
  readonly onAppended: (partition: number, records: number) => void
  readonly maxWaitingBytes?: number
}

/** The parts of a submission that wait; the first `taken` of them are in a chunk. */
type WaitingSubmission = {
  readonly parts: readonly EncodedPart[]
  readonly resolve: (firstPosition: RecordPosition) => void
  readonly reject: (error: unknown) => void
  takenCount: number
  firstPosition: RecordPosition | null
}

type PartitionQueue = {
  readonly index: number
  readonly waiting: WaitingSubmission[]
  readonly pace: ChunkPace
  running: boolean
}

type QueuedPart = { readonly submission: WaitingSubmission; readonly part: EncodedPart }

const maxHeaderBytes = 262_144

/**
 * Make the writer. One append is under way per partition; what arrives meanwhile, and while the log would have it gather, goes with the next
 * chunk of up to 500 records or 256 KiB. Bytes that wait or are under way are bounded.
 */
export const chunkWriter = (options: ChunkWriterOptions): ChunkWriter => {
  const { log, codec, generation, accepts, onAppended, maxWaitingBytes = 256 * 2 ** 20 } = options
  const partitions = Array.from(
    { length: log.partitions(recordTopic) },
    (_, index): PartitionQueue => ({ index, waiting: [], pace: chunkPace(log.lingerMs), running: false }),
  )
  const processId = randomBytes(6).toString('hex')
  let chunkCount = 0
  let waitingBytes = 0
  const nextChunkId = (): string => `${processId}${(chunkCount++).toString(36)}`

  const appendChunk = async (partition: PartitionQueue, queuedParts: readonly QueuedPart[]): Promise<void> => {
    const parts = queuedParts.map(({ part }) => part)
    const currentGeneration = generation()
    const value = codec.encodeParts(parts)
    const headers = toHeaders({
      generation: currentGeneration,
      chunkId: nextChunkId(),
      batches: parts.flatMap(batchesOf),
    })
    const offset = await log.append(recordTopic, partition.index, { key: keyOf(parts), value, headers })
    let position = 0
    for (const { submission, part } of queuedParts) {
      submission.firstPosition ??= { generation: currentGeneration, offset, position }
      position += part.recordNumbers.length
    }
    onAppended(partition.index, position)
  }

  const run = async (partition: PartitionQueue): Promise<void> => {
    const { waiting, pace } = partition
    while (waiting.length > 0) {
      const waited = pace.begin(() => waitingRecordCount(waiting))
      if (waited !== null) await waited
      const queuedParts = takeNextChunk(waiting)
      try {
        await appendChunk(partition, queuedParts)
      } catch (error) {
        for (const { submission } of queuedParts) submission.reject(error)
        // The rest of a submission whose fate is unknown must not follow: it is answered as failed.
        if (waiting[0] === queuedParts.at(-1)?.submission) waiting.shift()
        continue
      }
      for (const { submission } of queuedParts)
        if (submission.takenCount === submission.parts.length && submission.firstPosition !== null)
          submission.resolve(submission.firstPosition)
    }
    partition.running = false
  }

  const enqueue = (partition: PartitionQueue, parts: readonly EncodedPart[]): Promise<RecordPosition> =>
    new Promise((resolve, reject) => {
      partition.waiting.push({ parts, resolve, reject, takenCount: 0, firstPosition: null })
      if (partition.running) return partition.pace.noteArrived(recordCountOf(parts))
      partition.running = true
      void run(partition)
    })

  return {
    write: async parts => {
      const encoded = [...parts].map(([index, part]) => [index, 'records' in part ? encodeParts(part) : part] as const)
      let size = 0
      for (const [index, ofPartition] of encoded) {
        for (const { bytes } of ofPartition) size += bytes.length
        const [first] = ofPartition
        if (!accepts(index, first?.liveMode ?? true, first?.accountId ?? ''))
          throw gatewayFull('too many records of a lane wait for its worker')
      }
      if (waitingBytes + size > maxWaitingBytes) throw gatewayFull('too many records wait for the log')
      waitingBytes += size
      try {
        const written = await awaitAll(
          encoded.map(
            async ([index, ofPartition]) =>
              [index, await enqueue(partitionAt(partitions, index), ofPartition)] as const,
          ),
        )
        return new Map(written)
      } finally {
        waitingBytes -= size
      }
    },
    writeHeader: async submission => {
      const partition = partitionOf(submission.batchId, partitions.length)
      const headers = (): ReturnType<typeof toHeaders> =>
        toHeaders({ generation: generation(), chunkId: nextChunkId(), batches: [] })
      const append = (refused: Submission['refused']) =>
        log.append(recordTopic, partition, {
          key: submission.batchId,
          value: codec.encodeMeterMessage({ ...submission, refused }),
          headers: { ...headers(), ...toObjectsHeader(refused) },
        })
      const appends: Promise<unknown>[] = []
      const turns = startTimeSlices(submission.accountId)
      for (const refused of splitRefused(submission.refused)) {
        if (turns.isOver()) await turns.pause()
        const appending = append(refused)
        // A failure is met below: the messages after it may still have to be encoded.
        appending.catch(() => undefined)
        appends.push(appending)
      }
      await awaitAll(appends)
    },
  }
}

export const gatewayFull = (message: string): Failure => new Failure('gateway_full', message, { retriable: true })

/** Wait for all, also where one fails: what is under way still counts as waiting. */
const awaitAll = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  const [only] = promises
  // A small submission brings one, and waiting for many has its price.
  if (only !== undefined && promises.length === 1) return [await only]
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

const partitionAt = (partitions: readonly PartitionQueue[], index: number): PartitionQueue => {
  const partition = partitions[index]
  if (partition === undefined) throw new RangeError(`there is no partition ${index}`)
  return partition
}

/** Take the next chunk from the parts that wait: as many as fit, one at least. */
const takeNextChunk = (waiting: WaitingSubmission[]): readonly QueuedPart[] => {
  const queuedParts: QueuedPart[] = []
  let count = 0
  let bytes = 0
  for (let submission = waiting[0]; submission !== undefined; submission = waiting[0]) {
    for (
      let part = submission.parts[submission.takenCount];
      part !== undefined;
      part = submission.parts[submission.takenCount]
    ) {
      count += part.recordNumbers.length
      bytes += part.bytes.length
      if (queuedParts.length > 0 && (count > maxPartRecords || bytes > maxPartBytes)) return queuedParts
      queuedParts.push({ submission, part })
      submission.takenCount += 1
    }
    waiting.shift()
  }
  return queuedParts
}

const recordCountOf = (parts: readonly EncodedPart[]): number =>
  parts.reduce((sum, { recordNumbers }) => sum + recordNumbers.length, 0)

const waitingRecordCount = (waiting: readonly WaitingSubmission[]): number =>
  waiting.reduce(
    (sum, { parts, takenCount }) => sum + recordCountOf(takenCount === 0 ? parts : parts.slice(takenCount)),
    0,
  )

const batchesOf = ({ accountId, liveMode, batchId, recordNumbers }: EncodedPart): readonly ChunkBatch[] =>
  batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumbers }]

const keyOf = (parts: readonly EncodedPart[]): string =>
  partitionKey(parts[0]?.accountId ?? '', parts[0]?.locationId ?? '')

/** Cut refused records into messages that fit; one at least, because the counts travel with it. */
const splitRefused = (refused: Submission['refused']): Submission['refused'][] => {
  const groups: Submission['refused'][number][][] = [[]]
  let bytes = 0
  for (const record of refused) {
    const size = 16 + refusedObjectBytes + 3 * (record.error.length + (record.recordReferenceId?.length ?? 0))
    if (bytes + size > maxHeaderBytes || groups.at(-1)?.length === maxRefusedObjects) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)?.push(record)
    bytes += size
  }
  return groups
}
