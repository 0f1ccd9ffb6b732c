import { openTurns } from '../platform/event-loop-turn.ts'
import { Failure, isFailure } from '../platform/failure.ts'
import { type ChunkHeaders, fromHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Lane, StoredMessage } from '../platform/log/log.ts'
import type { AcceptedRecord, DeadLetter, ReadingChunk, RecordChunk, Submission } from '../platform/log/messages.ts'
import { withObjects } from '../platform/log/refused-objects.ts'
import { fromReplayHeader } from '../platform/log/replay-header.ts'
import { versionOf } from '../platform/log/version.ts'
import { deadLetterOf } from './dead-letter.ts'
import type { Eraser } from './erase.ts'
import type { LaneOrder } from './plan-orders.ts'
import type { LaneRecord, Origin } from './settle.ts'
import { type LaneReading, readingsOfChunk } from './settle-readings.ts'

/** Messages of one lane that a step takes, in order. */
export type Taken = { readonly lane: Lane; readonly messages: readonly StoredMessage[] }

/** What a step has to do: records by location in lane order, each identity once; headers, chunks, orders; what is poison. */
export type Step = {
  readonly records: ReadonlyMap<string, readonly LaneRecord[]>
  readonly lanes: ReadonlyMap<number, LaneTally>
  readonly submissions: readonly Submission[]
  readonly chunks: readonly ChunkHeaders[]
  /** Chunks whose records are poison as a whole. */
  readonly unreadable: readonly ChunkHeaders[]
  readonly readings: readonly LaneReading[]
  readonly orders: readonly LaneOrder[]
  readonly poison: readonly DeadLetter[]
}

/** What a step is accounted with: all that is held of it while its rows are stored, and until its receipts are written. */
export type StepAccount = Pick<Step, 'lanes' | 'submissions' | 'chunks' | 'unreadable' | 'poison'>

export const accountOf = ({ lanes, submissions, chunks, unreadable, poison }: Step): StepAccount => ({
  ...{ lanes, submissions, chunks, unreadable, poison },
})

/** Records and readings: all that were read, and those of them that are not stored for one of these reasons. */
export type Tally = { read: number; superseded: number; unreadable: number; erased: number }

/** What a step read of a lane. Messages that were put back into it stand apart: what they hold was read before. */
export type LaneTally = { readonly fresh: Tally; readonly replayed: Tally; readonly appendedAt: number[] }

const emptyTally = (): Tally => ({ read: 0, superseded: 0, unreadable: 0, erased: 0 })

/** Tell whether a message was put back into its lane. */
export const isReplay = ({ message }: Origin): boolean => message.headers['replay'] !== undefined

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

const laneTally = (lanes: Map<number, LaneTally>, { lane: { partition } }: Origin): LaneTally => {
  const tally = lanes.get(partition) ?? { fresh: emptyTally(), replayed: emptyTally(), appendedAt: [] }
  lanes.set(partition, tally)
  return tally
}

const tallyOf = (lanes: Map<number, LaneTally>, origin: Origin): Tally => laneTally(lanes, origin)[isReplay(origin) ? 'replayed' : 'fresh']

/** Take in a record; of one identity the one with the later source holds, whichever message is the later one. */
const takeRecord = (step: Building, entry: LaneRecord): void => {
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
    const isLater = twin.sourceVersion > entry.sourceVersion
    known[place] = isLater ? { ...twin, version: entry.version } : entry
    const { origin } = isLater ? entry : twin
    if (origin !== null) tallyOf(step.lanes, origin).superseded += 1
  }
}

/** Take in the records of a chunk. */
const takeChunk = (step: Building, chunk: RecordChunk, headers: ChunkHeaders, origin: Origin): void => {
  const first = versionOf(headers.generation, origin.message.offset, 0)
  const firstSource = sourceOf(headers, origin)
  // Every position must fit.
  const count = chunk.parts.reduce((sum, { records }) => sum + records.length, 0)
  versionOf(headers.generation, origin.message.offset, count)
  let position = 0n
  for (const part of chunk.parts) {
    for (const record of part.records) {
      const version = first + position
      takeRecord(step, { record, part, version, sourceVersion: firstSource === first ? version : firstSource + position, origin })
      position += 1n
    }
  }
  tallyOf(step.lanes, origin).read += count
}

/** Take in register readings. */
const takeReadings = (step: Building, chunk: ReadingChunk, headers: ChunkHeaders, origin: Origin): void => {
  const lead = versionOf(headers.generation, origin.message.offset, 0) - sourceOf(headers, origin)
  const readings = readingsOfChunk(chunk, headers, origin)
  for (const { row } of readings) step.readings.push({ row: { ...row, sourceVersion: row.version - lead }, origin })
  tallyOf(step.lanes, origin).read += readings.length
}

const takeMessage = async (step: Building, lane: Lane, message: StoredMessage, codec: Pick<Codec, 'decodeLane'>): Promise<void> => {
  const headers = fromHeaders(message.headers)
  const content = await codec.decodeLane(message.value)
  const origin = { lane, message }
  if (content.kind === 'submission') step.submissions.push(withObjects(content, message.headers))
  else if (content.kind === 'order') {
    if (content.orderKind === 'UNKNOWN')
      throw new Failure('kind_unknown', 'the order is of a kind that a later release writes', { retriable: false })
    step.orders.push({ order: content, version: versionOf(headers.generation, message.offset, 0), origin })
  } else {
    laneTally(step.lanes, origin).appendedAt.push(message.timestamp)
    if (content.kind === 'records') takeChunk(step, content, headers, origin)
    else takeReadings(step, content, headers, origin)
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
  const turns = openTurns()
  for (const { lane, messages } of taken) {
    for (const message of messages) {
      if (turns.isOver()) await turns.next()
      try {
        await takeMessage(step, lane, message, codec)
      } catch (error) {
        if (isFailure(error) && error.retriable) throw error
        const [code, reason] = isFailure(error) ? [error.code, error.message] : ['undecodable', String(error)]
        step.poison.push(deadLetterOf({ lane, message }, { position: -1, code, reason, at }))
        const chunk = chunkOf(message)
        if (chunk === null) continue
        step.unreadable.push(chunk)
        const tally = tallyOf(step.lanes, { lane, message })
        const count = chunk.batches.reduce((sum, { recordCount }) => sum + recordCount, 0)
        tally.read += count
        tally.unreadable += count
      }
    }
  }
  return step
}

/** Leave out what is of erased objects, and count it. */
export const withoutErased = (step: Step, { living, withoutErased }: Pick<Eraser, 'living' | 'withoutErased'>): Step => {
  const records = withoutErased(step.records)
  const kept = new Set(living(step.readings.map(({ row }) => row)))
  const lanes = new Map(
    [...step.lanes].map(([lane, { fresh, replayed, appendedAt }]) => [
      lane,
      { fresh: { ...fresh }, replayed: { ...replayed }, appendedAt },
    ]),
  )
  const count = (origin: Origin | null): void => {
    if (origin !== null) tallyOf(lanes, origin).erased += 1
  }
  for (const [locationId, entries] of step.records) {
    const own = records.get(locationId) ?? []
    if (own.length === entries.length) continue
    const stay = new Set(own)
    for (const entry of entries) if (!stay.has(entry)) count(entry.origin)
  }
  for (const { row, origin } of step.readings) if (!kept.has(row)) count(origin)
  return { ...step, lanes, records, readings: step.readings.filter(({ row }) => kept.has(row)) }
}
