import type { MeterRecord } from '../domain/record/record.ts'
import type { AcceptedRecord, RecordChunk, RecordPart } from './accepted-record.ts'
import {
  type AvroReader,
  type AvroWriter,
  mixBits,
  readArray,
  readBigLong,
  readDigits,
  readInt,
  readLong,
  readOptionalText,
  writeArray,
  writeBigLong,
  writeDigits,
  writeInt,
  writeLong,
  writeOptionalText,
} from './avro-bytes.ts'
import { type EncodedPart, maxPartBytes, maxPartRecords, writePartHeader } from './record-part.ts'

/** Number of cache entries, a power of two. 65,536 ids and their texts use 6 MB. */
const cacheSize = 65_536

/**
 * Create a reader of ids that messages contain as 12 bytes. Most ids recur in nearly every message, so each cache entry
 * has the text of the id that was last read there. A cached text takes half the time of a new one. A later map look-up
 * is also faster, because the text's hash is known. The reader throws a RangeError if the message ends within an id.
 */
export const idTexts = (prefix: string): ((from: AvroReader) => string) => {
  const words = new Int32Array(cacheSize * 3)
  const texts = new Array<string>(cacheSize).fill(`${prefix}${'0'.repeat(24)}`)
  return from => {
    const { bytes, at } = from
    const high = wordAt(bytes, at)
    const middle = wordAt(bytes, at + 4)
    const low = wordAt(bytes, at + 8)
    const entry = mixBits(middle, low) & (cacheSize - 1)
    const first = entry * 3
    if (words[first] === high && words[first + 1] === middle && words[first + 2] === low && at + 12 <= bytes.length) {
      from.at = at + 12
      return texts[entry] as string
    }
    const text = `${prefix}${readDigits(from)}`
    words[first] = high
    words[first + 1] = middle
    words[first + 2] = low
    texts[entry] = text
    return text
  }
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number)

const prefixLength = 4
export const flows: readonly MeterRecord['energyFlowDirection'][] = ['INBOUND', 'OUTBOUND']
export const directions: readonly MeterRecord['tariffDirection'][] = ['IMPORT', 'EXPORT', 'LOCAL']

/**
 * Encode a chunk of records after `reserved` bytes for a header. The bytes equal those of a general Avro codec with the
 * current schema. The locations and devices of a part are written once; records refer to them by index. Throws a
 * RangeError for an id that is not a prefix and 24 hexadecimal digits.
 */
export const encodeRecordChunk = (chunk: RecordChunk, reserved: number): Buffer => {
  const to: AvroWriter = { bytes: Buffer.allocUnsafe(reserved + 16 + capacityFor(chunk)), at: reserved }
  to.bytes[to.at++] = 0
  writeArray(to, chunk.parts, writePart)
  return to.bytes.subarray(0, to.at)
}

const capacityFor = (chunk: RecordChunk): number => {
  let byteCount = 0
  for (const part of chunk.parts) {
    byteCount += 64
    for (const record of part.records) byteCount += sizeOf(record)
  }
  return byteCount
}

const writePart = (to: AvroWriter, part: RecordPart): void => {
  const locations = new Map<string, number>()
  const devices = new Map<string, number>()
  for (const { locationId, deviceId } of part.records) {
    if (!locations.has(locationId)) locations.set(locationId, locations.size)
    if (deviceId !== null && !devices.has(deviceId)) devices.set(deviceId, devices.size)
  }
  writePartHeader(to, part)
  writeArray(to, [...locations.keys()], writeId)
  writeArray(to, [...devices.keys()], writeId)
  writeArray(to, part.records, (_, record) => {
    writeInt(to, locations.get(record.locationId) ?? 0)
    writeInt(to, record.deviceId === null ? -1 : (devices.get(record.deviceId) ?? 0))
    writeRecord(to, record)
  })
}

const writeId = (to: AvroWriter, id: string): void => writeDigits(to, id, prefixLength)

const writeRecord = (to: AvroWriter, record: AcceptedRecord): void => {
  to.bytes[to.at++] = record.energyFlowDirection === 'INBOUND' ? 0 : 2
  to.bytes[to.at++] = directions.indexOf(record.tariffDirection) * 2
  writeLong(to, record.start)
  writeLong(to, record.end - record.start)
  writeBigLong(to, record.energy)
  writeInt(to, record.confidence)
  writeOptionalText(to, record.sessionReferenceId)
  writeOptionalText(to, record.recordReferenceId)
  writeInt(to, record.recordNumber)
  writeDigits(to, record.recordId, 0)
}

