import { formatDecimal, maxNumberLength } from '../../domain/quantity.ts'

/**
 * A JSON number that keeps its decimal text, because a double would not: the engine's own raw JSON value.
 * Requests carry one where the text says more than a double holds; answers carry one for money, prices and energy,
 * and `JSON.stringify` writes its text as it stands.
 */
export type ExactNumber = { readonly rawJSON: string }

/** What stands for a number in a parsed body. */
export type JsonNumber = number | ExactNumber

const { rawJSON, isRawJSON } = JSON as JSON & {
  rawJSON(text: string): ExactNumber
  isRawJSON(value: unknown): value is ExactNumber
}

/** Keep a decimal text as a number of the wire. The text must follow the grammar of JSON numbers. */
export const exactNumber = (text: string): ExactNumber => rawJSON(text)

/** What stands for a number of more than 400 characters: as long, so that every reader refuses it. */
export const tooLongNumber = rawJSON(`1${'0'.repeat(maxNumberLength)}`)

export const isExactNumber = (value: unknown): value is ExactNumber => isRawJSON(value)

export const isJsonNumber = (value: unknown): value is JsonNumber => typeof value === 'number' || isRawJSON(value)

/** Tell whether a number was written in more than 400 characters. */
export const isTooLong = (value: JsonNumber): boolean =>
  typeof value !== 'number' && value.rawJSON.length > maxNumberLength

/** Give the decimal text of a number: the text that was sent, or another one of exactly the same value. */
export const numberText = (value: JsonNumber): string => (typeof value === 'number' ? String(value) : value.rawJSON)

/**
 * Tell whether a double stands for a number text without loss, so that `String(double)` has exactly the value that was written:
 * at most 15 significant digits of ordinary size, or a text that the double prints again.
 */
export const isExactDouble = (text: string): boolean => {
  if (text.length > 40) return false
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/)
  const digits = mantissa.replace('-', '').replace('.', '').replace(/^0+/, '')
  if (digits.length <= 15 && Math.abs(Number(exponent)) <= 100) return true
  return String(Number(text)) === text
}

/** Write an integer of 10^-`scale` as a number of the wire: exact, without trailing zeros. */
export const scaledNumber = (value: bigint, scale: number): ExactNumber => rawJSON(formatDecimal(value, scale))

/**
 * A double keeps 15 significant digits, so its shortest text is the decimal that it was made from; below 1e-6 that text would have an
 * exponent.
 */
const isShortDecimal = (value: bigint): boolean =>
  value === 0n ||
  (value < 1_000_000_000_000_000n && value >= 1000n) ||
  (value > -1_000_000_000_000_000n && value <= -1000n)

/** Write an integer of 1e-9 as `scaledNumber` does, as a double if that has the same text: it takes less time and memory. */
export const nanoNumber = (value: bigint): JsonNumber =>
  isShortDecimal(value) ? Number(value) / 1e9 : scaledNumber(value, 9)

const grammar = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Tell whether a text is a number as JSON writes it, of at most 400 characters. */
export const isNumberText = (text: string): boolean => text.length <= maxNumberLength && grammar.test(text)
