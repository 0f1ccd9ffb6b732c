import { Failure, isFailure } from '../platform/failure.ts'
import { type ChunkHeaders, fromHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Lane, StoredMessage } from '../platform/log/log.ts'
import type { AcceptedRecord, DeadLetter, Order, RecordChunk, Submission } from '../platform/log/messages.ts'
import { versionOf } from '../platform/log/version.ts'
import { deadLetterOf } from './dead-letter.ts'
import type { LaneRecord, Origin } from './settle.ts'

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
  readonly orders: readonly Order[]
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
  readonly orders: Order[]
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

/** Take in the records of a chunk; of one identity the last one in the lane holds. */
const takeChunk = (step: Building, tally: LaneTally, chunk: RecordChunk, headers: ChunkHeaders, origin: Origin): void => {
  const first = versionOf(headers.generation, origin.message.offset, 0)
  // Every position must fit.
  versionOf(
    headers.generation,
    origin.message.offset,
    chunk.parts.reduce((count, { records }) => count + records.length, 0),
  )
  let position = 0
  for (const part of chunk.parts) {
    for (const record of part.records) {
      const version = first + BigInt(position)
      position += 1
      const entry: LaneRecord = { record, part, version, sourceVersion: version, origin }
      const known = step.records.get(record.locationId)
      if (known === undefined) step.records.set(record.locationId, [entry])
      else {
        const place = placeIn(step, known, record)
        if (place < 0) known.push(entry)
        else {
          known[place] = entry
          tally.superseded += 1
        }
      }
    }
  }
  tally.read += position
  step.chunks.push(headers)
}

const takeMessage = async (step: Building, lane: Lane, message: StoredMessage, codec: Pick<Codec, 'decodeLane'>): Promise<void> => {
  const headers = fromHeaders(message.headers)
  const content = await codec.decodeLane(message.value)
  if (content.kind === 'records') {
    const tally = step.lanes.get(lane.partition) ?? { read: 0, superseded: 0, appendedAt: [] }
    step.lanes.set(lane.partition, tally)
    tally.appendedAt.push(message.timestamp)
    takeChunk(step, tally, content, headers, { lane, message })
  } else if (content.kind === 'submission') step.submissions.push(content)
  else if (content.kind === 'order') step.orders.push(content)
  else throw new Failure('kind_unknown', `a message of kind ${content.kind} cannot be handled`, { retriable: false })
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
