import type { PlainRows } from '../platform/clickhouse/encoding/fast-path/plain-rows.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import { Failure, isFailure } from '../platform/failure.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { type ChunkHeaders, fromHeaders } from '../platform/log/chunk-headers.ts'
import { fromImportHeader } from '../platform/log/import-header.ts'
import type { Assignment, StoredMessage } from '../platform/log/log.ts'
import type { DeadLetter, ReadingChunk, Submission } from '../platform/log/messages.ts'
import { withObjects } from '../platform/log/refused-objects.ts'
import { fromReplayHeader } from '../platform/log/replay-header.ts'
import { rowVersionOf } from '../platform/log/row-version.ts'
import { fromWarningsHeader } from '../platform/log/warnings-header.ts'
import type { AcceptedRecord } from '../record-bytes/accepted-record.ts'
import { encodeRecordChunk } from '../record-bytes/record-chunk.ts'
import {
  addChunkToColumns,
  type ColumnLocation,
  partOf,
  recordColumns,
  recordInRow,
} from '../record-bytes/record-columns.ts'
import { type ReadingToStore, readingsOfChunk } from './cost-readings.ts'
import { deadLetterOf } from './dead-letter.ts'
import type { Eraser } from './erase.ts'
import { plainPartitions, type StepColumns } from './plain-records.ts'
import type { MessageOrigin, RecordToCost } from './record-to-cost.ts'
import type { ReceivedRequest } from './recost/merge-requests.ts'

/** Messages of one partition in a step, in order. */
export type FetchedMessages = { readonly assignment: Assignment; readonly messages: readonly StoredMessage[] }

/** Content of a step. `records` are by location, in the order of the partition, and each record id is there once. */
export type Step = {
  readonly records: ReadonlyMap<string, readonly RecordToCost[]>
  /** Rows of the plain records, which are not in `records`, and the partitions of their locations. */
  readonly plain: PlainRows | null
  readonly plainPartitions: ReadonlyMap<string, number>
  readonly partitionCounts: ReadonlyMap<number, PartitionCounts>
  readonly submissions: readonly Submission[]
  readonly chunks: readonly ChunkHeaders[]
  /** Chunks that cannot be read: all their records failed. */
  readonly unreadableChunks: readonly ChunkHeaders[]
  readonly readings: readonly ReadingToStore[]
  readonly requests: readonly ReceivedRequest[]
  readonly poison: readonly DeadLetter[]
}

/** Part of a step that stays in memory until its receipts are written. */
export type StepSummary = Pick<Step, 'partitionCounts' | 'submissions' | 'chunks' | 'unreadableChunks' | 'poison'>

export const summaryOf = ({ partitionCounts, submissions, chunks, unreadableChunks, poison }: Step): StepSummary => ({
  partitionCounts,
  submissions,
  chunks,
  unreadableChunks,
  poison,
})

/** Number of records and readings: all that were read, and those that are not stored, by reason. */
export type StepCounts = { read: number; superseded: number; unreadable: number; erased: number }

/** Counts of a step in a partition. Replayed messages have their own counts, because their records were read before. */
export type PartitionCounts = {
  readonly fresh: StepCounts
  readonly replayed: StepCounts
  readonly appendedAt: number[]
}

const emptyCounts = (): StepCounts => ({ read: 0, superseded: 0, unreadable: 0, erased: 0 })

/** Return whether a message is a replayed dead letter. */
export const isReplay = ({ message }: MessageOrigin): boolean => message.headers['replay'] !== undefined

/** Decoded messages. The records of `columns` are not in `records` yet. */
export type StepDraft = {
  readonly columns: StepColumns
  readonly records: Map<string, RecordToCost[]>
  /** Indexes by record id, for locations with many records. */
  readonly indexesByLocation: Map<string, Map<string, number>>
  readonly partitionCounts: Map<number, PartitionCounts>
  readonly submissions: Submission[]
  readonly chunks: ChunkHeaders[]
  readonly unreadableChunks: ChunkHeaders[]
  readonly readings: ReadingToStore[]
  readonly requests: ReceivedRequest[]
  readonly poison: DeadLetter[]
}

/** Records of a location up to which a record is searched without an index. */
const maxScannedRecords = 8

/** Records that are added between two checks of the time slice. */
const recordsPerCheck = 64

/** Return the index of a record among those of its location; -1 if it is new. */
const findRecordIndex = (
  step: StepDraft,
  entries: readonly RecordToCost[],
  { locationId, recordId }: AcceptedRecord,
): number => {
  if (entries.length < maxScannedRecords) return entries.findIndex(({ record }) => record.recordId === recordId)
  let index = step.indexesByLocation.get(locationId)
  if (index === undefined) {
    index = new Map(entries.map(({ record }, recordIndex) => [record.recordId, recordIndex]))
    step.indexesByLocation.set(locationId, index)
  }
  const recordIndex = index.get(recordId)
  if (recordIndex === undefined) index.set(recordId, entries.length)
  return recordIndex ?? -1
}

