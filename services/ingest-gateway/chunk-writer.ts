import { randomBytes } from 'node:crypto'
import { Failure } from '../platform/failure.ts'
import { type ChunkBatch, toHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { AcceptedRecord, RecordPart, Submission } from '../platform/log/messages.ts'
import { laneKey, partitionOf } from '../platform/log/partition.ts'

/** Where a record stands in the log. */
export type RecordPlace = { readonly generation: number; readonly offset: number; readonly position: number }

/** Writes accepted records into their lanes, durably before it answers. */
export type ChunkWriter = {
  /**
   * Write what one submission brings, by partition; resolve with the place of each part's first record once all of it is durable.
   * The records of a part keep their order. Throws `gateway_full` (retriable) before anything is written where too much waits already,
   * and the log's own failure where one chunk's fate is unknown; then nothing may be acknowledged.
   */
  readonly write: (parts: ReadonlyMap<number, RecordPart>) => Promise<ReadonlyMap<number, RecordPlace>>
  /** Write what is told of a submission as a whole, in as many messages as its refused records need. */
  readonly writeHeader: (submission: Submission) => Promise<void>
}

export type ChunkWriterOptions = {
  readonly log: Pick<Log, 'append' | 'partitions'>
  readonly codec: Pick<Codec, 'encodeLane'>
  /** The generation of the lanes. Throws `Failure` while it is not known. */
  readonly generation: () => number
  /** Called when records are durable in a lane. */
  readonly appended: (lane: number, records: number) => void
  readonly mostWaitingBytes?: number
}

/** A part that waits; `from` is the first of its records that is in no chunk yet. */
type Waiting = {
  readonly part: RecordPart
  readonly resolve: (place: RecordPlace) => void
  readonly reject: (error: unknown) => void
  from: number
  place: RecordPlace | null
}

type Partition = { readonly index: number; readonly waiting: Waiting[]; running: boolean }

type Piece = { readonly of: Waiting; readonly records: readonly AcceptedRecord[] }

const topic = 'meter.records.v1'
const mostRecords = 500
const mostBytes = 262_144
const mostHeaderBytes = 262_144

/** An upper bound of what a record takes, in the chunk and in its headers. */
const sizeOf = (record: AcceptedRecord): number =>
  80 + 3 * ((record.sessionReferenceId?.length ?? 0) + (record.recordReferenceId?.length ?? 0))

const sizeOfAll = (parts: Iterable<RecordPart>): number => {
  let size = 0
  for (const { records } of parts) for (const record of records) size += sizeOf(record)
  return size
}

/**
 * Make the writer. One append is under way per partition; what arrives meanwhile goes with the next chunk of up to 500 records or
 * 256 KiB. Bytes that wait or are under way are bounded.
 */
export const chunkWriter = ({ log, codec, generation, appended, mostWaitingBytes = 256 * 2 ** 20 }: ChunkWriterOptions): ChunkWriter => {
  const partitions = Array.from({ length: log.partitions(topic) }, (_, index): Partition => ({ index, waiting: [], running: false }))
  const process = randomBytes(6).toString('hex')
  let chunks = 0
  let waitingBytes = 0
  const nextChunkId = (): string => `${process}${(chunks++).toString(36)}`

  const appendChunk = async (partition: Partition, pieces: readonly Piece[]): Promise<void> => {
    const parts = pieces.map(({ of, records }) => ({ ...of.part, records }))
    const current = generation()
    const value = codec.encodeLane({ kind: 'records', parts })
    const headers = toHeaders({ generation: current, chunkId: nextChunkId(), batches: parts.flatMap(batchOf) })
    const offset = await log.append(topic, partition.index, { key: keyOf(parts), value, headers })
    let position = 0
    for (const { of, records } of pieces) {
      of.place ??= { generation: current, offset, position }
      position += records.length
    }
    appended(partition.index, position)
  }

  const run = async (partition: Partition): Promise<void> => {
    const { waiting } = partition
    while (waiting.length > 0) {
      const pieces = takeChunk(waiting)
      try {
        await appendChunk(partition, pieces)
      } catch (error) {
        for (const { of } of pieces) of.reject(error)
        // The rest of a part whose fate is unknown must not follow: the submission is answered as failed.
        if (waiting[0] === pieces.at(-1)?.of) waiting.shift()
        continue
      }
      for (const { of } of pieces) if (of.from === of.part.records.length && of.place !== null) of.resolve(of.place)
    }
    partition.running = false
  }

  const enqueue = (partition: Partition, part: RecordPart): Promise<RecordPlace> =>
    new Promise((resolve, reject) => {
      partition.waiting.push({ part, resolve, reject, from: 0, place: null })
      if (partition.running) return
      partition.running = true
      void run(partition)
    })

  return {
    write: async parts => {
      const size = sizeOfAll(parts.values())
      if (waitingBytes + size > mostWaitingBytes) {
        throw new Failure('gateway_full', 'too many records wait for the log', { retriable: true })
      }
      waitingBytes += size
      try {
        const written = await settleAll(
          [...parts].map(async ([index, part]) => [index, await enqueue(partitionAt(partitions, index), part)] as const),
        )
        return new Map(written)
      } finally {
        waitingBytes -= size
      }
    },
    writeHeader: async submission => {
      const partition = partitionOf(submission.batchId, partitions.length)
      const headers = (): ReturnType<typeof toHeaders> => toHeaders({ generation: generation(), chunkId: nextChunkId(), batches: [] })
      const append = (refused: Submission['refused']) =>
        log.append(topic, partition, { key: submission.batchId, value: codec.encodeLane({ ...submission, refused }), headers: headers() })
      await settleAll(headerSlices(submission.refused).map(append))
    },
  }
}

/** Wait for all, also where one fails: what is under way still counts as waiting. */
const settleAll = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

const partitionAt = (partitions: readonly Partition[], index: number): Partition => {
  const partition = partitions[index]
  if (partition === undefined) throw new RangeError(`there is no partition ${index}`)
  return partition
}

/** Take the next chunk from the parts that wait; a part that does not fit leaves its rest at the front. */
const takeChunk = (waiting: Waiting[]): readonly Piece[] => {
  const pieces: Piece[] = []
  let count = 0
  let bytes = 0
  for (;;) {
    const next = waiting[0]
    if (next === undefined) return pieces
    const { records } = next.part
    let to = next.from
    while (to < records.length && count < mostRecords) {
      const size = sizeOf(records[to] as AcceptedRecord)
      if (count > 0 && bytes + size > mostBytes) break
      bytes += size
      count += 1
      to += 1
    }
    if (to > next.from)
      pieces.push({ of: next, records: next.from === 0 && to === records.length ? records : records.slice(next.from, to) })
    next.from = to
    if (to < records.length) return pieces
    waiting.shift()
  }
}

const batchOf = ({ accountId, liveMode, batchId, records }: RecordPart): readonly ChunkBatch[] =>
  batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumbers: records.map(record => record.recordNumber) }]

const keyOf = (parts: readonly RecordPart[]): string => laneKey(parts[0]?.accountId ?? '', parts[0]?.records[0]?.locationId ?? '')

/** Cut refused records into messages that fit; one at least, because the counts travel with it. */
const headerSlices = (refused: Submission['refused']): Submission['refused'][] => {
  const slices: Submission['refused'][number][][] = [[]]
  let bytes = 0
  for (const record of refused) {
    const size = 16 + 3 * (record.error.length + (record.recordReferenceId?.length ?? 0))
    if (bytes + size > mostHeaderBytes) {
      slices.push([])
      bytes = 0
    }
    slices.at(-1)?.push(record)
    bytes += size
  }
  return slices
}
