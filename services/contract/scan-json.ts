import { isCarriedExactly } from './exact-number.ts'

/** What `JSON.parse` does not tell about a text that it took. */
type JsonScan = {
  /** Members written in all objects together, repeated ones counted each time. */
  readonly members: number
  readonly depth: number
  /** Every number is carried by a double without loss, and no member is called `__proto__`. */
  readonly plain: boolean
  /** Indexes of the arrays and objects one level down that are longer than the limit. */
  readonly oversized: readonly number[]
}

const lineFeed = 10
const space = 32
const quote = 34
const plus = 43
const comma = 44
const minus = 45
const dot = 46
const zero = 48
const nine = 57
const colon = 58
const leftBracket = 91
const backslash = 92
const rightBracket = 93
const underscore = 95
const letterE = 101
const leftBrace = 123
const rightBrace = 125

/** The quote that ends a string with escapes: not one behind a backslash. */
const closingQuote = (bytes: Uint8Array, start: number): number => {
  let at = start
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

const isProtoName = (bytes: Uint8Array, start: number, end: number): boolean =>
  end - start === 9 && bytes[start] === underscore && ascii(bytes, start, end) === '__proto__'

/** Tell whether a name has an escape, behind which `__proto__` may hide. */
const isEscapedName = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at += 1) if (bytes[at] === backslash) return true
  return false
}

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')

/**
 * Look once over a text that `JSON.parse` has taken; without escapes a string ends at the next quote.
 * Works on UTF-8 bytes, where every mark of JSON is one byte; `elementLimit` is in bytes.
 */
export const scanJson = (bytes: Uint8Array, elementLimit: number, hasEscapes: boolean): JsonScan => {
  const oversized: number[] = []
  let members = 0
  let depth = 0
  let deepest = 0
  let plain = true
  let element = 0
  let elementStart = 0
  const length = bytes.length
  for (let at = 0; at < length; at += 1) {
    const code = bytes[at] ?? 0
    if (code === quote) {
      const start = at + 1
      at = start
      if (hasEscapes) at = closingQuote(bytes, start)
      else while (at < length && bytes[at] !== quote) at += 1
      let next = at + 1
      while (next < length && (bytes[next] ?? 0) <= space) next += 1
      if (bytes[next] !== colon) continue
      members += 1
      if (isProtoName(bytes, start, at) || (hasEscapes && isEscapedName(bytes, start, at))) plain = false
      at = next
    } else if (code === leftBrace || code === leftBracket) {
      depth += 1
      if (depth > deepest) deepest = depth
      if (depth === 2) elementStart = at
    } else if (code === rightBrace || code === rightBracket) {
      depth -= 1
      if (depth === 1 && at + 1 - elementStart > elementLimit) oversized.push(element)
    } else if (code === comma) {
      if (depth === 1) element += 1
    } else if ((code >= zero && code <= nine) || code === minus) {
      const start = at
      at = endOfNumber(bytes, at)
      if (plain && needsJudgement(bytes, start, at)) plain = isCarriedExactly(ascii(bytes, start, at))
      at -= 1
    }
  }
  return { members, depth: deepest, plain, oversized }
}

const endOfNumber = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  for (;;) {
    const code = (bytes[at] ?? 0) | 32
    const isPart = (code >= zero && code <= nine) || code === letterE || code === dot || code === minus || code === plus
    if (!isPart) return at
    at += 1
  }
}

/** Short texts without an exponent are always carried exactly; very long ones never. */
const needsJudgement = (bytes: Uint8Array, start: number, end: number): boolean => {
  if (end - start > 15) return true
  for (let at = start; at < end; at += 1) if (((bytes[at] ?? 0) | 32) === letterE) return true
  return false
}

/** What a submission may hold: elements, values in each (members, and elements of lists), and values beyond these in all of it. */
export type Capacity = { readonly elements: number; readonly valuesEach: number; readonly valuesBeyond: number }

/**
 * Tell of what a list, or lines of JSON values, hold more than they may, going no further than to there: to parse millions of values
 * takes seconds, to look over their bytes does not. What is no JSON is counted as it looks.
 */
export const surplusOf = (bytes: Uint8Array, inLines: boolean, most: Capacity): 'elements' | 'values' | null => {
  let elements = 0
  let values = 0
  let beyond = 0
  // Between elements, where the next value begins one.
  let isBetween = true
  let depth = inLines ? 1 : 0
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at] as number
    if (code <= space) {
      if (code === lineFeed && inLines) isBetween = true
      continue
    }
    if (isBetween && depth === 1 && code !== rightBracket) {
      isBetween = false
      values = 0
      elements += 1
      if (elements > most.elements) return 'elements'
    }
    if (code === quote) at = closingQuote(bytes, at + 1)
    else if (code === leftBrace || code === leftBracket) depth += 1
    else if (code === rightBrace || code === rightBracket) depth -= 1
    else if (code === comma && depth === 1 && !inLines) isBetween = true
    if (code !== comma && code !== leftBrace && code !== leftBracket) continue
    values += 1
    if (values > most.valuesEach) beyond += 1
    if (beyond > most.valuesBeyond) return 'values'
  }
  return null
}

/** Count the members of all objects in a parsed value. */
export const countMembers = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object' && element !== null) members += countMembers(element)
    return members
  }
  const object = value as Readonly<Record<string, unknown>>
  for (const name in object) {
    members += 1
    const member = object[name]
    if (typeof member === 'object' && member !== null) members += countMembers(member)
  }
  return members
}
