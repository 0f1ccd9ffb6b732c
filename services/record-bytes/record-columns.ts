import { recordTexts } from '../contract/metering/record-fields.ts'
import { fullConfidence, type MeterRecord } from '../domain/record/record.ts'
import type { AcceptedRecord, RecordPart } from './accepted-record.ts'
import { type AvroReader, readArray, readBigLong, readInt, readLong, readOptionalText } from './avro-bytes.ts'
import { directions, flows, readDevice, readLocation, readPartHeader, readParts, readRecord } from './record-chunk.ts'

/** Part of a chunk whose records are in columns. `source` is the message that brought it. */
export type ColumnPart<Source> = Omit<RecordPart, 'records'> & {
  readonly source: Source
  /** Bytes of the message. */
  readonly bytes: Buffer
  readonly view: DataView
  /** Index in the message of the 12 bytes of the account, and of the batch; -1 without a batch. */
  readonly accountAt: number
  readonly batchAt: number
  readonly locationIds: readonly string[]
  /** Indexes in `locations` of the columns. */
  readonly locations: readonly number[]
  readonly deviceIds: readonly string[]
  /** Index of each device's 12 bytes in the message. */
  readonly deviceAts: readonly number[]
}

/**
 * Location in columns, with its first and last row; -1 if it has no row. A plain location has plain records only, and at
 * most `maxPlainRows`: they are costed at once.
 */
export type ColumnLocation = { readonly id: string; first: number; last: number; count: number; isPlain: boolean }
const maxPlainRows = 2_048

/**
 * Records of many chunks, one row for each, in the order of the chunks. A plain record has no texts, full confidence,
 * and an energy that a double holds. The columns of all other records are incomplete; `recordInRow` reads any record.
 */
export type RecordColumns<Source> = {
  count: number
  readonly parts: ColumnPart<Source>[]
  readonly locations: ColumnLocation[]
  readonly locationIndexes: Map<string, number>
  readonly part: Int32Array
  /** Index of the record in its message: of its first byte, and of the 12 bytes of its id. */
  readonly at: Int32Array
  readonly idAt: Int32Array
  readonly position: Int32Array
  readonly location: Int32Array
  /** Next row of the same location; -1 after the last one. */
  readonly next: Int32Array
  /** Index in the devices of the part; -1 for none. */
  readonly device: Int32Array
  readonly liveMode: Uint8Array
  readonly flow: Uint8Array
  readonly direction: Uint8Array
  readonly start: Float64Array
  readonly end: Float64Array
  readonly energy: Float64Array
  readonly receivedAt: Float64Array
}

/** Bytes of the shortest record. */
const minRecordBytes = 23

/** Create empty columns for the records of messages that have `bytes` bytes together. */
export const recordColumns = <Source>(bytes: number): RecordColumns<Source> => {
  const rows = Math.ceil(bytes / minRecordBytes)
  return {
    count: 0,
    parts: [],
    locations: [],
    locationIndexes: new Map(),
    part: new Int32Array(rows),
    at: new Int32Array(rows),
    idAt: new Int32Array(rows),
    position: new Int32Array(rows),
    location: new Int32Array(rows),
    next: new Int32Array(rows),
    device: new Int32Array(rows),
    liveMode: new Uint8Array(rows),
    flow: new Uint8Array(rows),
    direction: new Uint8Array(rows),
    start: new Float64Array(rows),
    end: new Float64Array(rows),
    energy: new Float64Array(rows),
    receivedAt: new Float64Array(rows),
  }
}

/**
 * Add the records of a chunk, and return their number. `validateCount` throws if they are too many. Throws a RangeError
 * for bytes that `decodeRecordChunk` refuses. After an error, no record is added.
 */
export const addChunkToColumns = <Source>(
  to: RecordColumns<Source>,
  bytes: Buffer,
  at: number,
  source: Source,
  validateCount: (count: number) => void,
): number => {
  const { count: first, parts } = to
  const partCount = parts.length
  try {
    readParts(bytes, at, from => addPart(to, from, source, first))
    validateCount(to.count - first)
  } catch (error) {
    to.count = first
    parts.length = partCount
    throw error
  }
  for (let row = first; row < to.count; row += 1) link(to, row)
  return to.count - first
}

