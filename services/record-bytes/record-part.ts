import { numberFields } from '../contract/metering/record-fields.ts'
import type { EnergyFlowDirection } from '../domain/record/record.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import type { RecordPart } from './accepted-record.ts'
import {
  type AvroWriter,
  copyBytes,
  type IdBits,
  writeBits,
  writeDigits,
  writeInt,
  writeLong,
  writeOptionalLong,
} from './avro-bytes.ts'

/** An encoded part of a chunk, with the data of its headers. It has at least one record. */
export type EncodedPart = Omit<RecordPart, 'records'> & {
  /** Location of its first record. */
  readonly locationId: string
  /** Ascending. */
  readonly recordNumbers: readonly number[]
  readonly bytes: Buffer
}

/** Limits of a chunk, and so of a part. */
export const maxPartRecords = 500
export const maxPartBytes = 262_144

/** A location or device, with its index in the part whose mark is `mark`. */
export type PartObject = IdBits & { readonly id: string; mark: number; index: number }

/**
 * A record with texts that are byte ranges of a request body; length 0 means no text. `energy` is a whole number of
 * 1e-6 Wh.
 */
export type RecordInBody = {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly start: number
  readonly end: number
  readonly energy: number
  readonly confidence: number
  /** The optional texts in the order of `recordTexts`. */
  readonly texts: readonly TextInBody[]
  /** The optional numbers in the order of `numberFields`. */
  readonly numbers: readonly (bigint | null)[]
}
type TextInBody = { readonly at: number; readonly length: number }

/** Writer of one part at a time, record by record. Each part has a different mark. */
export type PartWriter = {
  mark: number
  locationId: string
  recordNumbers: number[]
  locations: AvroWriter
  devices: AvroWriter
  records: AvroWriter
  /** View of the bytes of `records`. */
  view: DataView
}

const idBytes = 12
/** Maximum bytes of a record without its texts. */
const maxFixedBytes = 80 + 11 * numberFields.length
let marks = 0

export const partWriter = (): PartWriter => ({
  mark: 0,
  locationId: '',
  recordNumbers: [],
  locations: { bytes: Buffer.allocUnsafeSlow(maxPartRecords * idBytes), at: 0 },
  devices: { bytes: Buffer.allocUnsafeSlow(maxPartRecords * idBytes), at: 0 },
  ...recordBuffer(16_384),
})

const recordBuffer = (length: number): { records: AvroWriter; view: DataView } => {
  const bytes = Buffer.allocUnsafeSlow(length)
  return { records: { bytes, at: 0 }, view: new DataView(bytes.buffer, bytes.byteOffset, length) }
}

/** Start a new part; discard an unfinished one. */
export const beginPart = (to: PartWriter): void => {
  marks += 1
  to.mark = marks
  to.recordNumbers = []
  to.locations.at = 0
  to.devices.at = 0
  to.records.at = 0
}

/** Return whether the part cannot take one more record. */
export const isPartFull = (to: PartWriter): boolean =>
  to.recordNumbers.length === maxPartRecords || to.locations.at + to.devices.at + to.records.at > maxPartBytes - 1_024

/** Add a record with the id `id`. The bytes equal those of `encodeRecordChunk`. The part must not be full. */
export const addRecord = (
  to: PartWriter,
  location: PartObject,
  device: PartObject | null,
  record: RecordInBody,
  body: DataView,
  recordNumber: number,
  id: IdBits,
): void => {
  const { texts, numbers } = record
  let textBytes = 0
  for (let i = 0; i < texts.length; i += 1) textBytes += (texts[i] as TextInBody).length
  ensureCapacity(to, maxFixedBytes + textBytes)
  if (to.recordNumbers.length === 0) to.locationId = location.id
  to.recordNumbers.push(recordNumber)
  const { records } = to
  writeInt(records, indexOf(to.mark, to.locations, location))
  writeInt(records, device === null ? -1 : indexOf(to.mark, to.devices, device))
  records.bytes[records.at++] = record.energyFlowDirection === 'INBOUND' ? 0 : 2
  records.bytes[records.at++] = record.tariffDirection === 'IMPORT' ? 0 : record.tariffDirection === 'EXPORT' ? 2 : 4
  writeLong(records, record.start)
  writeLong(records, record.end - record.start)
  writeLong(records, record.energy)
  writeInt(records, record.confidence)
  for (let i = 0; i < texts.length; i += 1) writeOptionalRange(to, body, texts[i] as TextInBody)
  for (let i = 0; i < numbers.length; i += 1) writeOptionalLong(records, numbers[i] as bigint | null)
  writeInt(records, recordNumber)
  writeBits(records, id)
}

const ensureCapacity = (to: PartWriter, bytes: number): void => {
  const { records } = to
  if (records.at + bytes <= records.bytes.length) return
  const larger = recordBuffer(records.bytes.length * 2)
  larger.records.at = records.bytes.copy(larger.records.bytes, 0, 0, records.at)
  to.records = larger.records
  to.view = larger.view
}

const indexOf = (mark: number, to: AvroWriter, object: PartObject): number => {
  if (object.mark !== mark) {
    object.mark = mark
    object.index = to.at / idBytes
    writeBits(to, object)
  }
  return object.index
}

const writeOptionalRange = ({ records, view }: PartWriter, body: DataView, { at, length }: TextInBody): void => {
  records.bytes[records.at++] = length === 0 ? 0 : 2
  if (length === 0) return
  writeInt(records, length)
  copyBytes(view, records.at, body, at, length)
  records.at += length
}

/** Finish the part: its header, its locations, devices and records. */
export const endPart = (to: PartWriter, part: Omit<RecordPart, 'records'>): EncodedPart => {
  const { locations, devices, records, locationId, recordNumbers } = to
  const whole: AvroWriter = { bytes: Buffer.allocUnsafe(64 + locations.at + devices.at + records.at), at: 0 }
  writePartHeader(whole, part)
  writeItems(whole, locations, locations.at / idBytes)
  writeItems(whole, devices, devices.at / idBytes)
  writeItems(whole, records, recordNumbers.length)
  const { accountId, liveMode, batchId, receivedAt } = part
  return {
    accountId,
    liveMode,
    batchId,
    receivedAt,
    locationId,
    recordNumbers,
    bytes: whole.bytes.subarray(0, whole.at),
  }
}

const prefixLength = 4

/** Write the header of a part. */
export const writePartHeader = (
  to: AvroWriter,
  { accountId, liveMode, batchId, receivedAt }: Omit<RecordPart, 'records'>,
): void => {
  writeDigits(to, accountId, prefixLength)
  to.bytes[to.at++] = liveMode ? 1 : 0
  to.bytes[to.at++] = batchId === null ? 0 : 2
  if (batchId !== null) writeDigits(to, batchId, prefixLength)
  writeLong(to, receivedAt)
}

/** Write an array of encoded items. */
const writeItems = (to: AvroWriter, items: AvroWriter, count: number): void => {
  if (count > 0) writeInt(to, count)
  to.at += items.bytes.copy(to.bytes, to.at, 0, items.at)
  to.bytes[to.at++] = 0
}
