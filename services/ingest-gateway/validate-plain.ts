import { isNdjson } from '../contract/metering/meter-batch.ts'
import type { RawBody } from '../contract/operation.ts'
import { submissionLimits } from '../contract/registry/account.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { RefusedRecord } from '../platform/log/messages.ts'
import type { IdBits } from '../record-bytes/avro-bytes.ts'
import { idOf } from '../record-bytes/id-table.ts'
import { createJsonCursor, type JsonCursor } from '../record-bytes/json-cursor.ts'
import { type NextPart, toFirstElement, toNextElement } from '../record-bytes/plain-body.ts'
import { type ByteRange, type PlainReader, plainReader, readPlainRecord } from '../record-bytes/plain-record.ts'
import { recordIdBits } from '../record-bytes/record-id.ts'
import {
  addRecord,
  beginPart,
  type EncodedPart,
  endPart,
  isPartFull,
  type PartWriter,
  partWriter,
} from '../record-bytes/record-part.ts'
import type { KnownObject } from './known-objects.ts'
import { type RecordWarnings, recordWarnings } from './record-warnings.ts'
import {
  duplicateMessage,
  missingObjectMessage,
  powerMessage,
  type ValidatedSubmission,
  type ValidationContext,
} from './validate-records.ts'

/** Record ids of a submission, to find duplicates. */
export type DuplicateTable = {
  /** Add a record id. Returns the number of the record that already has this id, 0 if there is none. */
  readonly note: (id: IdBits, recordNumber: number) => number
}

/** Words of an entry: the three words of an id, and the number of its record. */
const stride = 4

/**
 * Create a table for up to `maxRecords` records. It is at most half full. Each table has its own memory, because
 * submissions are validated in turns.
 */
export const duplicateTable = (maxRecords: number): DuplicateTable => {
  const slotCount = 2 ** Math.ceil(Math.log2(maxRecords * 2 + 2))
  const table = new Int32Array(slotCount * stride)
  return {
    note: ({ high, middle, low }, recordNumber) => {
      for (let slot = high & (slotCount - 1); ; slot = (slot + 1) & (slotCount - 1)) {
        const at = slot * stride
        const number = table[at + 3] as number
        if (number === 0) {
          table[at] = high
          table[at + 1] = middle
          table[at + 2] = low
          table[at + 3] = recordNumber
          return 0
        }
        if (table[at] === high && table[at + 1] === middle && table[at + 2] === low) return number
      }
    },
  }
}

/** Submission while its body is validated. */
type PlainValidation = ValidationContext & {
  readonly reader: PlainReader
  readonly owner: ReturnType<ValidationContext['known']['ownerOf']>
  readonly isLineDelimited: boolean
  /** Ids that are not cached and were not read yet. */
  readonly uncertainIds: { readonly locations: Set<string>; readonly devices: Set<string> }
  /** Ids that were read; null if there is no such object. Unlike cached objects, they stay during the validation. */
  readonly resolvedIds: ReadonlyMap<string, KnownObject | null>
  readonly duplicates: DuplicateTable
  readonly partitions: Map<number, PartitionParts>
  readonly refused: RefusedRecord[]
  readonly warnings: RecordWarnings<number>
  records: number
}

/** Parts of one partition: the full ones, and the one that is being written. */
type PartitionParts = { readonly writer: PartWriter; readonly parts: EncodedPart[] }

/**
 * Validate a submission from the bytes of its body. Returns null if the body does not have the plain form that clients
 * usually send; then parse it and use `validateSubmission`. Law: if the result is not null, it is the result of
 * `validateSubmission`.
 * Unknown objects are read after the first pass, and the body is validated again, until all objects are known. Each id
 * is read once at most.
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

/** Bytes of a record that has only the required members. */
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
    warnings: recordWarnings(maxRecords, (range: number) => textAt(cursor, unpackRange(range))),
    records: 0,
  }
  try {
    // A small body ends before the first check of the clock.
    const timeSlice = maxRecords > recordsPerCheck ? startTimeSlices(part.accountId) : null
    let nextToken: NextPart | null = toFirstElement(cursor, validation.isLineDelimited)
    while (nextToken === 'element') {
      nextToken = validateSome(validation, cursor, maxRecords)
      if (nextToken === 'element' && timeSlice?.isOver() === true) await timeSlice.pause()
    }
    if (nextToken !== 'end') return null
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
    warnings: validation.warnings.list(),
  }
}

/** Writers that can be used again. Their number is limited. */
const spareWriters: PartWriter[] = []
const maxSpareWriters = 64

/** Records that are read between two checks of the time slice. */
const recordsPerCheck = 256

/** Validate records until the next check of the time slice. Returns the token after them; null if one is not plain. */
const validateSome = (validation: PlainValidation, cursor: JsonCursor, maxRecords: number): NextPart | null => {
  const { isLineDelimited, reader } = validation
  for (;;) {
    const start = cursor.index
    if (validation.records === maxRecords || !readPlainRecord(reader)) return null
    validation.records += 1
    acceptOrRefuse(validation)
    const nextToken = toNextElement(cursor, isLineDelimited, start)
    if (nextToken !== 'element' || validation.records % recordsPerCheck === 0) return nextToken
  }
}

/** Return an object; null if it does not exist, undefined if it must be read. */
const findObject = (
  { known, owner, at, resolvedIds }: PlainValidation,
  isDevice: boolean,
  bits: Int32Array,
): KnownObject | null | undefined => {
  const found = known.find(owner, isDevice, bits, at)
  return found === undefined && resolvedIds.size > 0 ? resolvedIds.get(idOf(isDevice, bits)) : found
}

/** Refuse the record if an object does not exist or if it is a duplicate; otherwise create its id and write it. */
const acceptOrRefuse = (validation: PlainValidation): void => {
  const { uncertainIds, duplicates, part, records } = validation
  const { record, cursor } = validation.reader
  const hasDevice = record.device.at >= 0
  const location = findObject(validation, false, record.location.bits)
  const device = hasDevice ? findObject(validation, true, record.device.bits) : null
  if (location === undefined) uncertainIds.locations.add(idOf(false, record.location.bits))
  if (device === undefined) uncertainIds.devices.add(idOf(true, record.device.bits))
  // The body will be validated again, so nothing needs to be written.
  if (location === undefined || device === undefined || uncertainIds.locations.size + uncertainIds.devices.size > 0)
    return
  const missing = missingObjectMessage(location !== null, !hasDevice || device !== null)
  if (location === null || missing !== null) {
    refuse(validation, missing ?? '')
    return
  }
  const rule = device === null ? location.rule : device.rule
  const power = rule === null ? null : powerMessage(rule, { ...record, energy: BigInt(record.energy) })
  if (power !== null) {
    refuse(validation, power)
    return
  }
  const id = recordIdBits(part, record, cursor)
  const duplicateNumber = duplicates.note(id, records)
  if (duplicateNumber !== 0) {
    refuse(validation, duplicateMessage(duplicateNumber))
    return
  }
  addRecord(writerOf(validation, location), location, device, record, cursor.view, records, id)
  const session = packRange(record.sessionReference)
  validation.warnings.add(rule, record, location.id, device === null ? null : device.id, session, records)
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

/** Larger than the length of a text: a record has at most 8 KiB. */
const rangeFactor = 2 ** 16

/** Write a range as one number, which takes no memory of its own. */
const packRange = ({ at, length }: ByteRange): number => at * rangeFactor + length

const unpackRange = (range: number): ByteRange => ({
  at: Math.floor(range / rangeFactor),
  length: range % rangeFactor,
})

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
