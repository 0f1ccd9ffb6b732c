import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { runToEnd } from '../../domain/run-to-end.ts'
import { type ElementRanges, type SubmissionLimits, splitSubmission } from '../metering/split-submission.ts'
import { maxDepth, readExactJson } from './exact-json.ts'
import { type JsonLimitName, type JsonLimits, measureJson } from './measure-json.ts'
import { countMembers, scanJson } from './scan-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

const quickParse = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Escapes of NUL or of one half of a surrogate pair. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

const notUtf8 = refused('body_invalid', 'The body is not valid UTF-8; send JSON encoded in UTF-8')
const emptyBody = refused('body_invalid', 'The body is empty; send a JSON value')

/**
 * Parse a text with `JSON.parse` if a scan shows that no information was lost; otherwise parse member by member. If the
 * text has as many members as the parsed value, no member is duplicate. `level` is the nesting level of the text.
 */
const parseText = (bytes: Uint8Array, level: number): Result<unknown> => {
  const text = decodeUtf8(bytes)
  if (text === undefined) return notUtf8
  if (text.trim() === '') return emptyBody
  const hasEscapes = text.includes('\\')
  if (!hasEscapes || !suspectEscape.test(text)) {
    const quick = quickParse(text)
    if (quick !== undefined) {
      const scan = scanJson(bytes, hasEscapes)
      if (scan.isPlain && scan.depth + level <= maxDepth && scan.members === countMembers(quick.value))
        return accepted(quick.value)
    }
  }
  return runToEnd(readExactJson(text, level))
}

/** Far more than any operation needs. */
const limits: JsonLimits = { values: 150_000, elements: 20_000, members: 100, levels: maxDepth }

const excessRefusals: Readonly<Record<JsonLimitName, Result<never>>> = {
  values: refused('body_invalid', 'The body has too many values; send fewer members and entries'),
  elements: refused('body_invalid', 'The body has a list of more than 20,000 entries; send fewer entries'),
  members: refused('body_invalid', 'The body has an object of more than 100 members; send only the documented ones'),
  levels: refused('body_invalid', `The body is nested deeper than ${maxDepth} levels; send it with fewer`),
}

/** Parse a body as `parseJson` does, in steps. The size of the body is checked before the body is parsed. */
export function* readJson(bytes: Uint8Array): Generator<void, Result<unknown>> {
  const measure = yield* measureJson(bytes, limits)
  if (measure.excess !== null) return excessRefusals[measure.excess]
  const text = decodeUtf8(bytes)
  if (text === undefined) return notUtf8
  if (text.trim() === '') return emptyBody
  yield
  const quick = measure.isPlain && !suspectEscape.test(text) ? quickParse(text) : undefined
  yield
  if (quick !== undefined && measure.members === countMembers(quick.value)) return accepted(quick.value)
  return yield* readExactJson(text)
}

/**
 * Parse a body exactly. A number is a double if the double is exact, otherwise an `ExactNumber`. Fields check number
 * ranges. Refuses duplicate members, lone surrogates, NUL, bytes that are not UTF-8, and invalid JSON. Refuses more
 * than 32 levels, 150,000 values, 20,000 elements in a list, and 100 members in an object.
 * Source: docs/rules/versions-and-transport.md #json-text.
 */
export const parseJson = (bytes: Uint8Array): Result<unknown> => runToEnd(readJson(bytes))

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
  const text = decodeUtf8(bytes)
  yield
  return text === undefined ? notUtf8 : yield* readExactJson(text, level)
}

/** Return the line number of a byte, from 1. */
const lineOf = (bytes: Uint8Array, at: number): number => {
  let line = 1
  for (let index = 0; index < at; index += 1) if (bytes[index] === 10) line += 1
  return line
}

/** Refuse a list with the position of its fault in the body. */
function* refuseList(bytes: Uint8Array): Generator<void, Result<never>> {
  const text = decodeUtf8(bytes)
  if (text === undefined) return notUtf8
  if (text.trim() === '') return emptyBody
  yield
  const parsed = yield* readExactJson(text)
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
