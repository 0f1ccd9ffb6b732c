import { parseInstant } from '../../domain/instant.ts'
import { unreadable } from './feed-price.ts'

/** Members of an object of an answer; numbers are the texts that were sent. */
export type Members = Readonly<Record<string, unknown>>

/** `JSON.parse` with the source text of what it reads, which the engine gives for numbers. */
type Parse = (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown

/** Parse an answer, each number as its own text, so that no digit is lost. Throws Failure `feed_unreadable`. */
export const parseFeed = (text: string): unknown => {
  try {
    return (JSON.parse as Parse)(text, (_, value, { source }) => (typeof value === 'number' ? source : value))
  } catch (error) {
    throw unreadable(error instanceof SyntaxError ? 'it is no JSON' : String(error))
  }
}

/** Take a value as an object. Throws Failure `feed_unreadable`. */
export const membersOf = (value: unknown, what: string): Members => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(`${what} is no object`)
  return value as Members
}

/** Take a value as a list. Throws Failure `feed_unreadable`. */
export const listOf = (value: unknown, what: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw unreadable(`${what} is no list`)
  return value
}

/** Take a value as a text, or the text of a number. Throws Failure `feed_unreadable`. */
export const textOf = (value: unknown, what: string): string => {
  if (typeof value !== 'string') throw unreadable(`${what} is missing`)
  return value
}

/** Read an RFC 3339 text as ms. Throws Failure `feed_unreadable`. */
export const instantOf = (value: unknown, what: string): number => {
  const at = parseInstant(textOf(value, what))
  if (at === undefined) throw unreadable(`${what} is no time`)
  return at
}

/** Read a whole number of `unitMs` since 1970 as ms. Throws Failure `feed_unreadable`. */
export const epochOf = (value: unknown, unitMs: number, what: string): number => {
  const text = textOf(value, what)
  const at = Number(text) * unitMs
  if (!/^\d{1,15}$/.test(text) || !Number.isSafeInteger(at)) throw unreadable(`${what} is no time`)
  return at
}
