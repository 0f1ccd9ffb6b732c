/**
 * A place in the UTF-8 text of a JSON body. Whoever reads moves it on; `isAscii` falls when a text holds other characters.
 * Readers here never judge: they say that they cannot go on, and the general reader has the word.
 */
export type JsonCursor = {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly length: number
  index: number
  isAscii: boolean
}

export const createJsonCursor = ({ buffer, byteOffset, length }: Uint8Array): JsonCursor => ({
  // One kind of array, whatever the body came in: the engine reads it faster.
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

/** Step over white space and give the byte that stands there; -1 at the end. */
export const peekByte = (cursor: JsonCursor): number => {
  const code = cursor.index < cursor.length ? (cursor.bytes[cursor.index] as number) : 0
  return code > space ? code : skipWhitespace(cursor)
}

/** Bytes of white space, and of one text, that readers here go over at once; for more they say that they cannot go on. */
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

/** Step over one byte, if it is that one. */
export const takeByte = (cursor: JsonCursor, byte: number): boolean => {
  if (peekByte(cursor) !== byte) return false
  cursor.index += 1
  return true
}

/** Four bytes as a number, the first one lowest; 0 where there are not four. */
export const int32At = ({ view, length }: JsonCursor, at: number): number =>
  at + 4 <= length ? view.getInt32(at, true) : 0

/** The number that `wordAt` gives for four ASCII characters. */
export const int32Of = (text: string, start = 0): number =>
  text.charCodeAt(start) |
  (text.charCodeAt(start + 1) << 8) |
  (text.charCodeAt(start + 2) << 16) |
  (text.charCodeAt(start + 3) << 24)

/**
 * Eight bytes as a double, NaN where there are not eight: two that are equal are of the same bytes, but for zeros, and one comparison
 * tells for ASCII text. What it is as a number says nothing.
 */
export const float64At = ({ view, length }: JsonCursor, at: number): number =>
  at + 8 <= length ? view.getFloat64(at) : Number.NaN

/** What `eightAt` gives for eight ASCII characters. */
export const float64Of = (text: string, start = 0): number =>
  Buffer.from(text.slice(start, start + 8), 'latin1').readDoubleBE()

const nullWord = int32Of('null')

/** Step over `null`, if it stands there. */
export const skipNull = (cursor: JsonCursor): boolean => {
  if (int32At(cursor, cursor.index) !== nullWord) return false
  cursor.index += 4
  return true
}

/**
 * Step over a text without escapes and give its length in bytes; its first byte is then at `from.at - length - 1`.
 * -1 for one with an escape or a bare control character, or without an end.
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

/** A decimal as it was written: mantissa × 10^-decimals; of more than 15 digits, which no double holds for certain, `decimals` is infinite. */
export type ParsedDecimal = { mantissa: number; decimals: number }

const maxExactDigits = 15
const maxDigits = 40

/** Step over a number of digits and perhaps a point, and note it; false for a sign, for more than 40 digits, and for what is none. What follows is the caller's to look at. */
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

/** The characters from `start` to the cursor, which are ASCII. */
export const asciiTextBefore = ({ bytes, index }: JsonCursor, start: number, trailingBytes = 0): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, index - trailingBytes - start).toString('latin1')

/** An ASCII text of at least eight characters as it stands in a body: eight bytes at a time, the last ones overlapping those before. */
export type BytePattern = {
  readonly length: number
  readonly firstBytes: number
  readonly restBytes: readonly number[]
  readonly offsets: readonly number[]
}

export const createBytePattern = (text: string): BytePattern => {
  const { length } = text
  if (length < 8) throw new RangeError(`a text of less than eight characters: ${text}`)
  const offsets: number[] = []
  for (let at = 8; at < length; at += 8) offsets.push(Math.min(at, length - 8))
  return { length, firstBytes: float64Of(text), restBytes: offsets.map(offset => float64Of(text, offset)), offsets }
}

/** Step over a text whose first eight bytes are known to stand at the cursor; false where it goes on otherwise. */
export const matchRest = (cursor: JsonCursor, { restBytes, offsets, length }: BytePattern): boolean => {
  const { view, index: at } = cursor
  if (at + length > cursor.length) return false
  for (let index = 0; index < restBytes.length; index += 1) {
    if (view.getFloat64(at + (offsets[index] as number)) !== restBytes[index]) return false
  }
  cursor.index = at + length
  return true
}

/** Step over a text, if it stands at the cursor. */
export const matchPattern = (cursor: JsonCursor, text: BytePattern): boolean =>
  float64At(cursor, cursor.index) === text.firstBytes && matchRest(cursor, text)