/** Return an upper bound of the bytes of a record in the chunk and its headers. */
const sizeOf = (record: AcceptedRecord): number =>
  96 + 3 * ((record.sessionReferenceId?.length ?? 0) + (record.recordReferenceId?.length ?? 0))

/** Encode a part, divided so that each result fits into a chunk. The records keep their order. */
export const encodeParts = (part: RecordPart): readonly EncodedPart[] => {
  const encodedParts: EncodedPart[] = []
  for (let from = 0, to = 0, bytes = 0; from < part.records.length; from = to, bytes = 0) {
    for (; to < part.records.length && to - from < maxPartRecords; to += 1) {
      bytes += sizeOf(part.records[to] as AcceptedRecord)
      if (bytes > maxPartBytes && to > from) break
    }
    encodedParts.push(encodePart(part, part.records.slice(from, to), bytes))
  }
  return encodedParts
}

const encodePart = (part: RecordPart, records: readonly AcceptedRecord[], byteCount: number): EncodedPart => {
  const to: AvroWriter = { bytes: Buffer.allocUnsafe(64 + byteCount), at: 0 }
  writePart(to, { ...part, records })
  const { accountId, liveMode, batchId, receivedAt } = part
  const recordNumbers = records.map(record => record.recordNumber)
  const locationId = records[0]?.locationId ?? ''
  return { accountId, liveMode, batchId, receivedAt, locationId, recordNumbers, bytes: to.bytes.subarray(0, to.at) }
}

/** Join encoded parts to a chunk, after `reserved` bytes for a header. The bytes equal those of `encodeRecordChunk`. */
export const joinParts = (parts: readonly EncodedPart[], reserved: number): Buffer => {
  let byteCount = reserved + 16
  for (const part of parts) byteCount += part.bytes.length
  const to: AvroWriter = { bytes: Buffer.allocUnsafe(byteCount), at: reserved }
  to.bytes[to.at++] = 0
  writeArray(to, parts, (_, { bytes }) => {
    to.at += bytes.copy(to.bytes, to.at)
  })
  return to.bytes.subarray(0, to.at)
}

/**
 * Decode a chunk of records with the current schema, from `at` to the end of the buffer. Throws a RangeError for other
 * bytes.
 */
export const decodeRecordChunk = (bytes: Buffer, at: number): RecordChunk => ({
  kind: 'records',
  parts: readParts(bytes, at, readPart),
})

/** Read the parts of a chunk, as `decodeRecordChunk` does. */
export const readParts = <T>(bytes: Buffer, at: number, read: (from: AvroReader) => T): T[] => {
  const from: AvroReader = { bytes, at }
  if (readInt(from) !== 0) throw new RangeError('The message is not a chunk of records.')
  const parts = readArray(from, read)
  if (from.at !== bytes.length) throw new RangeError('The message has bytes after its last part.')
  return parts
}

export const readLocation = idTexts('loc_')
export const readDevice = idTexts('dev_')

/** Read the header of a part. */
export const readPartHeader = (from: AvroReader): Omit<RecordPart, 'records'> => ({
  accountId: `acc_${readDigits(from)}`,
  liveMode: from.bytes[from.at++] === 1,
  batchId: readInt(from) === 0 ? null : `bat_${readDigits(from)}`,
  receivedAt: readLong(from),
})

const readPart = (from: AvroReader): RecordPart => {
  const { accountId, liveMode, batchId, receivedAt } = readPartHeader(from)
  const locations = readArray(from, readLocation)
  const devices = readArray(from, readDevice)
  return {
    accountId,
    liveMode,
    batchId,
    receivedAt,
    records: readArray(from, () => readRecord(from, locations, devices)),
  }
}

/** Read a record. Throws a RangeError if an index or symbol is out of range. */
export const readRecord = (
  from: AvroReader,
  locations: readonly string[],
  devices: readonly string[],
): AcceptedRecord => {
  const locationId = locations[readInt(from)]
  const device = readInt(from)
  const deviceId = device === -1 ? null : devices[device]
  const energyFlowDirection = flows[readInt(from)]
  const tariffDirection = directions[readInt(from)]
  if (
    locationId === undefined ||
    deviceId === undefined ||
    energyFlowDirection === undefined ||
    tariffDirection === undefined
  )
    throw new RangeError('A record of the message has an index or symbol out of range.')
  const start = readLong(from)
  return {
    locationId,
    deviceId,
    energyFlowDirection,
    tariffDirection,
    start,
    end: start + readLong(from),
    energy: readBigLong(from),
    confidence: readInt(from),
    sessionReferenceId: readOptionalText(from),
    recordReferenceId: readOptionalText(from),
    recordNumber: readInt(from),
    recordId: readDigits(from),
  }
}