/**
 * Return the source version of a message's first record. A replayed message has the version of the original message.
 */
const sourceVersionOf = (headers: ChunkHeaders, { message }: MessageOrigin): bigint => {
  const replayed = fromReplayHeader(message.headers)
  return replayed === null
    ? rowVersionOf(headers.generation, message.offset, 0)
    : rowVersionOf(replayed.generation, replayed.offset, replayed.position)
}

const partitionCountsOf = (
  partitionCounts: Map<number, PartitionCounts>,
  { assignment: { partition } }: MessageOrigin,
): PartitionCounts => {
  const counts = partitionCounts.get(partition) ?? { fresh: emptyCounts(), replayed: emptyCounts(), appendedAt: [] }
  partitionCounts.set(partition, counts)
  return counts
}

const countsOf = (partitionCounts: Map<number, PartitionCounts>, origin: MessageOrigin): StepCounts =>
  partitionCountsOf(partitionCounts, origin)[isReplay(origin) ? 'replayed' : 'fresh']

/** Add a record. If its id is known, the record with the higher source version wins, in any order of the messages. */
const addRecord = (step: StepDraft, entry: RecordToCost): void => {
  const { locationId } = entry.record
  const known = step.records.get(locationId)
  if (known === undefined) {
    step.records.set(locationId, [entry])
    return
  }
  const recordIndex = findRecordIndex(step, known, entry.record as AcceptedRecord)
  const duplicate = known[recordIndex]
  if (duplicate === undefined) known.push(entry)
  else {
    const isDuplicateNewer = duplicate.sourceVersion > entry.sourceVersion
    const older = isDuplicateNewer ? entry : duplicate
    // One list for all forms: a copy for each form would take quadratic time.
    const superseded = duplicate.superseded ?? []
    superseded.push(older)
    known[recordIndex] = isDuplicateNewer
      ? { ...duplicate, version: entry.version, superseded }
      : { ...entry, superseded }
    const { origin } = older
    if (origin !== null) countsOf(step.partitionCounts, origin).superseded += 1
  }
}

/** Add the record of a row. */
const addRow = (step: StepDraft, row: number): void => {
  const { columns } = step
  const part = partOf(columns, row)
  const { firstVersion, firstSourceVersion, origin } = part.source
  const position = BigInt(columns.position[row] as number)
  const version = firstVersion + position
  addRecord(step, {
    record: recordInRow(columns, row),
    part,
    version,
    sourceVersion: firstSourceVersion === firstVersion ? version : firstSourceVersion + position,
    origin,
  })
}

/** Add the records of a chunk to the columns. */
const addChunk = (step: StepDraft, value: Buffer, at: number, headers: ChunkHeaders, origin: MessageOrigin): void => {
  const { columns } = step
  const partCount = columns.parts.length
  const firstVersion = rowVersionOf(headers.generation, origin.message.offset, 0)
  const source = { firstVersion, firstSourceVersion: sourceVersionOf(headers, origin), origin }
  const count = addChunkToColumns(columns, value, at, source, records => {
    // Throws if the last position does not fit into a version.
    rowVersionOf(headers.generation, origin.message.offset, records)
  })
  if (isReplay(origin))
    for (const { locations } of columns.parts.slice(partCount))
      for (const index of locations) (columns.locations[index] as ColumnLocation).isPlain = false
  countsOf(step.partitionCounts, origin).read += count
}

/**
 * Cost the plain records, and add the others to `records`: those that `costPlain` leaves, and those of locations that
 * have also other input in the step.
 */
