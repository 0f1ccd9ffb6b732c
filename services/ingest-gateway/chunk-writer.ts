import { randomBytes } from 'node:crypto'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import { Failure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { type ChunkBatch, toHeaders } from '../platform/log/chunk-headers.ts'
import { toImportHeader } from '../platform/log/import-header.ts'
import { type Log, recordTopic } from '../platform/log/log.ts'
import type { Submission } from '../platform/log/messages.ts'
import { partitionKey, partitionOf } from '../platform/log/partition.ts'
import { maxRefusedObjects, refusedObjectBytes, toObjectsHeader } from '../platform/log/refused-objects.ts'
import { toWarningsHeader } from '../platform/log/warnings-header.ts'
import type { RecordPart } from '../record-bytes/accepted-record.ts'
import { encodeParts } from '../record-bytes/record-chunk.ts'
import { type EncodedPart, maxPartBytes, maxPartRecords } from '../record-bytes/record-part.ts'
import type { PartitionBacklog } from './partition-backlog.ts'
import { type WriteLimit, writeLate } from './write-limit.ts'

/** Position of a record in the log. */
export type RecordPosition = { readonly generation: number; readonly offset: number; readonly position: number }

/** Writes accepted records into their partitions. */
export type ChunkWriter = {
  /**
   * Write the parts of one submission, by partition. Resolves with the position of the first record of each partition,
   * when all parts are durable. The records of a partition keep their order.
   * Throws `gateway_full` (retriable) before anything is written if too many bytes wait. Throws the log's error if the
   * result of an append is unknown; then nothing may be acknowledged. After `limit` is over, no chunk gets a part of the
   * submission.
   */
  readonly write: (
    parts: ReadonlyMap<number, RecordPart | readonly EncodedPart[]>,
    limit: WriteLimit,
  ) => Promise<ReadonlyMap<number, RecordPosition>>
  /** Write the header of a submission, in as many messages as its refused records need. */
  readonly writeHeader: (submission: Submission, limit: WriteLimit) => Promise<void>
}

export type ChunkWriterOptions = {
  readonly log: Pick<Log, 'append' | 'partitions' | 'lingerMs'>
  readonly codec: Pick<Codec, 'encodeMeterMessage' | 'encodeParts'>
  /** Return the generation of the partitions. Throws `Failure` while it is unknown. */
  readonly generation: () => number
  /** Return whether a partition accepts records of an account and mode now. */
  readonly accepts: PartitionBacklog['accepts']
  /** Called when records are durable in a partition. */
  readonly onAppended: (partition: number, records: number) => void
  readonly maxWaitingBytes?: number
}

/** Submission that waits. Its first `takenCount` parts are in a chunk. */
type WaitingSubmission = {
  readonly parts: readonly EncodedPart[]
  readonly limit: WriteLimit
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

type WriterState = {
  readonly options: ChunkWriterOptions
  readonly partitions: readonly PartitionQueue[]
  readonly nextChunkId: () => string
  /** Bytes that wait or are being appended. */
  waitingBytes: number
}

const maxHeaderBytes = 262_144
const defaultMaxWaitingBytes = 256 * 2 ** 20

/**
 * Lets records of a partition wait for more after a chunk has started: for the linger time of the log, or until a chunk
 * is full.
 */
export type ChunkPace = {
  /** Note that more records wait. */
  readonly noteArrived: (records: number) => void
  /** Start the next chunk. Returns a promise if it must wait. `waiting` returns the number of waiting records. */
  readonly begin: (waiting: () => number) => Promise<void> | null
}

/** Create the pace of a partition without chunks. */
export const chunkPace = (lingerMs: number): ChunkPace => {
  let lastChunkAt = Number.NEGATIVE_INFINITY
  let missing = 0
  let endWait = (): void => undefined

  const waitForMore = async (ms: number): Promise<void> => {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      endWait = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    lastChunkAt = performance.now()
  }

  return {
    noteArrived: records => {
      missing -= records
      if (missing <= 0) endWait()
    },
    begin: waiting => {
      const now = performance.now()
      const remainingMs = lastChunkAt + lingerMs - now
      missing = remainingMs > 0 ? maxPartRecords - waiting() : 0
      if (missing > 0) return waitForMore(remainingMs)
      lastChunkAt = now
      return null
    },
  }
}

const appendChunk = async (
  { options, nextChunkId }: WriterState,
  partition: PartitionQueue,
  queuedParts: readonly QueuedPart[],
): Promise<void> => {
  const { log, codec, generation, onAppended } = options
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

/** Append chunks of a partition, one at a time, until no submission waits. */
const run = async (state: WriterState, partition: PartitionQueue): Promise<void> => {
  const { waiting, pace } = partition
  while (waiting.length > 0) {
    const waited = pace.begin(() => waitingRecordCount(waiting))
    if (waited !== null) await waited
    refuseLate(waiting)
    const queuedParts = takeNextChunk(waiting)
    if (queuedParts.length === 0) continue
    try {
      await appendChunk(state, partition, queuedParts)
    } catch (error) {
      for (const { submission } of queuedParts) submission.reject(error)
      // The submission is answered as failed, so its remaining parts must not be written.
      if (waiting[0] === queuedParts.at(-1)?.submission) waiting.shift()
      continue
    }
    for (const { submission } of queuedParts)
      if (submission.takenCount === submission.parts.length && submission.firstPosition !== null)
        submission.resolve(submission.firstPosition)
  }
  partition.running = false
}

const enqueue = (
  state: WriterState,
  partition: PartitionQueue,
  parts: readonly EncodedPart[],
  limit: WriteLimit,
): Promise<RecordPosition> =>
  new Promise((resolve, reject) => {
    partition.waiting.push({ parts, limit, resolve, reject, takenCount: 0, firstPosition: null })
    if (partition.running) return partition.pace.noteArrived(recordCountOf(parts))
    partition.running = true
    void run(state, partition)
  })

const write = async (
  state: WriterState,
  parts: ReadonlyMap<number, RecordPart | readonly EncodedPart[]>,
  limit: WriteLimit,
): Promise<ReadonlyMap<number, RecordPosition>> => {
  const { accepts, maxWaitingBytes = defaultMaxWaitingBytes } = state.options
  const encoded: (readonly [number, readonly EncodedPart[]])[] = []
  let size = 0
  for (const [index, part] of parts) {
    const ownParts = 'records' in part ? encodeParts(part) : part
    for (const { bytes } of ownParts) size += bytes.length
    if (!accepts(index, ownParts[0]?.liveMode ?? true, ownParts[0]?.accountId ?? '')) throw partitionFull()
    encoded.push([index, ownParts])
  }
  if (state.waitingBytes + size > maxWaitingBytes) throw gatewayFull('Too many records wait for the log.')
  state.waitingBytes += size
  try {
    const positions = await awaitAll(
      encoded.map(([index, ownParts]) => enqueue(state, partitionAt(state.partitions, index), ownParts, limit)),
    )
    return new Map(encoded.map(([index], place) => [index, positions[place] as RecordPosition]))
  } finally {
    state.waitingBytes -= size
  }
}

const writeHeader = async (
  { options: { log, codec, generation }, partitions, nextChunkId }: WriterState,
  submission: Submission,
  limit: WriteLimit,
): Promise<void> => {
  const partition = partitionOf(submission.batchId, partitions.length)
  // Each message has the warnings, because each writes the same row of the receipt.
  const warnings = toWarningsHeader(submission.warnings ?? [])
  const ofImport = toImportHeader(submission.ofImport)
  const append = (refused: Submission['refused']) => {
    const value = codec.encodeMeterMessage({ ...submission, refused })
    const headers = toHeaders({ generation: generation(), chunkId: nextChunkId(), batches: [] })
    return log.append(recordTopic, partition, {
      key: submission.batchId,
      value,
      headers: { ...headers, ...toObjectsHeader(refused), ...warnings, ...ofImport },
    })
  }
  const appends: Promise<unknown>[] = []
  const groups = splitRefused(submission.refused)
  if (groups.length === 1) return void (await append(groups[0] ?? []))
  const timeSlice = startTimeSlices(submission.accountId)
  for (const refused of groups) {
    if (timeSlice.isOver()) await timeSlice.pause()
    if (limit.isOver) throw writeLate()
    const appending = append(refused)
    // `awaitAll` receives the error. Until then, later messages are still encoded.
    appending.catch(() => undefined)
    appends.push(appending)
  }
  await awaitAll(appends)
}

/**
 * Create the writer. One append runs per partition. Records that arrive meanwhile, or during the linger time of the
 * log, go into the next chunk of up to 500 records or 256 KiB. The bytes that wait or are being appended are limited.
 */
export const chunkWriter = (options: ChunkWriterOptions): ChunkWriter => {
  const { log } = options
  const processId = randomBytes(6).toString('hex')
  let chunkCount = 0
  const state: WriterState = {
    options,
    partitions: Array.from(
      { length: log.partitions(recordTopic) },
      (_, index): PartitionQueue => ({ index, waiting: [], pace: chunkPace(log.lingerMs), running: false }),
    ),
    nextChunkId: () => `${processId}${(chunkCount++).toString(36)}`,
    waitingBytes: 0,
  }
  return {
    write: (parts, limit) => write(state, parts, limit),
    writeHeader: (submission, limit) => writeHeader(state, submission, limit),
  }
}

export const gatewayFull = (message: string): Failure => new Failure('gateway_full', message, { retriable: true })

export const partitionFull = (): Failure => gatewayFull('Too many records of this partition wait for the cost worker.')

/** Wait for all promises, even if one fails: their bytes still wait. */
const awaitAll = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  const [only] = promises
  // A small submission has one promise, and `allSettled` costs time.
  if (only !== undefined && promises.length === 1) return [await only]
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

const partitionAt = (partitions: readonly PartitionQueue[], index: number): PartitionQueue => {
  const partition = partitions[index]
  if (partition === undefined) throw new RangeError(`There is no partition ${index}.`)
  return partition
}

/** Remove the submissions whose callers have been refused: nothing more of them may be appended. */
const refuseLate = (waiting: WaitingSubmission[]): void => {
  if (!waiting.some(({ limit }) => limit.isOver)) return
  for (const { limit, reject } of waiting) if (limit.isOver) reject(writeLate())
  waiting.splice(0, waiting.length, ...waiting.filter(({ limit }) => !limit.isOver))
}

/** Take the parts of the next chunk: as many as fit, at least one. */
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

/** Split refused records into messages. There is at least one message, because it contains the counts. */
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
