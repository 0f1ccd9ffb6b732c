import { hash } from 'node:crypto'
import type { RecordIdentity } from '../domain/identifier.ts'
import { copyBytes, type IdBits } from './avro-bytes.ts'

/** Account and mode of a record, and the members that identify it when it is sent again. */
type RecordOwner = Pick<RecordIdentity, 'accountId' | 'liveMode'>
type Identity = Omit<RecordIdentity, 'accountId' | 'liveMode'>

/**
 * Return the 24 hexadecimal digits of a record's id: the first 96 bits of a SHA-256 of its identity.
 * Source: docs/rules/identifiers-and-lists.md #record-ids.
 */
export const recordIdDigits = (owner: RecordOwner, record: Identity): string =>
  hash('sha256', viewOf(writeIdentity(owner, record)), 'hex').slice(0, 24)

/** Record whose ids and texts are byte ranges of a body. A text of length 0 and an id at -1 are absent. */
export type IdentityInBody = Pick<Identity, 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end'> & {
  readonly location: { readonly at: number }
  readonly device: { readonly at: number }
  readonly sessionReference: ByteRange
  readonly recordReference: ByteRange
}
type ByteRange = { readonly at: number; readonly length: number }
/** `isAscii`: all texts so far have ASCII characters only. */
type SourceBody = { readonly view: DataView; readonly isAscii: boolean }

/** Return the id of a record as bits. They are equal to the digits of `recordIdDigits`. */
export const recordIdBits = (owner: RecordOwner, record: IdentityInBody, body: SourceBody): IdBits => {
  if (owner.accountId !== head.accountId || owner.liveMode !== head.liveMode) writeHead(owner)
  const from = copyId(body.view, record.device.at, copyId(body.view, record.location.at, head.length))
  if (!isAlreadyWritten(record, from)) writeMiddle(record, from)
  const end = copyText(body, record.recordReference, copyText(body, record.sessionReference, middle.to))
  const digest = hash('sha256', viewOf(end), 'binary')
  return { high: wordOf(digest, 0), middle: wordOf(digest, 4), low: wordOf(digest, 8) }
}

/** Return four characters of a byte text as a big-endian word. */
const wordOf = (bytes: string, from: number): number =>
  (bytes.charCodeAt(from) << 24) |
  (bytes.charCodeAt(from + 1) << 16) |
  (bytes.charCodeAt(from + 2) << 8) |
  bytes.charCodeAt(from + 3)

/** Buffer for four ids and two references of 255 characters, with up to three bytes per UTF-16 unit. */
const scratch = Buffer.alloc(8192)
const scratchView = new DataView(scratch.buffer, scratch.byteOffset, scratch.length)
const views: Uint8Array[] = []

/** Views of the buffer by length: to create a view costs a third of the hash. */
const viewOf = (length: number): Uint8Array => {
  views[length] ??= scratch.subarray(0, length)
  return views[length]
}

/** Start of the buffer. All records of a submission have the same one. */
const head = { accountId: '', liveMode: false, length: 0 }

/** Directions and times in the buffer from `from` to `to`. Many records of a submission have the same ones. */
const middle = { from: -1, to: -1, flow: '', tariff: '', start: -1, end: -1 }

/**
 * Write the UTF-8 of `recordIdentityText` into the buffer and return its length. To build the text as a string would
 * cost as much as the hash.
 * Parts that are equal to those of the record before are not written again.
 */
const writeIdentity = (owner: RecordOwner, identity: Identity): number => {
  if (owner.accountId !== head.accountId || owner.liveMode !== head.liveMode) writeHead(owner)
  const from = writePart(identity.deviceId, writePart(identity.locationId, head.length))
  if (!isAlreadyWritten(identity, from)) writeMiddle(identity, from)
  return writePart(identity.recordReferenceId, writePart(identity.sessionReferenceId, middle.to))
}

type Middle = Pick<Identity, 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end'>

