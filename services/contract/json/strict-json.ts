import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { maxDepth, parseExactJson, parseExactJsonInTurns, quickParse } from './exact-json.ts'
import { type JsonLimitName, type JsonLimits, type JsonMeasure, measureJson } from './measure-json.ts'
import { countMembers, scanJson } from './scan-json.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decode a body. Refuses bytes that are not UTF-8, and an empty body. */
export const decodeBody = (bytes: Uint8Array): Result<string> => {
  try {
    const text = utf8.decode(bytes)
    return text.trim() === '' ? refused('body_invalid', 'The body is empty; send a JSON value') : accepted(text)
  } catch (error) {
    if (error instanceof TypeError)
      return refused('body_invalid', 'The body is not valid UTF-8; send JSON encoded in UTF-8')
    throw error
  }
}

/** Escapes of NUL or of one half of a surrogate pair. */
const suspectEscape = /\\u(?:0000|[dD][89a-fA-F])/

/**
 * Parse a text with `JSON.parse` if a scan shows that no information was lost; otherwise parse member by member. If the
 * text has as many members as the parsed value, no member is duplicate. `level` is the nesting level of the text.
 */
export const parseText = (bytes: Uint8Array, level: number): Result<unknown> => {
  const decoded = decodeBody(bytes)
  if (!decoded.ok) return decoded
  const text = decoded.value
  const hasEscapes = text.includes('\\')
  if (!hasEscapes || !suspectEscape.test(text)) {
    const quick = quickParse(text)
    if (quick !== undefined) {
      const scan = scanJson(bytes, hasEscapes)
      if (scan.isPlain && scan.depth + level <= maxDepth && scan.members === countMembers(quick.value))
        return accepted(quick.value)
    }
  }
  return parseExactJson(text, level)
}

/** Far more than any operation needs. */
const limits: JsonLimits = { values: 150_000, elements: 20_000, members: 100, levels: maxDepth }

const excessRefusals: Readonly<Record<JsonLimitName, Result<never>>> = {
  values: refused('body_invalid', 'The body has too many values; send fewer members and entries'),
  elements: refused('body_invalid', 'The body has a list of more than 20,000 entries; send fewer entries'),
  members: refused('body_invalid', 'The body has an object of more than 100 members; send only the documented ones'),
  levels: refused('body_invalid', `The body is nested deeper than ${maxDepth} levels; send it with fewer`),
}

/**
 * Parse a body exactly. A number is a double if the double is exact, otherwise an `ExactNumber`. Fields check number
 * ranges. Refuses duplicate members, lone surrogates, NUL, bytes that are not UTF-8, and invalid JSON. Refuses more
 * than 32 levels, 150,000 values, 20,000 elements in a list, and 100 members in an object, before it parses the body.
 * Source: docs/rules/versions-and-transport.md #json-text.
 */
export const parseJson = (bytes: Uint8Array): Result<unknown> => {
  const measure = measureJson(bytes, limits)
  if (measure.excess !== null) return excessRefusals[measure.excess]
  const decoded = decodeBody(bytes)
  return decoded.ok ? parseMeasured(decoded.value, measure) : decoded
}

/** A longer text is parsed in many turns of the event loop. `JSON.parse` reads a text of this length in a few ms. */
const longText = 2 ** 20

/** Parse a body as `parseJson` does, in several turns of the event loop. A body of 16 MiB takes up to 200 ms in all. */
export const parseJsonInTurns = async (bytes: Uint8Array, nextTurn: () => Promise<void>): Promise<Result<unknown>> => {
  const measure = measureJson(bytes, limits)
  if (measure.excess !== null) return excessRefusals[measure.excess]
  await nextTurn()
  const decoded = decodeBody(bytes)
  if (!decoded.ok) return decoded
  await nextTurn()
  return decoded.value.length > longText
    ? parseExactJsonInTurns(decoded.value, nextTurn)
    : parseMeasured(decoded.value, measure)
}

/** Parse the text of a body within the limits. */
const parseMeasured = (text: string, measure: JsonMeasure): Result<unknown> => {
  const quick = measure.isPlain && !(text.includes('\\') && suspectEscape.test(text)) ? quickParse(text) : undefined
  if (quick !== undefined && measure.members === countMembers(quick.value)) return accepted(quick.value)
  return parseExactJson(text)
}
