import type { MeterRecord } from '../../domain/record/record.ts'
import {
  type AvroReader,
  type AvroWriter,
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
import type { AcceptedRecord, RecordChunk, RecordPart } from './messages.ts'

const prefixLength = 4
const flows: readonly MeterRecord['energyFlowDirection'][] = ['INBOUND', 'OUTBOUND']
const directions: readonly MeterRecord['tariffDirection'][] = ['IMPORT', 'EXPORT', 'LOCAL']

/**
 * Encode a chunk of records after `reserved` bytes left for a header: the very bytes that Avro gives for the current schema,
 * several times faster than a general codec. Locations and devices of a part are written once and referred to by index.
 * Throws a RangeError for an id that is not a prefix and 24 hexadecimal digits.
 */
export const encodeRecordChunk = (chunk: RecordChunk, reserved: number): Buffer => {
  const to: AvroWriter = { bytes: Buffer.allocUnsafe(reserved + 16 + roomFor(chunk)), at: reserved }
  to.bytes[to.at++] = 0
  writeArray(to, chunk.parts, writePart)
  return to.bytes.subarray(0, to.at)
}

const roomFor = (chunk: RecordChunk): number => {
  let room = 0
  for (const part of chunk.parts) {
    room += 64
    for (const record of part.records) room += 96 + 3 * ((record.sessionReferenceId?.length ?? 0) + (record.recordReferenceId?.length ?? 0))
  }
  return room
}

const writePart = (to: AvroWriter, part: RecordPart): void => {
  const locations = new Map<string, number>()
  const devices = new Map<string, number>()
  for (const { locationId, deviceId } of part.records) {
    if (!locations.has(locationId)) locations.set(locationId, locations.size)
    if (deviceId !== null && !devices.has(deviceId)) devices.set(deviceId, devices.size)
  }
  writeId(to, part.accountId)
  to.bytes[to.at++] = part.liveMode ? 1 : 0
  to.bytes[to.at++] = part.batchId === null ? 0 : 2
  if (part.batchId !== null) writeId(to, part.batchId)
  writeLong(to, part.receivedAt)
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

/**
 * Decode a chunk of records that was written with the current schema, from `at` to the end of the buffer.
 * Throws a RangeError for bytes that are not such a chunk.
 */
export const decodeRecordChunk = (bytes: Buffer, at: number): RecordChunk => {
  const from: AvroReader = { bytes, at }
  if (readInt(from) !== 0) throw new RangeError('the message is no chunk of records')
  const parts = readArray(from, readPart)
  if (from.at !== bytes.length) throw new RangeError('the message goes on after its end')
  return { kind: 'records', parts }
}

const readPart = (from: AvroReader): RecordPart => {
  const accountId = `acc_${readDigits(from)}`
  const liveMode = from.bytes[from.at++] === 1
  const batchId = readInt(from) === 0 ? null : `bat_${readDigits(from)}`
  const receivedAt = readLong(from)
  const locations = readArray(from, () => `loc_${readDigits(from)}`)
  const devices = readArray(from, () => `dev_${readDigits(from)}`)
  return { accountId, liveMode, batchId, receivedAt, records: readArray(from, () => readRecord(from, locations, devices)) }
}

const readRecord = (from: AvroReader, locations: readonly string[], devices: readonly string[]): AcceptedRecord => {
  const locationId = locations[readInt(from)]
  const device = readInt(from)
  const deviceId = device === -1 ? null : devices[device]
  const energyFlowDirection = flows[readInt(from)]
  const tariffDirection = directions[readInt(from)]
  if (locationId === undefined || deviceId === undefined || energyFlowDirection === undefined || tariffDirection === undefined)
    throw new RangeError('a record of the message refers to nothing')
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
