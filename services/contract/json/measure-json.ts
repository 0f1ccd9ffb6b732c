import { isExactDouble } from './exact-number.ts'
import { asciiText, closingQuote, endOfNumber, isSuspectName, needsExactCheck } from './scan-json.ts'

/** What a body may hold: values in all, elements in one list, members in one object, and levels. */
export type JsonLimits = {
  readonly values: number
  readonly elements: number
  readonly members: number
  readonly levels: number
}

/** What is too much in a body. */
export type JsonLimitName = keyof JsonLimits

/** What a look over the bytes of a body tells, before any of it is parsed; what is no JSON is measured as it looks. */
export type JsonMeasure = {
  readonly excess: JsonLimitName | null
  /** Members written in all objects together, repeated ones counted each time. */
  readonly members: number
  /** Every number is carried by a double without loss, no member is called `__proto__`, and no name has an escape. */
  readonly isPlain: boolean
}

const space = 32
const quote = 34
const comma = 44
const minus = 45
const zero = 48
const nine = 57
const colon = 58
const leftBracket = 91
const rightBracket = 93
const leftBrace = 123
const rightBrace = 125

type MeasureState = {
  readonly bytes: Uint8Array
  readonly limits: JsonLimits
  index: number
  values: number
  members: number
  depth: number
  isPlain: boolean
  excess: JsonLimitName | null
  /** Members or elements of what is open, by its depth. */
  readonly counts: number[]
  /** Whether what is open is an object, by its depth. */
  readonly isObjectAt: boolean[]
}

/** Bytes that are looked over between two points where the work can be interrupted. */
const bytesPerPause = 2 ** 18

/**
 * Look once over the bytes of a body, in steps, going no further than to what is too much: to parse and to check millions of values
 * takes seconds, to look over their bytes does not.
 */
export function* measureJson(bytes: Uint8Array, limits: JsonLimits): Generator<void, JsonMeasure> {
  const state: MeasureState = {
    bytes,
    limits,
    index: 0,
    values: 0,
    members: 0,
    depth: 0,
    isPlain: true,
    excess: null,
    counts: [0],
    isObjectAt: [false],
  }
  while (state.index < bytes.length && state.excess === null) {
    advance(state, Math.min(bytes.length, state.index + bytesPerPause))
    yield
  }
  const { excess, members, isPlain } = state
  return { excess, members, isPlain }
}

const advance = (state: MeasureState, end: number): void => {
  const { bytes } = state
  let at = state.index
  for (; at < end; at += 1) {
    const code = bytes[at] as number
    if (code === quote) at = measureText(state, at)
    else if (code === comma) countValue(state)
    else if (code === leftBrace || code === leftBracket) open(state, code === leftBrace, at)
    else if (code === rightBrace || code === rightBracket) state.depth = Math.max(0, state.depth - 1)
    else if ((code >= zero && code <= nine) || code === minus) {
      const start = at
      at = endOfNumber(bytes, start) - 1
      if (state.isPlain && needsExactCheck(bytes, start, at + 1))
        state.isPlain = isExactDouble(asciiText(bytes, start, at + 1))
    }
    if (state.excess !== null) break
  }
  state.index = at
}

/** Step over a text, and note the member that it is the name of; gives the place of the last byte that was looked at. */
const measureText = (state: MeasureState, start: number): number => {
  const { bytes } = state
  const end = closingQuote(bytes, start + 1)
  let next = end + 1
  while (next < bytes.length && (bytes[next] as number) <= space) next += 1
  if (bytes[next] !== colon) return next - 1
  state.members += 1
  if (state.isPlain && isSuspectName(bytes, start + 1, end)) state.isPlain = false
  return next
}

/** Count a value of what is open. */
const countValue = (state: MeasureState): void => {
  const { limits, depth, counts } = state
  const count = (counts[depth] ?? 0) + 1
  counts[depth] = count
  state.values += 1
  const isObject = state.isObjectAt[depth] === true
  if (state.values > limits.values) state.excess = 'values'
  else if (count > (isObject ? limits.members : limits.elements)) state.excess = isObject ? 'members' : 'elements'
}

const open = (state: MeasureState, isObject: boolean, at: number): void => {
  const { bytes } = state
  state.depth += 1
  state.counts[state.depth] = 0
  state.isObjectAt[state.depth] = isObject
  if (state.depth > state.limits.levels) state.excess = 'levels'
  const next = bytes[at + 1]
  if (next !== rightBrace && next !== rightBracket) countValue(state)
}
