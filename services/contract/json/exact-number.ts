import { formatDecimal, maxNumberLength, type Percentage, percentageScale } from '../../domain/quantity.ts'

/**
 * JSON number with its decimal text: the raw JSON value of the engine. `JSON.stringify` writes the text.
 * Requests have one for a number that is not an exact double. Answers have one for money, prices and energy.
 */
export type ExactNumber = { readonly rawJSON: string }

/** Number in a parsed body. */
export type JsonNumber = number | ExactNumber

const { rawJSON, isRawJSON } = JSON as JSON & {
  rawJSON(text: string): ExactNumber
  isRawJSON(value: unknown): value is ExactNumber
}

/** Create a JSON number from its text. The text must follow the grammar of JSON numbers. */
export const exactNumber = (text: string): ExactNumber => rawJSON(text)

/**
 * Replaces a number of more than 400 characters. The replacement has the same length, so that every reader refuses the
 * number.
 */
export const tooLongNumber = rawJSON(`1${'0'.repeat(maxNumberLength)}`)

export const isExactNumber = (value: unknown): value is ExactNumber => isRawJSON(value)

export const isJsonNumber = (value: unknown): value is JsonNumber => typeof value === 'number' || isRawJSON(value)

/** True if a number has more than 400 characters. */
export const isTooLong = (value: JsonNumber): boolean =>
  typeof value !== 'number' && value.rawJSON.length > maxNumberLength

/** Return the decimal text of a number: the received text, or another text with exactly the same value. */
export const numberText = (value: JsonNumber): string => (typeof value === 'number' ? String(value) : value.rawJSON)

/**
 * True if a double represents a number text without loss, so that `String(double)` has exactly the value of the text.
 * This applies to texts of at most 15 significant digits with a small exponent, and to texts that the double prints
 * again.
 */
export const isExactDouble = (text: string): boolean => {
  if (text.length > 40) return false
  if (text.length <= 15 && !/[eE]/.test(text)) return true
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/)
  const digits = mantissa.replace('-', '').replace('.', '').replace(/^0+/, '')
  if (digits.length <= 15 && Math.abs(Number(exponent)) <= 100) return true
  return String(Number(text)) === text
}

/** Write an integer of 10^-`scale` as an exact JSON number without trailing zeros. */
export const scaledNumber = (value: bigint, scale: number): ExactNumber => rawJSON(formatDecimal(value, scale))

/**
 * A double of at most 15 significant digits prints the decimal that it was created from. Below 1e-6 the text would have
 * an exponent.
 */
const isShortDecimal = (value: bigint): boolean =>
  value === 0n ||
  (value < 1_000_000_000_000_000n && value >= 1000n) ||
  (value > -1_000_000_000_000_000n && value <= -1000n)

/**
 * Write an integer of 1e-9 as `scaledNumber` does. Returns a double if its text is the same: doubles need less memory.
 */
export const nanoNumber = (value: bigint): JsonNumber =>
  isShortDecimal(value) ? Number(value) / 1e9 : scaledNumber(value, 9)

/** Number of units of a percentage in 1e-9. */
const percentagePerNano = 1_000_000n

/** Write a percentage as an exact JSON number. */
export const percentageNumber = (value: Percentage): JsonNumber =>
  value % percentagePerNano === 0n ? nanoNumber(value / percentagePerNano) : scaledNumber(value, percentageScale)

const grammar = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** True if a text is a JSON number of at most 400 characters. */
export const isNumberText = (text: string): boolean => text.length <= maxNumberLength && grammar.test(text)