export const completeStep = async (
  step: StepDraft,
  costPlain: (records: StepColumns) => Promise<PlainRows | null>,
): Promise<Step> => {
  const { columns, readings, requests } = step
  const mixed = new Set(readings.map(({ row }) => row.locationId))
  for (const location of columns.locations) location.isPlain &&= requests.length === 0 && !mixed.has(location.id)
  const plain = await costPlain(columns)
  const timeSlice = startTimeSlices()
  let added = 0
  for (const location of columns.locations) {
    if (location.isPlain) continue
    for (let row = location.first; row >= 0; row = columns.next[row] as number) {
      added += 1
      if (added % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
      addRow(step, row)
    }
  }
  return { ...step, plain, plainPartitions: plainPartitions(plain, columns) }
}

/** Add register readings. */
const addReadings = (step: StepDraft, chunk: ReadingChunk, headers: ChunkHeaders, origin: MessageOrigin): void => {
  const replayLead = rowVersionOf(headers.generation, origin.message.offset, 0) - sourceVersionOf(headers, origin)
  const readings = readingsOfChunk(chunk, headers, origin)
  for (const { row, rule } of readings)
    step.readings.push({ row: { ...row, sourceVersion: row.version - replayLead }, rule, origin })
  countsOf(step.partitionCounts, origin).read += readings.length
}

const addMessage = async (
  step: StepDraft,
  assignment: Assignment,
  message: StoredMessage,
  codec: Pick<Codec, 'decodeMeterMessage' | 'readChunk'>,
): Promise<void> => {
  const headers = fromHeaders(message.headers)
  const origin = { assignment, message }
  const isChunk = codec.readChunk(message.value, (value, at) => {
    addChunk(step, value, at, headers, origin)
    return true
  })
  if (isChunk === true) {
    partitionCountsOf(step.partitionCounts, origin).appendedAt.push(message.timestamp)
    step.chunks.push(headers)
    return
  }
  const content = await codec.decodeMeterMessage(message.value)
  if (content.kind === 'submission') {
    const warnings = fromWarningsHeader(message.headers)
    step.submissions.push({
      ...withObjects(content, message.headers),
      warnings,
      ...fromImportHeader(message.headers),
    })
  } else if (content.kind === 'order') {
    if (content.orderKind === 'UNKNOWN')
      throw new Failure(
        'kind_unknown',
        'A later release wrote this kind of request. Update the cost worker, then replay the dead letter.',
      )
    step.requests.push({ request: content, version: rowVersionOf(headers.generation, message.offset, 0), origin })
  } else {
    partitionCountsOf(step.partitionCounts, origin).appendedAt.push(message.timestamp)
    if (content.kind === 'records') addChunk(step, encodeRecordChunk(content, 0), 0, headers, origin)
    else addReadings(step, content, headers, origin)
    step.chunks.push(headers)
  }
}

/** Read the headers of an unreadable chunk; they need no schema. Its batches count as handled and failed. */
const tryReadHeaders = (message: StoredMessage): ChunkHeaders | null => {
  try {
    return fromHeaders(message.headers)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const bytesOf = (fetched: readonly FetchedMessages[]): number =>
  fetched.reduce((sum, { messages }) => messages.reduce((own, { value }) => own + value.length, sum), 0)

/**
 * Decode the messages of a step. An unreadable message becomes poison, and the other messages continue. Throws if the
 * schema registry is unavailable. The records of a location keep the order of their partition.
 */
export const readStep = async (
  fetched: readonly FetchedMessages[],
  codec: Pick<Codec, 'decodeMeterMessage' | 'readChunk'>,
  at: number,
): Promise<StepDraft> => {
  const step: StepDraft = {
    columns: recordColumns(bytesOf(fetched)),
    records: new Map(),
    indexesByLocation: new Map(),
    partitionCounts: new Map(),
    submissions: [],
    chunks: [],
    unreadableChunks: [],
    readings: [],
    requests: [],
    poison: [],
  }
  const timeSlice = startTimeSlices()
  for (const { assignment, messages } of fetched) {
    for (const message of messages) {
      if (timeSlice.isOver()) await timeSlice.pause()
      try {
        await addMessage(step, assignment, message, codec)
      } catch (error) {
        if (isFailure(error) && error.retriable) throw error
        const [code, reason] = isFailure(error) ? [error.code, error.message] : ['undecodable', String(error)]
        step.poison.push(deadLetterOf({ assignment, message }, { position: -1, code, reason, at }))
        const chunk = tryReadHeaders(message)
        if (chunk === null) continue
        step.unreadableChunks.push(chunk)
        const counts = countsOf(step.partitionCounts, { assignment, message })
        const count = chunk.batches.reduce((sum, { recordCount }) => sum + recordCount, 0)
        counts.read += count
        counts.unreadable += count
      }
    }
  }
  return step
}

/** Remove the records and readings of erased objects, and count them. */
export const dropErased = (
  step: Step,
  { withoutErasedRows, withoutErasedRecords }: Pick<Eraser, 'withoutErasedRows' | 'withoutErasedRecords'>,
): Step => {
  const records = withoutErasedRecords(step.records)
  const retainedRows = new Set(withoutErasedRows(step.readings.map(({ row }) => row)))
  const partitionCounts = new Map(
    [...step.partitionCounts].map(([partition, { fresh, replayed, appendedAt }]) => [
      partition,
      { fresh: { ...fresh }, replayed: { ...replayed }, appendedAt },
    ]),
  )
  const count = (origin: MessageOrigin | null): void => {
    if (origin !== null) countsOf(partitionCounts, origin).erased += 1
  }
  for (const [locationId, entries] of step.records) {
    const retained = records.get(locationId) ?? []
    if (retained.length === entries.length) continue
    const retainedSet = new Set(retained)
    for (const entry of entries) if (!retainedSet.has(entry)) count(entry.origin)
  }
  for (const { row, origin } of step.readings) if (!retainedRows.has(row)) count(origin)
  return { ...step, partitionCounts, records, readings: step.readings.filter(({ row }) => retainedRows.has(row)) }
}
