import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { parseExactJsonInTurns } from '../json/exact-json.ts'
import { closingQuote } from '../json/scan-json.ts'
import { decodeBody, parseText } from '../json/strict-json.ts'
import type { NextTurn } from '../operation.ts'

/** Limits of a submission: elements, values in each element (members and list elements), and excess values in total. */
export type SubmissionLimits = {
  readonly elements: number
  readonly valuesPerElement: number
  readonly excessValues: number
}

/**
 * Byte ranges of the elements of a submission, or the exceeded limit. `isBroken` is true for invalid list syntax.
 * An element of invalid JSON has approximate counts.
 */
export type ElementRanges = {
  readonly excess: 'elements' | 'values' | null
  readonly isBroken: boolean
  /** Index of the first byte of each element. */
  readonly starts: readonly number[]
  /** Index after the last byte of each element. */
  readonly ends: readonly number[]
}

const tab = 9
const lineFeed = 10
const carriageReturn = 13
const space = 32
const quote = 34
const comma = 44
const leftBracket = 91
const backslash = 92
const rightBracket = 93
const leftBrace = 123
const rightBrace = 125

type SplitState = {
  readonly bytes: Uint8Array
  readonly isNdjson: boolean
  readonly limits: SubmissionLimits
  /** Index of the next byte. */
  at: number
  depth: number
  /** True inside a text in quotes. */
  isInText: boolean
  /** True inside an element; between elements are commas or line ends. */
  isInElement: boolean
  /** True after a comma. */
  isElementExpected: boolean
  isClosed: boolean
  isBroken: boolean
  /** Values of the current element. */
  values: number
  /** Values above the limit of their element, in all elements. */
  excessCount: number
  excess: ElementRanges['excess']
  readonly starts: number[]
  readonly ends: number[]
}

/** Bytes that are split in one turn of the event loop. */
const bytesPerTurn = 2 ** 20

/**
 * Find the elements of a JSON list, or of lines of JSON values. Stops at an exceeded limit or at invalid syntax.
 * Parsing millions of values would take seconds.
 */
export const splitSubmission = async (
  bytes: Uint8Array,
  isNdjson: boolean,
  limits: SubmissionLimits,
  nextTurn: NextTurn,
): Promise<ElementRanges> => {
  const state: SplitState = {
    bytes,
    isNdjson,
    limits,
    at: 0,
    depth: 0,
    isInText: false,
    values: 0,
    excessCount: 0,
    isInElement: false,
    isElementExpected: false,
    isClosed: false,
    isBroken: false,
    excess: null,
    starts: [],
    ends: [],
  }
  const findNext = isNdjson ? findLines : findElements
  while (state.at < bytes.length && state.excess === null && !state.isBroken) {
    if (state.at > 0) await nextTurn()
    findNext(state, Math.min(bytes.length, state.at + bytesPerTurn))
  }
  if (isNdjson && state.isInElement) state.ends.push(bytes.length)
  if (!isNdjson && !state.isClosed) state.isBroken = true
  const { excess, isBroken, starts, ends } = state
  return { excess, isBroken, starts, ends }
}

const beginElement = (state: SplitState, at: number): void => {
  state.isInElement = true
  state.isElementExpected = false
  state.values = 0
  state.starts.push(at)
  if (state.starts.length > state.limits.elements) state.excess = 'elements'
}

const endElement = (state: SplitState, at: number): void => {
  state.isInElement = false
  state.ends.push(at)
}

const countValue = (state: SplitState): void => {
  state.values += 1
  if (state.values > state.limits.valuesPerElement) state.excessCount += 1
  if (state.excessCount > state.limits.excessValues) state.excess = 'values'
}

/** Return the index of the closing quote of a text, or of the end of its line; at least `end` if both are later. */
const endOfText = (bytes: Uint8Array, start: number, end: number): number => {
  let at = start
  for (; at < end; at += 1) {
    const code = bytes[at]
    if (code === quote || code === lineFeed) return at
    if (code === backslash && bytes[at + 1] !== lineFeed) at += 1
  }
  return at
}

/** Find lines that begin before `end`. Each line that is not blank is an element. */
const findLines = (state: SplitState, end: number): void => {
  const { bytes } = state
  let { at } = state
  for (; at < end && state.excess === null; at += 1) {
    if (state.isInText) {
      at = endOfText(bytes, at, end)
      if (at >= end) break
      state.isInText = false
      if (bytes[at] === quote) continue
    }
    const code = bytes[at] as number
    if (code === lineFeed) {
      if (state.isInElement) endElement(state, at)
    } else if (!state.isInElement && code !== space && code !== tab && code !== carriageReturn) beginElement(state, at)
    if (code === quote) state.isInText = true
    else if (code === comma || code === leftBrace || code === leftBracket) countValue(state)
  }
  state.at = at
}

