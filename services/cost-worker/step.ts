import { Failure, isFailure } from '../platform/failure.ts'
import { type ChunkHeaders, fromHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Lane, StoredMessage } from '../platform/log/log.ts'
import type { AcceptedRecord, DeadLetter, ReadingChunk, RecordChunk, Submission } from '../platform/log/messages.ts'
import { fromReplayHeader } from '../platform/log/replay-header.ts'
import { versionOf } from '../platform/log/version.ts'
import { deadLetterOf } from './dead-letter.ts'
import type { LaneOrder } from './plan-orders.ts'
import type { LaneRecord, Origin } from './settle.ts'
import { type LaneReading, readingsOfChunk } from './settle-readings.ts'

/** Messages of one lane that a step takes, in order. */
export type Taken = { readonly lane: Lane; readonly messages: readonly StoredMessage[] }

/** What a step has to do: records by location in lane order, each identity once; headers, chunks, orders; what is poison. */
export type Step = {
  readonly records: ReadonlyMap<string, readonly LaneRecord[]>
  /** Of each lane: records read, and those replaced by a later one of the same identity. */
  readonly lanes: ReadonlyMap<number, LaneTally>
  readonly submissions: readonly Submission[]
  readonly chunks: readonly ChunkHeaders[]
  /** Chunks whose records are poison as a whole. */
  readonly unreadable: readonly ChunkHeaders[]
  readonly readings: readonly LaneReading[]
  readonly orders: readonly LaneOrder[]
  readonly poison: readonly DeadLetter[]
}

export type LaneTally = { read: number; superseded: number; readonly appendedAt: number[] }

type Building = {
  readonly records: Map<string, LaneRecord[]>
  /** Places by record id in the lists that are long. */
  readonly indexes: Map<string, Map<string, number>>
  readonly lanes: Map<number, LaneTally>
  readonly submissions: Submission[]
  readonly chunks: ChunkHeaders[]
  readonly unreadable: ChunkHeaders[]
  readonly readings: LaneReading[]
  readonly orders: LaneOrder[]
  readonly poison: DeadLetter[]
}

/** A location's list is looked through up to this length; longer ones have an index. */
const longList = 8

/** Find the place of a record in its location's list; -1 where it is new. */
const placeIn = (step: Building, entries: readonly LaneRecord[], { locationId, recordId }: AcceptedRecord): number => {
  if (entries.length < longList) return entries.findIndex(({ record }) => record.recordId === recordId)
  let index = step.indexes.get(locationId)
  if (index === undefined) {
    index = new Map(entries.map(({ record }, place) => [record.recordId, place]))
    step.indexes.set(locationId, index)
  }
  const place = index.get(recordId)
  if (place === undefined) index.set(recordId, entries.length)
  return place ?? -1
}

/** Where the inputs of a message stood first: elsewhere than the message if it was put back into the lane. */
const sourceOf = (headers: ChunkHeaders, { message }: Origin): bigint => {
  const replayed = fromReplayHeader(message.headers)
  return replayed === null
    ? versionOf(headers.generation, message.offset, 0)
    : versionOf(replayed.generation, replayed.offset, replayed.position)
}

/** Take in a record; of one identity the one with the later source holds, whichever message is the later one. */
const takeRecord = (step: Building, tally: LaneTally, entry: LaneRecord): void => {
  const { locationId } = entry.record
  const known = step.records.get(locationId)
  if (known === undefined) {
    step.records.set(locationId, [entry])
    return
  }
  const place = placeIn(step, known, entry.record as AcceptedRecord)
  const twin = known[place]
  if (twin === undefined) known.push(entry)
  else {
    known[place] = twin.sourceVersion > entry.sourceVersion ? { ...twin, version: entry.version } : entry
    tally.superseded += 1
  }
}

/** Take in the records of a chunk. */
const takeChunk = (step: Building, tally: LaneTally, chunk: RecordChunk, headers: ChunkHeaders, origin: Origin): void => {
  const first = versionOf(headers.generation, origin.message.offset, 0)
  const firstSource = sourceOf(headers, origin)
  // Every position must fit.
  const count = chunk.parts.reduce((sum, { records }) => sum + records.length, 0)
  versionOf(headers.generation, origin.message.offset, count)
  let position = 0n
  for (const part of chunk.parts) {
    for (const record of part.records) {
      const version = first + position
      takeRecord(step, tally, { record, part, version, sourceVersion: firstSource === first ? version : firstSource + position, origin })
      position += 1n
    }
  }
  tally.read += count
}

/** Take in register readings. */
const takeReadings = (step: Building, tally: LaneTally, chunk: ReadingChunk, headers: ChunkHeaders, origin: Origin): void => {
  const lead = versionOf(headers.generation, origin.message.offset, 0) - sourceOf(headers, origin)
  const readings = readingsOfChunk(chunk, headers, origin)
  for (const { row } of readings) step.readings.push({ row: { ...row, sourceVersion: row.version - lead }, origin })
  tally.read += readings.length
}

const takeMessage = async (step: Building, lane: Lane, message: StoredMessage, codec: Pick<Codec, 'decodeLane'>): Promise<void> => {
  const headers = fromHeaders(message.headers)
  const content = await codec.decodeLane(message.value)
  const origin = { lane, message }
  if (content.kind === 'submission') step.submissions.push(content)
  else if (content.kind === 'order') {
    if (content.orderKind === 'UNKNOWN')
      throw new Failure('kind_unknown', 'the order is of a kind that a later release writes', { retriable: false })
    step.orders.push({ order: content, version: versionOf(headers.generation, message.offset, 0), origin })
  } else {
    const tally = step.lanes.get(lane.partition) ?? { read: 0, superseded: 0, appendedAt: [] }
    step.lanes.set(lane.partition, tally)
    tally.appendedAt.push(message.timestamp)
    if (content.kind === 'records') takeChunk(step, tally, content, headers, origin)
    else takeReadings(step, tally, content, headers, origin)
    step.chunks.push(headers)
  }
}

/** The batches of a chunk that cannot be read are counted as handled and failed: their headers need no schema. */
const chunkOf = (message: StoredMessage): ChunkHeaders | null => {
  try {
    return fromHeaders(message.headers)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * Read the messages of a step. What cannot be read becomes poison and delays nobody; a registry that is away is thrown on.
 * Records of a location keep the order of their lane.
 */
export const readStep = async (taken: readonly Taken[], codec: Pick<Codec, 'decodeLane'>, at: number): Promise<Step> => {
  const step: Building = {
    records: new Map(),
    indexes: new Map(),
    lanes: new Map(),
    submissions: [],
    chunks: [],
    unreadable: [],
    readings: [],
    orders: [],
    poison: [],
  }
  for (const { lane, messages } of taken) {
    for (const message of messages) {
      try {
        await takeMessage(step, lane, message, codec)
      } catch (error) {
        if (isFailure(error) && error.retriable) throw error
        const [code, reason] = isFailure(error) ? [error.code, error.message] : ['undecodable', String(error)]
        step.poison.push(deadLetterOf({ lane, message }, { position: -1, code, reason, at }))
        const chunk = chunkOf(message)
        if (chunk !== null) step.unreadable.push(chunk)
      }
    }
  }
  return step
}
