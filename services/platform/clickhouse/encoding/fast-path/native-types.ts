import { digitsAt, putDigits } from '../../../../record-bytes/digits.ts'
import {
  type BlockReader,
  type BlockWriter,
  ensureCapacity,
  type NativeType,
  readText,
  writeText,
} from './native-block.ts'

/** Create a type whose values all have `size` bytes. */
const fixedType = <T>(
  type: string,
  size: number,
  put: (to: BlockWriter, at: number, value: T) => void,
  get: (from: BlockReader, at: number) => T,
): NativeType<T> => ({
  type,
  write: (to, values) => {
    ensureCapacity(to, size * values.length)
    let { at } = to
    for (const value of values) {
      put(to, at, value)
      at += size
    }
    to.at = at
  },
  read: (from, count) => {
    const start = from.at
    from.at += size * count
    if (from.at > from.bytes.length) throw new RangeError('The block ends within a column.')
    const values: T[] = []
    for (let i = 0; i < count; i += 1) values.push(get(from, start + i * size))
    return values
  },
})

const twoTo32 = 4_294_967_296

export const uint8: NativeType<number> = fixedType(
  'UInt8',
  1,
  (to, at, value) => to.view.setUint8(at, value),
  (from, at) => from.view.getUint8(at),
)
export const uint32: NativeType<number> = fixedType(
  'UInt32',
  4,
  (to, at, value) => to.view.setUint32(at, value, true),
  (from, at) => from.view.getUint32(at, true),
)
export const uint64: NativeType<bigint> = fixedType(
  'UInt64',
  8,
  (to, at, value) => to.view.setBigUint64(at, value, true),
  (from, at) => from.view.getBigUint64(at, true),
)

/** Decimal of at most 18 digits, as an integer of its smallest unit. */
export const decimal64 = (type: string): NativeType<bigint> =>
  fixedType(
    type,
    8,
    (to, at, value) => to.view.setBigInt64(at, value, true),
    (from, at) => from.view.getBigInt64(at, true),
  )

/** Decimal of at most 38 digits, as an integer of its smallest unit. */
export const decimal128 = (type: string): NativeType<bigint> =>
  fixedType(
    type,
    16,
    (to, at, value) => {
      to.view.setBigInt64(at, value, true)
      to.view.setBigInt64(at + 8, value >> 64n, true)
    },
    (from, at) => {
      const high = from.view.getBigInt64(at + 8, true)
      const low = from.view.getBigUint64(at, true)
      return high === 0n ? low : (high << 64n) | low
    },
  )

/** A whole number from 0 to 2^53 as 64 bits. */
const whole = (type: string): NativeType<number> =>
  fixedType(
    type,
    8,
    (to, at, value) => {
      const high = Math.floor(value / twoTo32)
      to.view.setUint32(at, value - high * twoTo32, true)
      to.view.setUint32(at + 4, high, true)
    },
    (from, at) => from.view.getUint32(at, true) + from.view.getUint32(at + 4, true) * twoTo32,
  )

/** Milliseconds since 1970; not negative. */
export const instant: NativeType<number> = whole("DateTime64(3, 'UTC')")

export const bool: NativeType<boolean> = fixedType(
  'Bool',
  1,
  (to, at, value) => to.view.setUint8(at, value ? 1 : 0),
  (from, at) => from.view.getUint8(at) === 1,
)

/** One name of a list, stored as its index. */
export const choice = <T extends string>(names: readonly [T, ...T[]]): NativeType<T> =>
  fixedType(
    'Int8',
    1,
    (to, at, value) => to.view.setInt8(at, names.indexOf(value)),
    (from, at) => names[from.view.getInt8(at)] ?? names[0],
  )

/** An id as 12 bytes. Writing throws a RangeError for any other form. */
export const id = (prefix: string): NativeType<string> => {
  const each: NativeType<string> = fixedType(
    'FixedString(12)',
    12,
    (to, at, value) => putDigits(to.bytes, at, value, prefix.length),
    (from, at) => prefix + digitsAt(from.bytes, at),
  )
  return {
    ...each,
    write: (to, values) => writeIds(to, values, prefix.length),
    read: (from, count) => readIds(from, count, prefix),
  }
}

