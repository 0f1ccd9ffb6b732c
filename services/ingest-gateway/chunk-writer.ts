import { randomBytes } from 'node:crypto'
import { openTurns } from '../platform/event-loop-turn.ts'
import { Failure } from '../platform/failure.ts'
import { type ChunkBatch, toHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { RecordPart, Submission } from '../platform/log/messages.ts'
import { laneKey, partitionOf } from '../platform/log/partition.ts'
import { encodeParts } from '../platform/log/record-chunk.ts'
import { type EncodedPart, mostBytes, mostRecords } from '../platform/log/record-part.ts'
import { maxRefusedObjects, refusedObjectBytes, toObjectsHeader } from '../platform/log/refused-objects.ts'
import { type ChunkPace, chunkPace } from './chunk-pace.ts'
import type { LanePressure } from './lane-pressure.ts'

/** Where a record stands in the log. */
export type RecordPlace = { readonly generation: number; readonly offset: number; readonly position: number }

/** Writes accepted records into their lanes, durably before it answers. */
export type ChunkWriter = {
  /**
   * Write what one submission brings, by partition, one part or several; resolve with the place of each partition's first record once
   * all of it is durable. The records of a partition keep their order. Throws `gateway_full` (retriable) before anything is written where
   * too much waits already, here or in a lane, and the log's own failure where one chunk's fate is unknown; then nothing may be acknowledged.
   */
  readonly write: (parts: ReadonlyMap<number, RecordPart | readonly EncodedPart[]>) => Promise<ReadonlyMap<number, RecordPlace>>
  /** Write what is told of a submission as a whole, in as many messages as its refused records need. */
  readonly writeHeader: (submission: Submission) => Promise<void>
}

export type ChunkWriterOptions = {
  readonly log: Pick<Log, 'append' | 'partitions' | 'gatherMs'>
  readonly codec: Pick<Codec, 'encodeLane' | 'encodeParts'>
  /** The generation of the lanes. Throws `Failure` while it is not known. */
  readonly generation: () => number
  /** Tell whether records of an account in a mode may go into a lane now. */
  readonly takes: LanePressure['takes']
  /** Called when records are durable in a lane. */
  readonly appended: (lane: number, records: number) => void
  readonly mostWaitingBytes?: number
}

/** The parts of a submission that wait; the first `taken` of them are in a chunk. */
type Waiting = {
  readonly parts: readonly EncodedPart[]
  readonly resolve: (place: RecordPlace) => void
  readonly reject: (error: unknown) => void
  taken: number
  place: RecordPlace | null
}

type Partition = { readonly index: number; readonly waiting: Waiting[]; readonly pace: ChunkPace; running: boolean }

type Piece = { readonly of: Waiting; readonly part: EncodedPart }

const topic = 'meter.records.v1'
const mostHeaderBytes = 262_144

/**
 * Make the writer. One append is under way per partition; what arrives meanwhile, and while the log would have it gather, goes with the next
 * chunk of up to 500 records or 256 KiB. Bytes that wait or are under way are bounded.
 */
export const chunkWriter = (options: ChunkWriterOptions): ChunkWriter => {
  const { log, codec, generation, takes, appended, mostWaitingBytes = 256 * 2 ** 20 } = options
  const partitions = Array.from(
    { length: log.partitions(topic) },
    (_, index): Partition => ({ index, waiting: [], pace: chunkPace(log.gatherMs), running: false }),
  )
  const process = randomBytes(6).toString('hex')
  let chunks = 0
  let waitingBytes = 0
  const nextChunkId = (): string => `${process}${(chunks++).toString(36)}`

  const appendChunk = async (partition: Partition, pieces: readonly Piece[]): Promise<void> => {
    const parts = pieces.map(({ part }) => part)
    const current = generation()
    const value = codec.encodeParts(parts)
    const headers = toHeaders({ generation: current, chunkId: nextChunkId(), batches: parts.flatMap(batchOf) })
    const offset = await log.append(topic, partition.index, { key: keyOf(parts), value, headers })
    let position = 0
    for (const { of, part } of pieces) {
      of.place ??= { generation: current, offset, position }
      position += part.recordNumbers.length
    }
    appended(partition.index, position)
  }

  const run = async (partition: Partition): Promise<void> => {
    const { waiting, pace } = partition
    while (waiting.length > 0) {
      const gathered = pace.begin(() => recordsIn(waiting))
      if (gathered !== null) await gathered
      const pieces = takeChunk(waiting)
      try {
        await appendChunk(partition, pieces)
      } catch (error) {
        for (const { of } of pieces) of.reject(error)
        // The rest of a submission whose fate is unknown must not follow: it is answered as failed.
        if (waiting[0] === pieces.at(-1)?.of) waiting.shift()
        continue
      }
      for (const { of } of pieces) if (of.taken === of.parts.length && of.place !== null) of.resolve(of.place)
    }
    partition.running = false
  }

  const enqueue = (partition: Partition, parts: readonly EncodedPart[]): Promise<RecordPlace> =>
    new Promise((resolve, reject) => {
      partition.waiting.push({ parts, resolve, reject, taken: 0, place: null })
      if (partition.running) return partition.pace.came(recordsOf(parts))
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
        if (!takes(index, first?.liveMode ?? true, first?.accountId ?? ''))
          throw gatewayFull('too many records of a lane wait for its worker')
      }
      if (waitingBytes + size > mostWaitingBytes) throw gatewayFull('too many records wait for the log')
      waitingBytes += size
      try {
        const written = await settleAll(
          encoded.map(async ([index, ofPartition]) => [index, await enqueue(partitionAt(partitions, index), ofPartition)] as const),
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
        log.append(topic, partition, {
          key: submission.batchId,
          value: codec.encodeLane({ ...submission, refused }),
          headers: { ...headers(), ...toObjectsHeader(refused) },
        })
      const appends: Promise<unknown>[] = []
      const turns = openTurns(submission.accountId)
      for (const refused of headerSlices(submission.refused)) {
        if (turns.isOver()) await turns.next()
        const appending = append(refused)
        // A failure is met below: the messages after it may still have to be encoded.
        appending.catch(() => undefined)
        appends.push(appending)
      }
      await settleAll(appends)
    },
  }
}

export const gatewayFull = (message: string): Failure => new Failure('gateway_full', message, { retriable: true })

/** Wait for all, also where one fails: what is under way still counts as waiting. */
const settleAll = async <T>(promises: readonly Promise<T>[]): Promise<T[]> => {
  const [only] = promises
  // A small submission brings one, and waiting for many has its price.
  if (only !== undefined && promises.length === 1) return [await only]
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

const partitionAt = (partitions: readonly Partition[], index: number): Partition => {
  const partition = partitions[index]
  if (partition === undefined) throw new RangeError(`there is no partition ${index}`)
  return partition
}

/** Take the next chunk from the parts that wait: as many as fit, one at least. */
const takeChunk = (waiting: Waiting[]): readonly Piece[] => {
  const pieces: Piece[] = []
  let count = 0
  let bytes = 0
  for (let of = waiting[0]; of !== undefined; of = waiting[0]) {
    for (let part = of.parts[of.taken]; part !== undefined; part = of.parts[of.taken]) {
      count += part.recordNumbers.length
      bytes += part.bytes.length
      if (pieces.length > 0 && (count > mostRecords || bytes > mostBytes)) return pieces
      pieces.push({ of, part })
      of.taken += 1
    }
    waiting.shift()
  }
  return pieces
}

const recordsOf = (parts: readonly EncodedPart[]): number => parts.reduce((sum, { recordNumbers }) => sum + recordNumbers.length, 0)

const recordsIn = (waiting: readonly Waiting[]): number =>
  waiting.reduce((sum, { parts, taken }) => sum + recordsOf(taken === 0 ? parts : parts.slice(taken)), 0)

const batchOf = ({ accountId, liveMode, batchId, recordNumbers }: EncodedPart): readonly ChunkBatch[] =>
  batchId === null ? [] : [{ accountId, liveMode, batchId, recordNumbers }]

const keyOf = (parts: readonly EncodedPart[]): string => laneKey(parts[0]?.accountId ?? '', parts[0]?.locationId ?? '')

/** Cut refused records into messages that fit; one at least, because the counts travel with it. */
const headerSlices = (refused: Submission['refused']): Submission['refused'][] => {
  const slices: Submission['refused'][number][][] = [[]]
  let bytes = 0
  for (const record of refused) {
    const size = 16 + refusedObjectBytes + 3 * (record.error.length + (record.recordReferenceId?.length ?? 0))
    if (bytes + size > mostHeaderBytes || slices.at(-1)?.length === maxRefusedObjects) {
      slices.push([])
      bytes = 0
    }
    slices.at(-1)?.push(record)
    bytes += size
  }
  return slices
}
