import { createJsonCursor, type JsonCursor } from '../../contract/metering/fast-path/json-cursor.ts'
import { toFirstElement, toNextElement } from '../../contract/metering/fast-path/plain-body.ts'
import {
  type ByteRange,
  type PlainReader,
  plainReader,
  readPlainRecord,
} from '../../contract/metering/fast-path/plain-record.ts'
import { isNdjson } from '../../contract/metering/meter-batch.ts'
import type { RawBody } from '../../contract/operation.ts'
import { submissionLimits } from '../../contract/registry/account.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import {
  addRecord,
  beginPart,
  type EncodedPart,
  endPart,
  isPartFull,
  type PartWriter,
  partWriter,
} from '../../platform/log/avro/fast-path/record-part.ts'
import type { RefusedRecord } from '../../platform/log/messages.ts'
import type { KnownObject } from '../known-objects.ts'
import {
  duplicateMessage,
  missingObjectMessage,
  type ValidatedSubmission,
  type ValidationContext,
} from '../validate-submission.ts'
import { type DuplicateTable, duplicateTable } from './duplicate-table.ts'
import { idOf } from './id-table.ts'
import { recordIdBits } from './record-id.ts'

/** A submission on its way through. */
type PlainValidation = ValidationContext & {
  readonly reader: PlainReader
  readonly owner: ReturnType<ValidationContext['known']['ownerOf']>
  readonly isLineDelimited: boolean
  /** Ids that were met, not known for certain, and not asked for yet. */
  readonly uncertainIds: { readonly locations: Set<string>; readonly devices: Set<string> }
  /** Ids that were asked for; null: there is no such object. What is known may be forgotten between two turns, this is not. */
  readonly resolvedIds: ReadonlyMap<string, KnownObject | null>
  readonly duplicates: DuplicateTable
  readonly partitions: Map<number, PartitionParts>
  readonly refused: RefusedRecord[]
  records: number
}

/** What goes to one lane: parts that are full, and the one that is being written. */
type PartitionParts = { readonly writer: PartWriter; readonly parts: EncodedPart[] }

/**
 * Judge a submission straight from the bytes of its body; null where they are not of the plain form that clients usually send: then
 * nothing is said, and the body is to be judged by what it parses to. Where there is an answer, it is the one that `judgeSubmission` gives.
 * Asks for objects that are not known, and then goes through the body again, until nothing is unsure: each id is asked for once at most.
 */
export const validatePlain = async (body: RawBody, context: ValidationContext): Promise<ValidatedSubmission | null> => {
  const resolvedIds = new Map<string, KnownObject | null>()
  for (;;) {
    const uncertainIds = { locations: new Set<string>(), devices: new Set<string>() }
    const validated = await validateBody(body, context, { uncertainIds, resolvedIds })
    if (validated === null || uncertainIds.locations.size + uncertainIds.devices.size === 0) return validated
    const found = await context.known.resolve(context.part, uncertainIds, context.at)
    for (const ids of [uncertainIds.locations, uncertainIds.devices])
      for (const id of ids) resolvedIds.set(id, found.get(id) ?? null)
  }
}

/** A record of all that is required has at least so many bytes. */
const minRecordBytes = 128

const validateBody = async (
  body: RawBody,
  context: ValidationContext,
  { uncertainIds, resolvedIds }: Pick<PlainValidation, 'uncertainIds' | 'resolvedIds'>,
): Promise<ValidatedSubmission | null> => {
  const { part, apiVersion, at, known } = context
  const cursor = createJsonCursor(body.bytes)
  const maxRecords = Math.min(submissionLimits.records, Math.ceil(cursor.length / minRecordBytes))
  const validation: PlainValidation = {
    ...context,
    reader: plainReader(cursor, apiVersion, at),
    owner: known.ownerOf(part),
    isLineDelimited: isNdjson(body),
    uncertainIds,
    resolvedIds,
    duplicates: duplicateTable(maxRecords),
    partitions: new Map(),
    refused: [],
    records: 0,
  }
  try {
    if (!(await validateRecords(validation, cursor, maxRecords))) return null
    for (const { writer, parts } of validation.partitions.values())
      if (writer.recordNumbers.length > 0) parts.push(endPart(writer, part))
  } finally {
    for (const { writer } of validation.partitions.values())
      if (spareWriters.length < maxSpareWriters) spareWriters.push(writer)
  }
  const parts = new Map([...validation.partitions].map(([partition, { parts }]) => [partition, parts]))
  return {
    parts,
    recordsSubmitted: validation.records,
    recordsAccepted: validation.records - validation.refused.length,
    refused: validation.refused,
  }
}