const isAlreadyWritten = (identity: Middle, from: number): boolean =>
  from === middle.from &&
  identity.start === middle.start &&
  identity.end === middle.end &&
  identity.energyFlowDirection === middle.flow &&
  identity.tariffDirection === middle.tariff

const writeMiddle = (identity: Middle, from: number): void => {
  let at = writeText(directionWords[identity.energyFlowDirection][identity.tariffDirection], from)
  at = writeInstant(identity.start, at)
  scratch[at] = 32
  at = writeInstant(identity.end, at + 1)
  scratch[at] = 32
  middle.from = from
  middle.to = at + 1
  middle.flow = identity.energyFlowDirection
  middle.tariff = identity.tariffDirection
  middle.start = identity.start
  middle.end = identity.end
}

const writeHead = ({ accountId, liveMode }: RecordOwner): void => {
  const at = writePart(accountId, writeText('record ', 0))
  head.length = writeText(liveMode ? 'L' : 'T', at)
  head.accountId = accountId
  head.liveMode = liveMode
}

const directionWords = {
  INBOUND: { IMPORT: ' INBOUND IMPORT ', EXPORT: ' INBOUND EXPORT ', LOCAL: ' INBOUND LOCAL ' },
  OUTBOUND: { IMPORT: ' OUTBOUND IMPORT ', EXPORT: ' OUTBOUND EXPORT ', LOCAL: ' OUTBOUND LOCAL ' },
} as const

const writeText = (words: string, at: number): number => {
  for (let index = 0; index < words.length; index += 1) scratch[at + index] = words.charCodeAt(index)
  return at + words.length
}

const writePart = (text: string | null, at: number): number => {
  if (text === null) {
    scratch[at] = 45
    return at + 1
  }
  const { length } = text
  const from = writeLength(length, at)
  let codes = 0
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index)
    codes |= code
    scratch[from + index] = code
  }
  return from + (codes < 128 ? length : scratch.write(text, from))
}

/** Write a length below 1,000, and a colon. */
const writeLength = (length: number, at: number): number => {
  let to = at
  if (length >= 100) scratch[to++] = 48 + ((length / 100) | 0)
  if (length >= 10) scratch[to++] = 48 + (((length / 10) | 0) % 10)
  scratch[to] = 48 + (length % 10)
  scratch[to + 1] = 58
  return to + 2
}

/** Prefix and 24 digits. */
const idLength = 28

const copyId = (body: DataView, from: number, at: number): number => {
  if (from < 0) {
    scratch[at] = 45
    return at + 1
  }
  const to = writeLength(idLength, at)
  copyBytes(scratchView, to, body, from, idLength)
  return to + idLength
}

const copyText = ({ view, isAscii }: SourceBody, { at: from, length }: ByteRange, at: number): number => {
  if (length === 0) {
    scratch[at] = 45
    return at + 1
  }
  // The length counts UTF-16 units, of which other characters have fewer than bytes.
  if (!isAscii) return writePart(Buffer.from(view.buffer, view.byteOffset + from, length).toString(), at)
  const to = writeLength(length, at)
  copyBytes(scratchView, to, view, from, length)
  return to + length
}

/** Write an instant ≥ 0 in two halves, because the engine calculates faster with 31-bit integers. */
const writeInstant = (instant: number, at: number): number => {
  const high = Math.floor(instant / 1e7)
  const border = high === 0 ? at : at + digitsOf(high)
  const end = border + (high === 0 ? digitsOf(instant) : 7)
  writeDigits((instant - high * 1e7) | 0, border, end)
  writeDigits(high | 0, at, border)
  return end
}

const digitsOf = (value: number): number => {
  if (value >= 100_000 && value < 1_000_000) return 6
  let digits = 1
  for (let bound = 10; value >= bound; bound *= 10) digits += 1
  return digits
}

/** Fill [from, to) with the last decimal digits of a small integer. */
const writeDigits = (value: number, from: number, to: number): void => {
  let rest = value
  for (let index = to - 1; index >= from; index -= 1) {
    const tenth = (rest / 10) | 0
    scratch[index] = 48 + rest - tenth * 10
    rest = tenth
  }
}
