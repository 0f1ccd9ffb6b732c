import { maxNumberLength } from '../../domain/quantity.ts'
import { isExactDouble } from './exact-number.ts'

/** Properties of a valid JSON text that `JSON.parse` does not return. */
type JsonScan = {
  /** Members of all objects together. Duplicates count each time. */
  readonly members: number
  readonly depth: number
  /** True if every number is an exact double and no member has the name `__proto__`. */
  readonly isPlain: boolean
}

const space = 32
const quote = 34
const plus = 43
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

/** Return the index of the closing quote of a string that may have escapes; at least `end` if the quote is later. */
export const closingQuote = (bytes: Uint8Array, start: number, end = bytes.length): number => {
  let at = start
  for (; at < end; at += 1) {
    const code = bytes[at]
    if (code === quote) return at
    if (code === backslash) at += 1
  }
  return at
}

const isProtoName = (bytes: Uint8Array, start: number, end: number): boolean =>
  end - start === 9 && bytes[start] === underscore && asciiText(bytes, start, end) === '__proto__'

/** True if a name has an escape, which can spell `__proto__`. */
const isEscapedName = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at += 1) if (bytes[at] === backslash) return true
  return false
}

/** True if only the exact parser may read a member name: `__proto__`, or a name with an escape. */
export const isSuspectName = (bytes: Uint8Array, start: number, end: number): boolean =>
  isProtoName(bytes, start, end) || isEscapedName(bytes, start, end)

/** Return ASCII text of a body; of a number of more than 400 characters the first 401. */
export const asciiText = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.min(end - start, maxNumberLength + 1)).toString('latin1')

/**
 * Scan a text that `JSON.parse` has accepted. Without escapes, a string ends at the next quote.
 * Works on UTF-8 bytes, because each JSON mark is one byte.
 */
export const scanJson = (bytes: Uint8Array, hasEscapes: boolean): JsonScan => {
  let members = 0
  let depth = 0
  let deepest = 0
  let isPlain = true
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
      if (isProtoName(bytes, start, at) || (hasEscapes && isEscapedName(bytes, start, at))) isPlain = false
      at = next
    } else if (code === leftBrace || code === leftBracket) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (code === rightBrace || code === rightBracket) {
      depth -= 1
    } else if ((code >= zero && code <= nine) || code === minus) {
      const start = at
      at = endOfNumber(bytes, at)
      if (isPlain && needsExactCheck(bytes, start, at)) isPlain = isExactDouble(asciiText(bytes, start, at))
      at -= 1
    }
  }
  return { members, depth: deepest, isPlain }
}

export const endOfNumber = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  for (;;) {
    const code = (bytes[at] ?? 0) | 32
    const isPart = (code >= zero && code <= nine) || code === letterE || code === dot || code === minus || code === plus
    if (!isPart) return at
    at += 1
  }
}

/** True if a number text can lose digits as a double: a text of more than 15 bytes, or with an exponent. */
export const needsExactCheck = (bytes: Uint8Array, start: number, end: number): boolean => {
  if (end - start > 15) return true
  for (let at = start; at < end; at += 1) if (((bytes[at] ?? 0) | 32) === letterE) return true
  return false
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
