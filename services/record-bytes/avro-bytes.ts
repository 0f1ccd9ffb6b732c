import { digitsAt, putDigits } from './digits.ts'

/**
 * Primitive Avro encodings in one buffer, for values that are too frequent for a general codec. A long is a zigzag
 * variable-length integer. A number is exact up to 2^53, a bigint over all 64 bits.
 */
export type AvroWriter = { readonly bytes: Buffer; at: number }
export type AvroReader = { readonly bytes: Buffer; at: number }

/** 96 bits of an id as three 32-bit words, highest first. */
export type IdBits = { readonly high: number; readonly middle: number; readonly low: number }

/** Mix the words of an id. The lowest bits of the result spread ids evenly over a table. */
export const mixBits = (middle: number, low: number): number => {
  const mixed = Math.imul(low ^ Math.imul(middle, 0x9e3779b1), 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

const twoTo28 = 268_435_456

/** Write a long from a whole number from 0 to below 2^52. */
export const writeLong = (to: AvroWriter, value: number): void => {
  const { bytes } = to
  let at = to.at
  let rest = value * 2
  if (rest > 0x7fffffff) {
    // The lowest 28 bits fill four bytes. The bits above them are a small integer again.
    const high = Math.floor(rest / twoTo28)
    const low = (rest - high * twoTo28) | 0
    bytes[at] = (low & 127) | 128
    bytes[at + 1] = ((low >>> 7) & 127) | 128
    bytes[at + 2] = ((low >>> 14) & 127) | 128
    bytes[at + 3] = (low >>> 21) | 128
    at += 4
    rest = high
  }
  let small = rest | 0
  while (small >= 128) {
    bytes[at++] = (small & 127) | 128
    small >>>= 7
  }
  bytes[at++] = small
  to.at = at
}

/** Write an int, which may be negative. */
export const writeInt = (to: AvroWriter, value: number): void => {
  const { bytes } = to
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  let at = to.at
  while (rest >= 128) {
    bytes[at++] = (rest & 127) | 128
    rest >>>= 7
  }
  bytes[at++] = rest
  to.at = at
}

const exactBelow = 4_503_599_627_370_496n

/** Write a long from a bigint of at most 64 bits. */
export const writeBigLong = (to: AvroWriter, value: bigint): void => {
  if (value >= 0n && value < exactBelow) {
    writeLong(to, Number(value))
    return
  }
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  while (rest >= 128n) {
    to.bytes[to.at++] = Number(rest & 127n) | 128
    rest >>= 7n
  }
  to.bytes[to.at++] = Number(rest)
}

/** Write the 24 hexadecimal digits of `id` from index `from` on as 12 bytes. Throws a RangeError for any other text. */
export const writeDigits = (to: AvroWriter, id: string, from: number): void => {
  putDigits(to.bytes, to.at, id, from)
  to.at += 12
}

/** Write 96 bits of an id as 12 bytes. */
export const writeBits = (to: AvroWriter, { high, middle, low }: IdBits): void => {
  const { bytes, at } = to
  putWord(bytes, at, high)
  putWord(bytes, at + 4, middle)
  putWord(bytes, at + 8, low)
  to.at = at + 12
}

const putWord = (bytes: Buffer, at: number, word: number): void => {
  bytes[at] = word >>> 24
  bytes[at + 1] = (word >>> 16) & 255
  bytes[at + 2] = (word >>> 8) & 255
  bytes[at + 3] = word & 255
}

/** Write a string. The buffer must have room for a length and three bytes per UTF-16 unit. */
export const writeText = (to: AvroWriter, text: string): void => {
  const { bytes } = to
  const { length } = text
  const start = to.at
  writeLong(to, length)
  let at = to.at
  for (let i = 0; i < length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit > 127) {
      to.at = start
      writeLong(to, Buffer.byteLength(text))
      to.at += bytes.write(text, to.at)
      return
    }
    bytes[at++] = unit
  }
  to.at = at
}

/** Write a union of null and string. */
export const writeOptionalText = (to: AvroWriter, text: string | null): void => {
  if (text === null) {
    to.bytes[to.at++] = 0
  } else {
    to.bytes[to.at++] = 2
    writeText(to, text)
  }
}

/** Write a union of null and long. */
export const writeOptionalLong = (to: AvroWriter, value: bigint | null): void => {
  to.bytes[to.at++] = value === null ? 0 : 2
  if (value !== null) writeBigLong(to, value)
}

/** Read a long as a number. Throws a RangeError if it is negative or above 2^53. */
export const readLong = (from: AvroReader): number => {
  const { bytes } = from
  let at = from.at
  let byte = bytes[at++] as number
  let low = byte & 127
  for (let shift = 7; byte > 127 && shift < 28; shift += 7) {
    byte = bytes[at++] as number
    low |= (byte & 127) << shift
  }
  let value = low
  if (byte > 127) {
    let high = 0
    let weight = 1
    do {
      byte = bytes[at++] as number
      high += (byte & 127) * weight
      weight *= 128
    } while (byte > 127 && weight <= 0x7fffffff)
    value += high * twoTo28
  }
  if ((low & 1) === 1 || byte > 127 || value >= 2 ** 54)
    throw new RangeError('A number of the message is out of range.')
  from.at = at
  return value / 2
}

/** Read an int, which may be negative. */
export const readInt = (from: AvroReader): number => {
  const { bytes } = from
  let at = from.at
  let byte = bytes[at++] as number
  let value = byte & 127
  for (let shift = 7; byte > 127 && shift < 35; shift += 7) {
    byte = bytes[at++] as number
    value |= (byte & 127) << shift
  }
  if (byte > 127 || byte === undefined) throw new RangeError('A number of the message is out of range.')
  from.at = at
  return (value >>> 1) ^ -(value & 1)
}

/** Read a long as a bigint. */
export const readBigLong = (from: AvroReader): bigint => {
  const { bytes, at: start } = from
  let at = start
  while ((bytes[at] as number) > 127) at += 1
  if (at - start < 7 && ((bytes[start] as number) & 1) === 0) return BigInt(readLong(from))
  let raw = 0n
  for (let i = at; i >= start; i -= 1) raw = (raw << 7n) | BigInt((bytes[i] as number) & 127)
  if (at - start > 9 || at >= bytes.length) throw new RangeError('A number of the message is out of range.')
  from.at = at + 1
  return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n))
}

