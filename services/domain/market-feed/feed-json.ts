import { parseInstant } from '../instant.ts'
import { unreadable } from './feed-price.ts'

/** Members of an object in an answer. Numbers are the texts of the answer. */
export type Members = Readonly<Record<string, unknown>>

/** `JSON.parse` with the source text of each number. TypeScript does not know the third argument of the reviver yet. */
type Parse = (
  text: string,
  revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown

/** Parse an answer. Numbers stay texts, so that no digit is lost. Throws `FeedFormatError`. */
export const parseFeed = (text: string): unknown => {
  try {
    return (JSON.parse as Parse)(text, (_, value, { source }) => (typeof value === 'number' ? source : value))
  } catch (error) {
    throw unreadable(error instanceof SyntaxError ? 'it is not JSON' : String(error))
  }
}

/** Require an object. Throws `FeedFormatError`. */
export const membersOf = (value: unknown, name: string): Members => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(`${name} is not an object`)
  return value as Members
}

/** Require a list. Throws `FeedFormatError`. */
export const listOf = (value: unknown, name: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw unreadable(`${name} is not a list`)
  return value
}

/** Require a text, or the text of a number. Throws `FeedFormatError`. */
export const textOf = (value: unknown, name: string): string => {
  if (typeof value !== 'string') throw unreadable(`${name} is missing`)
  return value
}

/** Read an RFC 3339 text as ms. Throws `FeedFormatError`. */
export const instantOf = (value: unknown, name: string): number => {
  const at = parseInstant(textOf(value, name))
  if (at === undefined) throw unreadable(`${name} is not a time`)
  return at
}

/** Read an integer number of `unitMs` since 1970 as ms. Throws `FeedFormatError`. */
export const epochOf = (value: unknown, unitMs: number, name: string): number => {
  const text = textOf(value, name)
  const at = Number(text) * unitMs
  if (!/^\d{1,15}$/.test(text) || !Number.isSafeInteger(at)) throw unreadable(`${name} is not a time`)
  return at
}