/** Find the elements of a list that begin before `end`. */
const findElements = (state: SplitState, end: number): void => {
  const { bytes } = state
  let { at } = state
  for (; at < end && state.excess === null && !state.isBroken; at += 1) {
    if (state.isInText) {
      at = closingQuote(bytes, at, end)
      if (at >= end) break
      state.isInText = false
      continue
    }
    const code = bytes[at] as number
    if (code <= space) continue
    if (state.depth === 0) {
      if (code === leftBracket && !state.isClosed) state.depth = 1
      else state.isBroken = true
      continue
    }
    if (state.depth === 1 && endElementAt(state, code, at)) continue
    if (!state.isInElement) beginElement(state, at)
    if (code === quote) state.isInText = true
    else if (code === leftBrace || code === leftBracket) state.depth += 1
    else if (code === rightBrace || code === rightBracket) state.depth -= 1
    if (code === comma || code === leftBrace || code === leftBracket) countValue(state)
    // An unmatched closing bracket ends the list too early. The parser of the element reports the fault.
    if (state.depth === 0) state.isBroken = true
  }
  state.at = at
}

/** Read the comma after an element, or the end of the list. */
const endElementAt = (state: SplitState, code: number, at: number): boolean => {
  if (code !== comma && code !== rightBracket) return false
  if (code === comma) countValue(state)
  if (state.isInElement) endElement(state, at)
  else if (code === comma || state.isElementExpected) state.isBroken = true
  state.isElementExpected = code === comma
  if (code === rightBracket) {
    state.depth = 0
    state.isClosed = true
  }
  return true
}

/**
 * Submission whose elements are read one by one. `isTooLong` returns whether an element has too many bytes. `read`
 * returns undefined for an element of more than 64 KiB, which is not parsed. `refuse` returns the refusal of the
 * submission for an element that is refused: it parses a list again to find the position.
 */
export type SubmissionReader = {
  readonly count: number
  readonly isTooLong: (index: number) => boolean
  readonly read: (index: number) => Result<unknown>
  readonly refuse: (index: number, refusal: Refusal) => Promise<Result<never>>
}

/** Longer elements are too long in each case, and are not parsed. */
const maxParsedBytes = 2 ** 16

const isContainer = (bytes: Uint8Array, start: number): boolean => bytes[start] === 123 || bytes[start] === 91

/** Return the end of an element without trailing white space. */
const trimmedEnd = (bytes: Uint8Array, start: number, end: number): number => {
  let at = end
  while (at > start && (bytes[at - 1] as number) <= 32) at -= 1
  return at
}

/** Return the line number of a byte, from 1. */
const lineOf = (bytes: Uint8Array, at: number): number => {
  let line = 1
  for (let index = 0; index < at; index += 1) if (bytes[index] === 10) line += 1
  return line
}

/** Refuse a list with the position of its fault in the body. */
const refuseList = async (bytes: Uint8Array, nextTurn: NextTurn): Promise<Result<never>> => {
  await nextTurn()
  const decoded = decodeBody(bytes)
  if (!decoded.ok) return decoded
  await nextTurn()
  const parsed = await parseExactJsonInTurns(decoded.value, nextTurn)
  return parsed.ok ? refused('body_invalid', 'The body must be a list') : parsed
}

/** Opened submission, a refusal, or the name of the exceeded limit. */
export type SubmissionResult =
  | Result<SubmissionReader>
  | { readonly ok: false; readonly excess: Exclude<ElementRanges['excess'], null> }

/**
 * Open a submission: a JSON list, or one JSON value per line. Blank lines are skipped.
 * An element of more than `maxElementBytes` bytes is too long; the other elements stay valid.
 * Refuses the body as `parseJson` does, and a body that is not a list. The refusal of a line has the line number.
 * Limits are checked before any element is parsed.
 * Source: docs/rules/metering.md #submissions; docs/rules/versions-and-transport.md #json-text.
 */
export const openSubmission = async (
  bytes: Uint8Array,
  isNdjson: boolean,
  { limits, maxElementBytes }: { readonly limits: SubmissionLimits; readonly maxElementBytes: number },
  nextTurn: NextTurn,
): Promise<SubmissionResult> => {
  const content = withoutByteOrderMark(bytes)
  const { excess, isBroken, starts, ends } = await splitSubmission(content, isNdjson, limits, nextTurn)
  if (excess !== null) return { ok: false, excess }
  if (isBroken) return refuseList(bytes, nextTurn)
  const rangeOf = (index: number): readonly [number, number] => {
    const start = starts[index] ?? 0
    const end = ends[index] ?? start
    return [start, isNdjson ? end : trimmedEnd(content, start, end)]
  }
  return accepted({
    count: starts.length,
    isTooLong: index => {
      const [start, end] = rangeOf(index)
      const length = end - start
      return length > maxParsedBytes || (length > maxElementBytes && (isNdjson || isContainer(content, start)))
    },
    read: index => {
      const [start, end] = rangeOf(index)
      return end - start > maxParsedBytes
        ? accepted(undefined)
        : parseText(content.subarray(start, end), isNdjson ? 0 : 1)
    },
    refuse: async (index, { message }) =>
      isNdjson
        ? refused('body_invalid', `Line ${lineOf(content, starts[index] ?? 0)}: ${message}`)
        : refuseList(bytes, nextTurn),
  })
}

/** Remove a byte order mark. */
const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