const link = ({ location, locations, next }: RecordColumns<unknown>, row: number): void => {
  const own = locations[location[row] as number] as ColumnLocation
  if (own.first < 0) own.first = row
  else next[own.last] = row
  own.last = row
  own.count += 1
  if (own.count > maxPlainRows) own.isPlain = false
  next[row] = -1
}

const indexOf = ({ locations, locationIndexes }: RecordColumns<unknown>, id: string): number => {
  const known = locationIndexes.get(id)
  if (known !== undefined) return known
  locationIndexes.set(id, locations.length)
  return locations.push({ id, first: -1, last: -1, count: 0, isPlain: true }) - 1
}

const addPart = <Source>(to: RecordColumns<Source>, from: AvroReader, source: Source, firstOfChunk: number): void => {
  const { bytes, at: accountAt } = from
  const header = readPartHeader(from)
  // Account, one byte of the mode, one byte of the union's branch.
  const batchAt = header.batchId === null ? -1 : accountAt + 14
  const locationIds = readArray(from, readLocation)
  const deviceAts: number[] = []
  const deviceIds = readArray(from, () => {
    deviceAts.push(from.at)
    return readDevice(from)
  })
  const locations = locationIds.map(id => indexOf(to, id))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const objects = { locationIds, locations, deviceIds, deviceAts }
  const part = to.parts.push({ ...header, ...objects, source, bytes, view, accountAt, batchAt }) - 1
  readArray(from, () => {
    const row = to.count
    if (row >= to.at.length) throw new RangeError('The messages have more records than bytes for them.')
    to.part[row] = part
    to.position[row] = row - firstOfChunk
    to.liveMode[row] = header.liveMode ? 1 : 0
    to.receivedAt[row] = header.receivedAt
    readRow(to, from, row, locations, deviceIds.length)
    to.count += 1
  })
}

/** Read the columns of a record. */
const readRow = (
  to: RecordColumns<unknown>,
  from: AvroReader,
  row: number,
  locations: readonly number[],
  devices: number,
): void => {
  const { bytes } = from
  to.at[row] = from.at
  const location = locations[readInt(from)]
  const device = readInt(from)
  const flow = readInt(from)
  const direction = readInt(from)
  if (
    location === undefined ||
    device < -1 ||
    device >= devices ||
    flows[flow] === undefined ||
    directions[direction] === undefined
  )
    throw new RangeError('A record of the message has an index or symbol out of range.')
  const start = readLong(from)
  to.start[row] = start
  to.end[row] = start + readLong(from)
  const energy = readBigLong(from)
  let isPlain = energy >= 0n && energy <= BigInt(Number.MAX_SAFE_INTEGER)
  to.energy[row] = Number(energy)
  if (readInt(from) !== fullConfidence) isPlain = false
  for (let text = 0; text < recordTexts.length; text += 1) if (readOptionalText(from) !== null) isPlain = false
  readInt(from)
  if (from.at + 12 > bytes.length) throw new RangeError('The message ends within an id.')
  to.idAt[row] = from.at
  from.at += 12
  to.location[row] = location
  to.device[row] = device
  to.flow[row] = flow
  to.direction[row] = direction
  if (!isPlain) (to.locations[location] as ColumnLocation).isPlain = false
}

/** Return the part of a row. */
export const partOf = <Source>({ parts, part }: RecordColumns<Source>, row: number): ColumnPart<Source> =>
  parts[part[row] as number] as ColumnPart<Source>

/** Return the record of a row. */
export const recordInRow = (columns: RecordColumns<unknown>, row: number): AcceptedRecord => {
  const { bytes, locationIds, deviceIds } = partOf(columns, row)
  return readRecord({ bytes, at: columns.at[row] as number }, locationIds, deviceIds)
}

/** Return the members of a row that identify its object, flow and time. */
export const objectTimeOfRow = (
  columns: RecordColumns<unknown>,
  row: number,
): Pick<MeterRecord, 'locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end'> => ({
  locationId: (columns.locations[columns.location[row] as number] as ColumnLocation).id,
  deviceId: partOf(columns, row).deviceIds[columns.device[row] as number] ?? null,
  energyFlowDirection: flows[columns.flow[row] as number] as MeterRecord['energyFlowDirection'],
  tariffDirection: directions[columns.direction[row] as number] as MeterRecord['tariffDirection'],
  start: columns.start[row] as number,
  end: columns.end[row] as number,
})
