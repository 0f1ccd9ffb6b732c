import { isCarriedExactly } from './exact-number.ts'
import { ascii, closingQuote, endOfNumber, isNameToJudge, needsJudgement } from './scan-json.ts'

/** What a body may hold: values in all, elements in one list, members in one object, and levels. */
export type JsonLimits = { readonly values: number; readonly elements: number; readonly members: number; readonly levels: number }

/** What is too much in a body. */
export type JsonExcess = keyof JsonLimits

/** What a look over the bytes of a body tells, before any of it is parsed; what is no JSON is measured as it looks. */
export type JsonMeasure = {
  readonly excess: JsonExcess | null
  /** Members written in all objects together, repeated ones counted each time. */
  readonly members: number
  /** Every number is carried by a double without loss, no member is called `__proto__`, and no name has an escape. */
  readonly plain: boolean
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

type Measuring = {
  readonly bytes: Uint8Array
  readonly limits: JsonLimits
  at: number
  values: number
  members: number
  depth: number
  plain: boolean
  excess: JsonExcess | null
  /** Members or elements of what is open, by its depth. */
  readonly open: number[]
  /** Whether what is open is an object, by its depth. */
  readonly isObject: boolean[]
}

/** Bytes that are looked over between two points where the work can be interrupted. */
const bytesAtOnce = 2 ** 18

/**
 * Look once over the bytes of a body, in steps, going no further than to what is too much: to parse and to check millions of values
 * takes seconds, to look over their bytes does not.
 */
export function* measureJson(bytes: Uint8Array, limits: JsonLimits): Generator<void, JsonMeasure> {
  const measuring: Measuring = {
    bytes,
    limits,
    at: 0,
    values: 0,
    members: 0,
    depth: 0,
    plain: true,
    excess: null,
    open: [0],
    isObject: [false],
  }
  while (measuring.at < bytes.length && measuring.excess === null) {
    advance(measuring, Math.min(bytes.length, measuring.at + bytesAtOnce))
    yield
  }
  const { excess, members, plain } = measuring
  return { excess, members, plain }
}

const advance = (measuring: Measuring, end: number): void => {
  const { bytes } = measuring
  let at = measuring.at
  for (; at < end; at += 1) {
    const code = bytes[at] as number
    if (code === quote) at = takeText(measuring, at)
    else if (code === comma) countValue(measuring)
    else if (code === leftBrace || code === leftBracket) open(measuring, code === leftBrace, at)
    else if (code === rightBrace || code === rightBracket) measuring.depth = Math.max(0, measuring.depth - 1)
    else if ((code >= zero && code <= nine) || code === minus) {
      const start = at
      at = endOfNumber(bytes, start) - 1
      if (measuring.plain && needsJudgement(bytes, start, at + 1)) measuring.plain = isCarriedExactly(ascii(bytes, start, at + 1))
    }
    if (measuring.excess !== null) break
  }
  measuring.at = at
}

/** Step over a text, and note the member that it is the name of; gives the place of the last byte that was looked at. */
const takeText = (measuring: Measuring, start: number): number => {
  const { bytes } = measuring
  const end = closingQuote(bytes, start + 1)
  let next = end + 1
  while (next < bytes.length && (bytes[next] as number) <= space) next += 1
  if (bytes[next] !== colon) return next - 1
  measuring.members += 1
  if (measuring.plain && isNameToJudge(bytes, start + 1, end)) measuring.plain = false
  return next
}

/** Count a value of what is open. */
const countValue = (measuring: Measuring): void => {
  const { limits, depth, open } = measuring
  const count = (open[depth] ?? 0) + 1
  open[depth] = count
  measuring.values += 1
  const isObject = measuring.isObject[depth] === true
  if (measuring.values > limits.values) measuring.excess = 'values'
  else if (count > (isObject ? limits.members : limits.elements)) measuring.excess = isObject ? 'members' : 'elements'
}

const open = (measuring: Measuring, isObject: boolean, at: number): void => {
  const { bytes } = measuring
  measuring.depth += 1
  measuring.open[measuring.depth] = 0
  measuring.isObject[measuring.depth] = isObject
  if (measuring.depth > measuring.limits.levels) measuring.excess = 'levels'
  const next = bytes[at + 1]
  if (next !== rightBrace && next !== rightBracket) countValue(measuring)
}
