/**
 * A place in the UTF-8 text of a JSON body. Whoever reads moves it on; `isAscii` falls when a text holds other characters.
 * Readers here never judge: they say that they cannot go on, and the general reader has the word.
 */
export type JsonCursor = {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly length: number
  at: number
  isAscii: boolean
}

export const jsonCursor = ({ buffer, byteOffset, length }: Uint8Array): JsonCursor => ({
  // One kind of array, whatever the body came in: the engine reads it faster.
  bytes: new Uint8Array(buffer, byteOffset, length),
  view: new DataView(buffer, byteOffset, length),
  length,
  at: 0,
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
export const nextMark = (from: JsonCursor): number => {
  const code = from.at < from.length ? (from.bytes[from.at] as number) : 0
  return code > space ? code : skipSpace(from)
}

/** Bytes of white space, and of one text, that readers here go over at once; for more they say that they cannot go on. */
const longestRun = 2 ** 16

const skipSpace = (from: JsonCursor): number => {
  const { bytes } = from
  let at = from.at
  const length = Math.min(from.length, at + longestRun)
  while (at < length) {
    const code = bytes[at] as number
    if (code > space) {
      from.at = at
      return code
    }
    if (code !== space && code !== lineFeed && code !== carriageReturn && code !== tab) break
    at += 1
  }
  from.at = at
  return -1
}

/** Step over one byte, if it is that one. */
export const takeMark = (from: JsonCursor, mark: number): boolean => {
  if (nextMark(from) !== mark) return false
  from.at += 1
  return true
}

/** Four bytes as a number, the first one lowest; 0 where there are not four. */
export const wordAt = ({ view, length }: JsonCursor, at: number): number => (at + 4 <= length ? view.getInt32(at, true) : 0)

/** The number that `wordAt` gives for four ASCII characters. */
export const wordOf = (text: string, from = 0): number =>
  text.charCodeAt(from) | (text.charCodeAt(from + 1) << 8) | (text.charCodeAt(from + 2) << 16) | (text.charCodeAt(from + 3) << 24)

/**
 * Eight bytes as a double, NaN where there are not eight: two that are equal are of the same bytes, but for zeros, and one comparison
 * tells for ASCII text. What it is as a number says nothing.
 */
export const eightAt = ({ view, length }: JsonCursor, at: number): number => (at + 8 <= length ? view.getFloat64(at) : Number.NaN)

/** What `eightAt` gives for eight ASCII characters. */
export const eightOf = (text: string, from = 0): number => Buffer.from(text.slice(from, from + 8), 'latin1').readDoubleBE()

const nullWord = wordOf('null')

/** Step over `null`, if it stands there. */
export const takeNull = (from: JsonCursor): boolean => {
  if (wordAt(from, from.at) !== nullWord) return false
  from.at += 4
  return true
}

/**
 * Step over a text without escapes and give its length in bytes; its first byte is then at `from.at - length - 1`.
 * -1 for one with an escape or a bare control character, or without an end.
 */
export const takeText = (from: JsonCursor): number => {
  const { bytes } = from
  const start = from.at + 1
  if (bytes[from.at] !== quote) return -1
  const length = Math.min(from.length, start + longestRun)
  let seen = 0
  for (let at = start; at < length; at += 1) {
    const code = bytes[at] as number
    if (code === quote) {
      if (seen > 127) from.isAscii = false
      from.at = at + 1
      return at - start
    }
    if (code < space || code === backslash) return -1
    seen |= code
  }
  return -1
}

/** A decimal as it was written: mantissa × 10^-decimals; of more than 15 digits, which no double holds for certain, `decimals` is infinite. */
export type PlainDecimal = { mantissa: number; decimals: number }

const exactDigits = 15
const mostDigits = 40

/** Step over a number of digits and perhaps a point, and note it; false for a sign, for more than 40 digits, and for what is none. What follows is the caller's to look at. */
export const takeDecimal = (from: JsonCursor, into: PlainDecimal): boolean => {
  const { bytes, length, at: start } = from
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
  if (digits === 0 || digits > mostDigits || point === at - 1 || hasLeadingZero) return false
  into.mantissa = mantissa
  into.decimals = digits > exactDigits ? Number.POSITIVE_INFINITY : point < 0 ? 0 : at - point - 1
  from.at = at
  return true
}

/** The characters from `start` to the cursor, which are ASCII. */
export const asciiBefore = ({ bytes, at }: JsonCursor, start: number, behind = 0): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, at - behind - start).toString('latin1')