/** Writers that are not in use; more than these are left to the collector. */
const spareWriters: PartWriter[] = []
const maxSpareWriters = 64

/** Records that are read between two looks at the clock. */
const recordsAtOnce = 256

const validateRecords = async (
  validation: PlainValidation,
  cursor: JsonCursor,
  maxRecords: number,
): Promise<boolean> => {
  const { isLineDelimited, reader, part } = validation
  const timeSlice = startTimeSlices(part.accountId)
  let nextToken = toFirstElement(cursor, isLineDelimited)
  while (nextToken === 'element') {
    const start = cursor.index
    if (validation.records === maxRecords || !readPlainRecord(reader)) return false
    validation.records += 1
    acceptOrRefuse(validation)
    nextToken = toNextElement(cursor, isLineDelimited, start)
    if (validation.records % recordsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
  }
  return nextToken === 'end'
}

/** Find an object; null: there is none, undefined: it must be asked for. */
const findObject = (
  { known, owner, at, resolvedIds }: PlainValidation,
  isDevice: boolean,
  bits: Int32Array,
): KnownObject | null | undefined => {
  const found = known.find(owner, isDevice, bits, at)
  return found === undefined && resolvedIds.size > 0 ? resolvedIds.get(idOf(isDevice, bits)) : found
}

/** Refuse the record if it names what does not exist or repeats another one; else give it its id and write it. */
const acceptOrRefuse = (validation: PlainValidation): void => {
  const { uncertainIds, duplicates, part, records } = validation
  const { record, cursor } = validation.reader
  const hasDevice = record.device.at >= 0
  const location = findObject(validation, false, record.location.bits)
  const device = hasDevice ? findObject(validation, true, record.device.bits) : null
  if (location === undefined) uncertainIds.locations.add(idOf(false, record.location.bits))
  if (device === undefined) uncertainIds.devices.add(idOf(true, record.device.bits))
  // The body is gone through again; what is written now is not used.
  if (location === undefined || device === undefined || uncertainIds.locations.size + uncertainIds.devices.size > 0)
    return
  const missing = missingObjectMessage(location !== null, !hasDevice || device !== null)
  if (location === null || missing !== null) {
    refuse(validation, missing ?? '')
    return
  }
  const id = recordIdBits(part, record, cursor)
  const duplicateNumber = duplicates.note(id, records)
  if (duplicateNumber === 0)
    addRecord(writerOf(validation, location), location, device, record, cursor.view, records, id)
  else refuse(validation, duplicateMessage(duplicateNumber))
}

const refuse = ({ reader: { record, cursor }, refused, records }: PlainValidation, error: string): void => {
  refused.push({
    recordNumber: records,
    recordReferenceId: textAt(cursor, record.recordReference),
    error,
    locationId: idOf(false, record.location.bits),
    deviceId: record.device.at >= 0 ? idOf(true, record.device.bits) : null,
  })
}

const textAt = ({ bytes }: JsonCursor, { at, length }: ByteRange): string | null =>
  length === 0 ? null : Buffer.from(bytes.buffer, bytes.byteOffset + at, length).toString()

const writerOf = ({ partitions, part }: PlainValidation, { partition }: KnownObject): PartWriter => {
  let found = partitions.get(partition)
  if (found === undefined) {
    found = { writer: spareWriters.pop() ?? partWriter(), parts: [] }
    beginPart(found.writer)
    partitions.set(partition, found)
  } else if (isPartFull(found.writer)) {
    found.parts.push(endPart(found.writer, part))
    beginPart(found.writer)
  }
  return found.writer
}
