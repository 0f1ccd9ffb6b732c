/**
 * Reading position in the UTF-8 bytes of a JSON body. Readers advance `index`. `isAscii` becomes false at the first
 * string with other characters. Readers of this folder never refuse: if they cannot read a value, the general reader
 * reads the body.
 */
export type JsonCursor = {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly length: number
  index: number
  isAscii: boolean
}

export const createJsonCursor = ({ buffer, byteOffset, length }: Uint8Array): JsonCursor => ({
  // The engine reads faster if all bodies have the same array type.
  bytes: new Uint8Array(buffer, byteOffset, length),
  view: new DataView(buffer, byteOffset, length),
  length,
  index: 0,
  isAscii: true,
})

const space = 32
const lineFeed = 10
const carriageReturn = 13
const tab = 9
const quote = 34
const dot = 46
const zero = 48
const backslash = 92

/** Skip white space and return the byte at the cursor; -1 at the end. */
export const peekByte = (cursor: JsonCursor): number => {
  const code = cursor.index < cursor.length ? (cursor.bytes[cursor.index] as number) : 0
  return code > space ? code : skipWhitespace(cursor)
}

/** Maximum length of white space and of a string in bytes. The general reader reads longer ones. */
const maxRunBytes = 2 ** 16

const skipWhitespace = (cursor: JsonCursor): number => {
  const { bytes } = cursor
  let at = cursor.index
  const length = Math.min(cursor.length, at + maxRunBytes)
  while (at < length) {
    const code = bytes[at] as number
    if (code > space) {
      cursor.index = at
      return code
    }
    if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) break
    at += 1
  }
  cursor.index = at
  return -1
}

/** Skip one byte if the byte at the cursor equals `byte`. */
export const takeByte = (cursor: JsonCursor, byte: number): boolean => {
  if (peekByte(cursor) !== byte) return false
  cursor.index += 1
  return true
}

/** Return four bytes as an integer, little-endian; 0 if fewer bytes remain. */
export const int32At = ({ view, length }: JsonCursor, at: number): number =>
  at + 4 <= length ? view.getInt32(at, true) : 0

/** Return the value of `int32At` for four ASCII characters. */
export const int32Of = (text: string, start = 0): number =>
  text.charCodeAt(start) |
  (text.charCodeAt(start + 1) << 8) |
  (text.charCodeAt(start + 2) << 16) |
  (text.charCodeAt(start + 3) << 24)

/**
 * Return eight bytes as a double; NaN if fewer bytes remain. Two equal doubles have the same bytes, except zeros, so
 * that one comparison compares eight ASCII characters. The number has no meaning.
 */
export const float64At = ({ view, length }: JsonCursor, at: number): number =>
  at + 8 <= length ? view.getFloat64(at) : Number.NaN

/** Return the value of `float64At` for eight ASCII characters. */
export const float64Of = (text: string, start = 0): number =>
  Buffer.from(text.slice(start, start + 8), 'latin1').readDoubleBE()

const nullWord = int32Of('null')

/** Skip `null` if it is at the cursor. */
export const skipNull = (cursor: JsonCursor): boolean => {
  if (int32At(cursor, cursor.index) !== nullWord) return false
  cursor.index += 4
  return true
}

/**
 * Skip a string without escapes and return its length in bytes. Its first byte is at `cursor.index - length - 1`.
 * Returns -1 for a string with an escape or a control character, and for a string without an end.
 */
export const skipText = (cursor: JsonCursor): number => {
  const { bytes } = cursor
  const start = cursor.index + 1
  if (bytes[cursor.index] !== quote) return -1
  const length = Math.min(cursor.length, start + maxRunBytes)
  let seenBits = 0
  for (let at = start; at < length; at += 1) {
    const code = bytes[at] as number
    if (code === quote) {
      if (seenBits > 127) cursor.isAscii = false
      cursor.index = at + 1
      return at - start
    }
    if (code < space || code === backslash) return -1
    seenBits |= code
  }
  return -1
}

/**
 * Decimal number: mantissa × 10^-decimals. `decimals` is infinite for more than 15 digits, because a double may lose
 * digits.
 */
export type ParsedDecimal = { mantissa: number; decimals: number }

const maxExactDigits = 15
const maxDigits = 40

/**
 * Read a number of digits and an optional point into `target`. False for a sign, for more than 40 digits, and for other
 * text. The caller checks the next byte.
 */
export const readDecimalBytes = (cursor: JsonCursor, target: ParsedDecimal): boolean => {
  const { bytes, length, index: start } = cursor
  let at = start
  let mantissa = 0
  let point = -1
  for (; at < length; at += 1) {
    const code = bytes[at] as number
    const digit = code - zero
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit
    else if (code === dot && point < 0 && at > start) point = at
    else break
  }
  const digits = point < 0 ? at - start : at - start - 1
  const hasLeadingZero = bytes[start] === zero && at > start + 1 && point !== start + 1
  if (digits === 0 || digits > maxDigits || point === at - 1 || hasLeadingZero) return false
  target.mantissa = mantissa
  target.decimals = digits > maxExactDigits ? Number.POSITIVE_INFINITY : point < 0 ? 0 : at - point - 1
  cursor.index = at
  return true
}

/** Return the ASCII characters from `start` to the cursor. */
export const asciiTextBefore = ({ bytes, index }: JsonCursor, start: number, trailingBytes = 0): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, index - trailingBytes - start).toString('latin1')

/** ASCII text of at least eight characters, as groups of eight bytes. The last group can overlap the group before. */
export type BytePattern = {
  readonly length: number
  readonly firstBytes: number
  readonly restBytes: readonly number[]
  readonly offsets: readonly number[]
}

export const createBytePattern = (text: string): BytePattern => {
  const { length } = text
  if (length < 8) throw new RangeError(`A pattern must have at least eight characters: ${text}`)
  const offsets: number[] = []
  for (let at = 8; at < length; at += 8) offsets.push(Math.min(at, length - 8))
  return { length, firstBytes: float64Of(text), restBytes: offsets.map(offset => float64Of(text, offset)), offsets }
}

/** Skip a text if it is at the cursor. The caller has already compared the first eight bytes. */
export const matchRest = (cursor: JsonCursor, { restBytes, offsets, length }: BytePattern): boolean => {
  const { view, index: at } = cursor
  if (at + length > cursor.length) return false
  for (let index = 0; index < restBytes.length; index += 1) {
    if (view.getFloat64(at + (offsets[index] as number)) !== restBytes[index]) return false
  }
  cursor.index = at + length
  return true
}

/** Skip a text if it is at the cursor. */
export const matchPattern = (cursor: JsonCursor, text: BytePattern): boolean =>
  float64At(cursor, cursor.index) === text.firstBytes && matchRest(cursor, text)
