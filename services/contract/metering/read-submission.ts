import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { readExactJson } from '../json/exact-json.ts'
import { closingQuote } from '../json/scan-json.ts'
import { decodeBody, parseText } from '../json/strict-json.ts'

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
  index: number
  depth: number
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

/** Number of bytes between two pauses. */
const bytesPerPause = 2 ** 18

/**
 * Find the elements of a JSON list, or of lines of JSON values, in steps. Stops at an exceeded limit or at invalid
 * syntax. Parsing millions of values would take seconds.
 */
export function* splitSubmission(
  bytes: Uint8Array,
  isNdjson: boolean,
  limits: SubmissionLimits,
): Generator<void, ElementRanges> {
  const state: SplitState = {
    ...{ bytes, isNdjson, limits, index: 0, depth: 0, values: 0, excessCount: 0 },
    ...{ isInElement: false, isElementExpected: false, isClosed: false, isBroken: false },
    ...{ excess: null, starts: [], ends: [] },
  }
  const advance = isNdjson ? advanceLines : advanceList
  while (state.index < bytes.length && state.excess === null && !state.isBroken) {
    advance(state, Math.min(bytes.length, state.index + bytesPerPause))
    yield
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

/** Return the last byte of a string that begins at `start`: its closing quote, or the last byte of the line. */
const endOfText = (bytes: Uint8Array, start: number): number => {
  let at = start
  for (; at < bytes.length; at += 1) {
    const code = bytes[at]
    if (code === quote) return at
    if (code === lineFeed) return at - 1
    if (code === backslash && bytes[at + 1] !== lineFeed) at += 1
  }
  return at
}

/** Find lines. Each line that is not blank is an element. */
const advanceLines = (state: SplitState, until: number): void => {
  const { bytes } = state
  let at = state.index
  for (; at < until && state.excess === null; at += 1) {
    const code = bytes[at] as number
    if (code === lineFeed) {
      if (state.isInElement) endElement(state, at)
    } else if (!state.isInElement && code !== space && code !== tab && code !== carriageReturn) beginElement(state, at)
    if (code === quote) at = endOfText(bytes, at + 1)
    else if (code === comma || code === leftBrace || code === leftBracket) countValue(state)
  }
  state.index = at
}

const advanceList = (state: SplitState, until: number): void => {
  const { bytes } = state
  let at = state.index
  for (; at < until && state.excess === null && !state.isBroken; at += 1) {
    const code = bytes[at] as number
    if (code <= space) continue
    if (state.depth === 0) {
      if (code === leftBracket && !state.isClosed) state.depth = 1
      else state.isBroken = true
      continue
    }
    if (state.depth === 1 && endElementAt(state, code, at)) continue
    if (!state.isInElement) beginElement(state, at)
    if (code === quote) at = closingQuote(bytes, at + 1)
    else if (code === leftBrace || code === leftBracket) state.depth += 1
    else if (code === rightBrace || code === rightBracket) state.depth -= 1
    if (code === comma || code === leftBrace || code === leftBracket) countValue(state)
    // An unmatched closing bracket ends the list too early. The parser of the element reports the fault.
    if (state.depth === 0) state.isBroken = true
  }
  state.index = at
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

/** Elements of a submission, and the indexes of the elements that are too long. */
export type Submission = { readonly elements: readonly unknown[]; readonly oversized: ReadonlySet<number> }

/** Larger elements are parsed in steps. */
const longElementBytes = 2 ** 16
/** Number of elements between two pauses. */
const elementsPerPause = 64

const isContainer = (bytes: Uint8Array, start: number): boolean => bytes[start] === 123 || bytes[start] === 91

/** Return the end of an element without trailing white space. */
const trimmedEnd = (bytes: Uint8Array, start: number, end: number): number => {
  let at = end
  while (at > start && (bytes[at - 1] as number) <= 32) at -= 1
  return at
}

function* readElement(bytes: Uint8Array, level: number): Generator<void, Result<unknown>> {
  if (bytes.length <= longElementBytes) return parseText(bytes, level)
  const decoded = decodeBody(bytes)
  yield
  return decoded.ok ? yield* readExactJson(decoded.value, level) : decoded
}

/** Return the line number of a byte, from 1. */
const lineOf = (bytes: Uint8Array, at: number): number => {
  let line = 1
  for (let index = 0; index < at; index += 1) if (bytes[index] === 10) line += 1
  return line
}

/** Refuse a list with the position of its fault in the body. */
function* refuseList(bytes: Uint8Array): Generator<void, Result<never>> {
  const decoded = decodeBody(bytes)
  if (!decoded.ok) return decoded
  yield
  const parsed = yield* readExactJson(decoded.value)
  return parsed.ok ? refused('body_invalid', 'The body must be a list') : parsed
}

/** Elements of a submission, a refusal, or the name of the exceeded limit. */
export type SubmissionResult =
  | Result<Submission>
  | { readonly ok: false; readonly excess: Exclude<ElementRanges['excess'], null> }

/**
 * Parse a submission in steps: a JSON list, or one JSON value per line. Blank lines are skipped.
 * Returns the indexes of elements of more than `maxElementBytes` bytes; the other elements stay valid.
 * Refuses the body as `parseJson` does, and a body that is not a list. The refusal of a line has the line number.
 * Limits are checked before any element is parsed.
 * Source: docs/rules/metering.md #submissions; docs/rules/versions-and-transport.md #json-text.
 */
export function* readSubmission(
  bytes: Uint8Array,
  isNdjson: boolean,
  submissionLimits: SubmissionLimits,
  maxElementBytes: number,
): Generator<void, SubmissionResult> {
  const { excess, isBroken, starts, ends } = yield* splitSubmission(
    withoutByteOrderMark(bytes),
    isNdjson,
    submissionLimits,
  )
  if (excess !== null) return { ok: false, excess }
  if (isBroken) return yield* refuseList(bytes)
  const elements: unknown[] = []
  const oversized = new Set<number>()
  const content = withoutByteOrderMark(bytes)
  for (const [index, start] of starts.entries()) {
    const end = isNdjson ? (ends[index] ?? start) : trimmedEnd(content, start, ends[index] ?? start)
    const parsed = yield* readElement(content.subarray(start, end), isNdjson ? 0 : 1)
    if (!parsed.ok && isNdjson)
      return refused('body_invalid', `Line ${lineOf(content, start)}: ${parsed.refusal.message}`)
    if (!parsed.ok) return yield* refuseList(bytes)
    if (end - start > maxElementBytes && (isNdjson || isContainer(content, start))) oversized.add(index)
    elements.push(parsed.value)
    if (index % elementsPerPause === 0) yield
  }
  return accepted({ elements, oversized })
}

/** Remove a byte order mark. */
const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