/** Read ids. An id that equals the previous one is the same text, because neighbouring rows often share an id. */
const readIds = (from: BlockReader, count: number, prefix: string): string[] => {
  const { bytes, view, at: start } = from
  from.at += 12 * count
  if (from.at > bytes.length) throw new RangeError('The block ends within a column.')
  const values: string[] = []
  let last = ''
  for (let at = start; at < from.at; at += 12) {
    const isLast =
      at > start &&
      view.getUint32(at) === view.getUint32(at - 12) &&
      view.getUint32(at + 4) === view.getUint32(at - 8) &&
      view.getUint32(at + 8) === view.getUint32(at - 4)
    if (!isLast) last = prefix + digitsAt(bytes, at)
    values.push(last)
  }
  return values
}

/** Write ids. An id that equals the previous one is copied, because neighbouring rows often share an id. */
const writeIds = (to: BlockWriter, values: readonly string[], prefixLength: number): void => {
  ensureCapacity(to, 12 * values.length)
  const { bytes, view } = to
  let { at } = to
  let last: string | undefined
  for (const value of values) {
    if (value === last) for (let i = 0; i < 12; i += 4) view.setUint32(at + i, view.getUint32(at + i - 12))
    else putDigits(bytes, at, value, prefixLength)
    last = value
    at += 12
  }
  to.at = at
}

/** ISO 4217 code: three letters. */
export const currency: NativeType<string> = fixedType(
  'FixedString(3)',
  3,
  (to, at, value) => {
    if (!/^[A-Z]{3}$/.test(value)) throw new RangeError(`Not a currency: ${value}.`)
    for (let i = 0; i < 3; i += 1) to.bytes[at + i] = value.charCodeAt(i)
  },
  (from, at) => from.bytes.toString('latin1', at, at + 3),
)

const zeroDigits = '0'.repeat(24)

/** An id or null; the column has zero bytes for null. */
export const optionalId = (prefix: string): NativeType<string | null> => {
  const ids = id(prefix)
  const none = prefix + zeroDigits
  return {
    type: ids.type,
    write: (to, values) =>
      ids.write(
        to,
        values.map(value => value ?? none),
      ),
    read: (from, count) => ids.read(from, count).map(value => (value === none ? null : value)),
  }
}

export const text: NativeType<string> = {
  type: 'String',
  write: (to, values) => {
    for (const value of values) writeText(to, value)
  },
  read: (from, count) => Array.from({ length: count }, () => readText(from)),
}

/** A text or null; the column has an empty string for null. */
export const optionalText: NativeType<string | null> = {
  type: text.type,
  write: (to, values) => {
    for (const value of values) writeText(to, value ?? '')
  },
  read: (from, count) => Array.from({ length: count }, () => readText(from) || null),
}

/** A value or null; the column has `filler` as the value of a null. */
export const nullable = <T>(nativeType: NativeType<T>, filler: T): NativeType<T | null> => ({
  type: `Nullable(${nativeType.type})`,
  write: (to, values) => {
    uint8.write(
      to,
      values.map(value => (value === null ? 1 : 0)),
    )
    nativeType.write(
      to,
      values.map(value => value ?? filler),
    )
  },
  read: (from, count) => {
    const missing = uint8.read(from, count)
    return nativeType.read(from, count).map((value, i) => (missing[i] === 1 ? null : value))
  },
})

const ends = whole('UInt64')

/** Write the end of each list within the joined values of all lists. */
export const writeEnds = (to: BlockWriter, lengths: readonly number[]): void => {
  let end = 0
  ends.write(
    to,
    lengths.map(length => (end += length)),
  )
}

const noItems: readonly never[] = []

export const array = <T>(nativeType: NativeType<T>): NativeType<readonly T[]> => ({
  type: `Array(${nativeType.type})`,
  write: (to, values) => {
    writeEnds(
      to,
      values.map(({ length }) => length),
    )
    const all: T[] = []
    for (const items of values) for (const item of items) all.push(item)
    nativeType.write(to, all)
  },
  read: (from, count) => {
    const stops = ends.read(from, count)
    const all = nativeType.read(from, stops.at(-1) ?? 0)
    return stops.map((stop, i) => {
      const start = stops[i - 1] ?? 0
      return start === stop ? noItems : all.slice(start, stop)
    })
  },
})
