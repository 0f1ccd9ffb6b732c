import { z } from 'zod'
import { type OffsetInstant, readInstant } from '../domain/instant.ts'
import { type DecimalRule, formatDecimal, maxNumberLength, readDecimal } from '../domain/quantity.ts'
import { maxReferenceTextLength } from '../domain/reference.ts'
import type { RefusalCode } from '../domain/refusal.ts'
import { isJsonNumber, isTooLong, type JsonNumber, numberText } from './json/exact-number.ts'
import { knownNamesMessage } from './message-text.ts'

/**
 * The building blocks of request shapes. A message that begins with a verb (`must …`, `is …`) gets the field's name as its subject
 * when the issue becomes a refusal (`read-shape.ts`).
 */

type Context = z.core.$RefinementCtx<unknown>

/** Refuse inside a transform, with a code of the closed list. */
export const refuseField = (context: Context, code: RefusalCode, message: string, path: PropertyKey[] = []): never => {
  context.issues.push({ code: 'custom', message, params: { code }, path, input: context.value, continue: false })
  return z.NEVER
}

/** An object whose members are all known; an unknown one is refused with the nearest known name. */
export const fields = <Shape extends z.core.$ZodShape>(shape: Shape) => {
  const known = knownNamesMessage(Object.keys(shape))
  return z.strictObject(shape, { error: issue => (issue.code === 'unrecognized_keys' ? known : undefined) })
}

/** A member that may be left out; null is the same as absent. */
export const optional = <Shape extends z.ZodType>(shape: Shape) =>
  shape.nullish().transform(value => value ?? undefined)

/** A member of a PATCH: absent keeps what is stored (undefined), null clears it (null). */
export const clearable = <Shape extends z.ZodType>(shape: Shape) => shape.nullable().optional()

const countCharacters = (value: string): number => {
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** Text of `min` to `max` characters (default 1 to 255), without NUL. */
export const text = ({ min = 1, max = 255 }: { readonly min?: number; readonly max?: number } = {}) =>
  z
    .string()
    .transform((value, context) => {
      if (value.length > max && (value.length > max * 2 || countCharacters(value) > max))
        return refuseField(context, 'field_too_long', `must have at most ${max} characters`)
      if (value.length < min)
        return refuseField(
          context,
          'field_invalid',
          min === 1 ? 'must not be empty' : `must have at least ${min} characters`,
        )
      if (value.includes('\0')) return refuseField(context, 'field_invalid', 'must not contain the character NUL')
      return value
    })
    .meta({ type: 'string', minLength: min, maxLength: max })

/** A caller's own reference: 1 to 255 characters. */
export const referenceId = text()

/** Up to 20 texts of the caller's own. */
export const metadata = z
  .record(z.string(), text({ min: 0 }))
  .refine(value => Object.keys(value).length <= 20, { message: 'must have at most 20 entries' })
  .refine(value => Object.keys(value).every(name => name.length >= 1 && countCharacters(name) <= 255), {
    message: 'must have names of 1 to 255 characters',
  })
  .meta({
    type: 'object',
    propertyNames: { type: 'string', minLength: 1, maxLength: 255 },
    additionalProperties: { type: 'string', maxLength: 255 },
    maxProperties: 20,
  })

/** An id as the service gives them; that it exists is the operation's to find out. */
export const identifier = (prefix: string) =>
  text().meta({ type: 'string', maxLength: 255, examples: [`${prefix}_0198c0ffee00112233445566`] })

const exampleReferences = {
  loc: 'reference:depot-7',
  dev: 'reference:charger-4711',
  cus: 'reference:household-17',
} as const

/**
 * An id of a location, device or customer, or its own reference with a prefix, which is looked up before this shape reads it. That the
 * object exists is the operation's to find out.
 */
export const objectIdentifier = (prefix: keyof typeof exampleReferences) =>
  text({ max: maxReferenceTextLength }).meta({
    type: 'string',
    maxLength: maxReferenceTextLength,
    examples: [`${prefix}_0198c0ffee00112233445566`, exampleReferences[prefix]],
  })

/** One of a few words, in capitals as documented. */
export const word = <const Words extends readonly [string, ...string[]]>(...words: Words) => z.enum(words)

/** A number as it was written, of at most 400 characters; whoever takes it reads it exactly. */
export const jsonNumber = z.custom<JsonNumber>(value => isJsonNumber(value) && !isTooLong(value), {
  error: ({ input }) =>
    isJsonNumber(input) ? `must be a number of at most ${maxNumberLength} characters` : 'must be a number',
})

/** Read a number text by the domain's rule; the message gets its subject later. */
const readNumber = (context: Context, written: string, rule: DecimalRule): bigint => {
  const read = readDecimal(written, rule, '')
  return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
}

/** A number read exactly as an integer of 10^-`scale`; limits are such integers too, both inclusive. */
export const scaledDecimal = (rule: DecimalRule) =>
  jsonNumber
    .transform((value, context) => readNumber(context, numberText(value), rule))
    .meta({
      type: 'number',
      minimum: Number(formatDecimal(rule.min, rule.scale)),
      maximum: Number(formatDecimal(rule.max, rule.scale)),
    })

const wholeNumberText = (unit: string | undefined): string =>
  unit === undefined ? 'a whole number' : `a whole number of ${unit}`

/** A whole number of `min` to `max`, both safe integers; `of` names its unit in messages, such as minutes. */
export const integer = ({ min, max, unit }: { readonly min: number; readonly max: number; readonly unit?: string }) =>
  z
    .custom<JsonNumber>(isJsonNumber, { message: `must be ${wholeNumberText(unit)}` })
    .transform((value, context) => {
      const read = readDecimal(numberText(value), { scale: 0, min: BigInt(min), max: BigInt(max) }, '')
      if (read.ok) return Number(read.value)
      const message =
        read.refusal.code === 'field_invalid' ? `must be ${wholeNumberText(unit)}` : read.refusal.message.trim()
      return refuseField(context, read.refusal.code, message)
    })
    .meta({ type: 'integer', minimum: min, maximum: max })

/** A list of `min` to `max` elements. */
export const listOf = <Shape extends z.ZodType>(
  shape: Shape,
  { min = 0, max }: { readonly min?: number; readonly max: number },
) =>
  z
    .array(shape)
    .min(min, { message: min === 1 ? 'must not be empty' : `must have at least ${min} entries` })
    .max(max, { message: `must have at most ${max} entries` })

/** An RFC 3339 date and time: the instant, and the offset in which it was written, for answers in the same one. */
export const instant = z
  .string()
  .transform((value, context): OffsetInstant => {
    const read = readInstant(value, '')
    return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
  })
  .meta({ type: 'string', format: 'date-time', examples: ['2025-09-14T10:00:00Z'] })

/** A currency of ISO 4217, in any case; whether it is in use is the operation's to find out. */
export const currencyCode = z
  .string()
  .transform((value, context) =>
    /^[A-Za-z]{3}$/.test(value)
      ? value.toUpperCase()
      : refuseField(context, 'field_invalid', 'must be a three-letter currency code of ISO 4217, such as EUR'),
  )
  .meta({ type: 'string', pattern: '^[A-Za-z]{3}$', examples: ['EUR'] })
