import { closingQuote } from '../json/scan-json.ts'

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
