import { closingQuote } from './scan-json.ts'

/** What a submission may hold: elements, values in each (members, and elements of lists), and values beyond these in all of it. */
export type Capacity = { readonly elements: number; readonly valuesEach: number; readonly valuesBeyond: number }

/**
 * Where the elements of a submission stand, or what it holds too much of; `isBroken` where it is no list, or no lines, of elements.
 * What is no JSON within an element is counted as it looks.
 */
export type Split = {
  readonly surplus: 'elements' | 'values' | null
  readonly isBroken: boolean
  /** First byte of each element, and the byte behind its last. */
  readonly starts: readonly number[]
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

type Splitting = {
  readonly bytes: Uint8Array
  readonly inLines: boolean
  readonly most: Capacity
  at: number
  depth: number
  /** In an element; between two there are commas, or ends of lines. */
  isWithin: boolean
  /** A comma came, behind which an element must follow. */
  isOwed: boolean
  isClosed: boolean
  isBroken: boolean
  /** Values of the present element, and those of all elements above what each may have. */
  values: number
  beyond: number
  surplus: Split['surplus']
  readonly starts: number[]
  readonly ends: number[]
}

/** Bytes that are looked over between two points where the work can be interrupted. */
const bytesAtOnce = 2 ** 18

/**
 * Find the elements of a JSON list, or of lines of JSON values, in steps, going no further than to what is too much or broken: to parse
 * millions of values takes seconds, to look over their bytes does not.
 */
export function* splitSubmission(bytes: Uint8Array, inLines: boolean, most: Capacity): Generator<void, Split> {
  const splitting: Splitting = {
    ...{ bytes, inLines, most, at: 0, depth: 0, values: 0, beyond: 0 },
    ...{ isWithin: false, isOwed: false, isClosed: false, isBroken: false },
    ...{ surplus: null, starts: [], ends: [] },
  }
  const advance = inLines ? advanceLines : advanceList
  while (splitting.at < bytes.length && splitting.surplus === null && !splitting.isBroken) {
    advance(splitting, Math.min(bytes.length, splitting.at + bytesAtOnce))
    yield
  }
  if (inLines && splitting.isWithin) splitting.ends.push(bytes.length)
  if (!inLines && !splitting.isClosed) splitting.isBroken = true
  const { surplus, isBroken, starts, ends } = splitting
  return { surplus, isBroken, starts, ends }
}

const begin = (splitting: Splitting, at: number): void => {
  splitting.isWithin = true
  splitting.isOwed = false
  splitting.values = 0
  splitting.starts.push(at)
  if (splitting.starts.length > splitting.most.elements) splitting.surplus = 'elements'
}

const end = (splitting: Splitting, at: number): void => {
  splitting.isWithin = false
  splitting.ends.push(at)
}

const countValue = (splitting: Splitting): void => {
  splitting.values += 1
  if (splitting.values > splitting.most.valuesEach) splitting.beyond += 1
  if (splitting.beyond > splitting.most.valuesBeyond) splitting.surplus = 'values'
}

/** The last byte of a text that begins at `start`: its closing quote, or the one before the end of the line. */
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

/** A line is an element, whatever stands in it; blank ones are none. */
const advanceLines = (splitting: Splitting, until: number): void => {
  const { bytes } = splitting
  let at = splitting.at
  for (; at < until && splitting.surplus === null; at += 1) {
    const code = bytes[at] as number
    if (code === lineFeed) {
      if (splitting.isWithin) end(splitting, at)
    } else if (!splitting.isWithin && code !== space && code !== tab && code !== carriageReturn) begin(splitting, at)
    if (code === quote) at = endOfText(bytes, at + 1)
    else if (code === comma || code === leftBrace || code === leftBracket) countValue(splitting)
  }
  splitting.at = at
}

const advanceList = (splitting: Splitting, until: number): void => {
  const { bytes } = splitting
  let at = splitting.at
  for (; at < until && splitting.surplus === null && !splitting.isBroken; at += 1) {
    const code = bytes[at] as number
    if (code <= space) continue
    if (splitting.depth === 0) {
      if (code === leftBracket && !splitting.isClosed) splitting.depth = 1
      else splitting.isBroken = true
      continue
    }
    if (splitting.depth === 1 && takeMark(splitting, code, at)) continue
    if (!splitting.isWithin) begin(splitting, at)
    if (code === quote) at = closingQuote(bytes, at + 1)
    else if (code === leftBrace || code === leftBracket) splitting.depth += 1
    else if (code === rightBrace || code === rightBracket) splitting.depth -= 1
    if (code === comma || code === leftBrace || code === leftBracket) countValue(splitting)
    // A bracket that closes nothing leaves the list before its end: whoever parses the element says so.
    if (splitting.depth === 0) splitting.isBroken = true
  }
  splitting.at = at
}

/** Take the comma behind an element, or the end of the list. */
const takeMark = (splitting: Splitting, code: number, at: number): boolean => {
  if (code !== comma && code !== rightBracket) return false
  if (code === comma) countValue(splitting)
  if (splitting.isWithin) end(splitting, at)
  else if (code === comma || splitting.isOwed) splitting.isBroken = true
  splitting.isOwed = code === comma
  if (code === rightBracket) {
    splitting.depth = 0
    splitting.isClosed = true
  }
  return true
}
