import { isExactDouble } from './exact-number.ts'
import { asciiText, closingQuote, endOfNumber, isSuspectName, needsExactCheck } from './scan-json.ts'

/** Limits of a body: values in total, elements of one list, members of one object, and nesting levels. */
export type JsonLimits = {
  readonly values: number
  readonly elements: number
  readonly members: number
  readonly levels: number
}

/** Name of a limit. */
export type JsonLimitName = keyof JsonLimits

/** Counts of a body before the body is parsed. Invalid JSON has approximate counts. */
export type JsonMeasure = {
  readonly excess: JsonLimitName | null
  /** Members of all objects together. Duplicates count each time. */
  readonly members: number
  /** True if every number is an exact double, no member has the name `__proto__`, and no name has an escape. */
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
  values: number
  members: number
  depth: number
  isPlain: boolean
  excess: JsonLimitName | null
  /** Number of members or elements of the open container, by depth. */
  readonly counts: number[]
  /** True if the open container is an object, by depth. */
  readonly isObjectAt: boolean[]
}

/**
 * Count the values of a body in one pass over its bytes. Stops at the first limit that is exceeded.
 * Parsing and validating millions of values would take seconds.
 */
export const measureJson = (bytes: Uint8Array, limits: JsonLimits): JsonMeasure => {
  const state: MeasureState = {
    bytes,
    limits,
    values: 0,
    members: 0,
    depth: 0,
    isPlain: true,
    excess: null,
    counts: [0],
    isObjectAt: [false],
  }
  countValues(state)
  const { excess, members, isPlain } = state
  return { excess, members, isPlain }
}

const countValues = (state: MeasureState): void => {
  const { bytes } = state
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at] as number
    if (code <= space) continue
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
    if (state.excess !== null) return
  }
}

/** Skip a string, and count the member if the string is a name. Returns the index of the last byte that was read. */
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

/** Count a value of the open container. */
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