/** Read 12 bytes as 24 hexadecimal digits. */
export const readDigits = (from: AvroReader): string => {
  const { bytes, at } = from
  if (at + 12 > bytes.length) throw new RangeError('The message ends within an id.')
  from.at = at + 12
  return digitsAt(bytes, at)
}

/** Read a union of null and string. */
export const readOptionalText = (from: AvroReader): string | null => {
  const branch = from.bytes[from.at++]
  if (branch === 0) return null
  if (branch !== 2) throw new RangeError('A text of the message has an unknown union branch.')
  const length = readLong(from)
  const { bytes, at } = from
  if (at + length > bytes.length) throw new RangeError('The message ends within a text.')
  from.at = at + length
  return bytes.toString('utf8', at, at + length)
}

/** Read a union of null and long. */
export const readOptionalLong = (from: AvroReader): bigint | null => {
  const branch = from.bytes[from.at++]
  if (branch === 0) return null
  if (branch !== 2) throw new RangeError('A number of the message has an unknown union branch.')
  return readBigLong(from)
}

/** Read an array of any number of blocks. */
export const readArray = <T>(from: AvroReader, item: (from: AvroReader) => T): T[] => {
  const items: T[] = []
  for (;;) {
    let count = readInt(from)
    if (count === 0) return items
    if (count < 0) {
      count = -count
      readLong(from)
    }
    if (count > from.bytes.length - from.at) throw new RangeError('An array of the message is longer than the message.')
    for (; count > 0; count -= 1) items.push(item(from))
  }
}

/** Write an array as one block. */
export const writeArray = <T>(to: AvroWriter, items: readonly T[], item: (to: AvroWriter, value: T) => void): void => {
  if (items.length > 0) writeLong(to, items.length)
  for (const value of items) item(to, value)
  to.bytes[to.at++] = 0
}

/**
 * Copy a few bytes, four at a time; this is faster than `Buffer.copy` for short texts. Overwrites up to three bytes
 * after the copy.
 */
export const copyBytes = (to: DataView, at: number, from: DataView, start: number, length: number): void => {
  if (start + length + 3 <= from.byteLength) {
    for (let done = 0; done < length; done += 4) to.setInt32(at + done, from.getInt32(start + done))
  } else {
    for (let done = 0; done < length; done += 1) to.setUint8(at + done, from.getUint8(start + done))
  }
}
