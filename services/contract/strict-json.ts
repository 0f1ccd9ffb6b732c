import { accepted, type Result, refused } from '../domain/refusal.ts'
import { deepestLevel, type ParsedJson, parseExactJson } from './exact-json.ts'
import { type Capacity, countMembers, scanJson, surplusOf } from './scan-json.ts'

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

/** Escapes that may stand for NUL or half a surrogate pair. */
const spoilingEscape = /\\u(?:0000|[dD][89a-fA-F])/

/**
 * Parse a text with `JSON.parse` where a look over it proves that nothing was lost, else member by member.
 * As many members written as parsed means that none was written twice, however its name was spelled.
 */
const parseText = (bytes: Uint8Array, elementLimit: number): Result<ParsedJson> => {
  const text = decodeUtf8(bytes)
  if (text === undefined) return refused('body_invalid', 'The body is not valid UTF-8; send JSON encoded in UTF-8')
  if (text.trim() === '') return refused('body_invalid', 'The body is empty; send a JSON value')
  const hasEscapes = text.includes('\\')
  if (!hasEscapes || !spoilingEscape.test(text)) {
    const quick = quickParse(text)
    if (quick !== undefined) {
      const scan = scanJson(bytes, elementLimit, hasEscapes)
      if (scan.plain && scan.depth <= deepestLevel && scan.members === countMembers(quick.value)) {
        return accepted({ value: quick.value, oversized: scan.oversized })
      }
    }
  }
  return parseExactJson(text, elementLimit)
}

/** Bodies above this size, in bytes, can hold so many values that others would wait while they are parsed. */
export const largeBytes = 2 ** 18

/** Far more than the largest body of any operation needs. */
const capacity: Capacity = { elements: Number.POSITIVE_INFINITY, valuesEach: 0, valuesBeyond: 150_000 }

/**
 * Parse a body, judging its text: numbers are doubles where these carry them exactly, else `ExactNumber`.
 * Refuses the whole body for duplicate members, half surrogates, NUL, more than 32 levels, bytes that are not UTF-8,
 * what is not JSON, and more than 150,000 values. Number ranges are the fields' to judge. Source: contract decisions 2.
 */
export const parseJson = (bytes: Uint8Array): Result<unknown> => {
  if (bytes.length > largeBytes && surplusOf(bytes, false, capacity) !== null) {
    return refused('body_invalid', 'The body has too many values; send fewer members and entries')
  }
  const parsed = parseText(bytes, Number.POSITIVE_INFINITY)
  return parsed.ok ? accepted(parsed.value.value) : parsed
}

/** The elements of a submission, and the indexes of those longer than the limit. */
export type Submission = { readonly elements: readonly unknown[]; readonly oversized: ReadonlySet<number> }

/**
 * Parse a submission: a JSON array. Elements longer than `elementLimit` bytes are named, not refused, for they spoil themselves alone.
 * Refuses the body as `parseJson` does, and when it is no array. Source: contract decisions 2 and 16.
 */
export const parseArray = (bytes: Uint8Array, elementLimit: number): Result<Submission> => {
  const parsed = parseText(bytes, elementLimit)
  if (!parsed.ok) return parsed
  const { value, oversized } = parsed.value
  if (!Array.isArray(value)) return refused('body_invalid', 'The body must be a list')
  return accepted({ elements: value, oversized: new Set(oversized) })
}

const isBlank = (line: Uint8Array): boolean => line.every(code => code === 32 || code === 9 || code === 13)

/**
 * Parse a submission in lines: one JSON value a line, blank lines left out; lines longer than `elementLimit` bytes are named.
 * Refuses the body for the first line that is not JSON, with its number. Source: contract decisions 8.
 */
export const parseLines = (bytes: Uint8Array, elementLimit: number): Result<Submission> => {
  const elements: unknown[] = []
  const oversized: number[] = []
  let number = 0
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start)
    const end = newline === -1 ? bytes.length : newline
    const line = bytes.subarray(start, end)
    start = end + 1
    number += 1
    if (isBlank(line)) continue
    const parsed = parseText(line, Number.POSITIVE_INFINITY)
    if (!parsed.ok) return refused('body_invalid', `Line ${number}: ${parsed.refusal.message}`)
    if (line.length > elementLimit) oversized.push(elements.length)
    elements.push(parsed.value.value)
  }
  return accepted({ elements, oversized: new Set(oversized) })
}
