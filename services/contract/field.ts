import { z } from 'zod'
import { parseDate } from '../domain/civil-date.ts'
import { type OffsetInstant, readInstant } from '../domain/instant.ts'
import { type DecimalRule, formatDecimal, maxNumberLength, readDecimal } from '../domain/quantity.ts'
import { maxReferenceTextLength } from '../domain/reference.ts'
import type { RefusalCode } from '../domain/refusal.ts'
import { isJsonNumber, isTooLong, type JsonNumber, numberText } from './json/exact-number.ts'
import { knownNamesMessage } from './message-text.ts'
import { optionalOr, type ReadContext, transformed } from './request-pipe.ts'

/**
 * Building blocks of request shapes. Messages begin with a verb (`must …`, `is …`). `read-shape.ts` puts the field's
 * name before the verb.
 */

/** Refuse a value inside a transform. */
export const refuseField = (
  context: ReadContext,
  code: RefusalCode,
  message: string,
  path: PropertyKey[] = [],
): never => {
  context.issues.push({ code: 'custom', message, params: { code }, path, input: context.value, continue: false })
  return z.NEVER
}

/** Object with known members only. The refusal of an unknown member suggests the nearest known name. */
export const fields = <Shape extends z.core.$ZodShape>(shape: Shape) => {
  const known = knownNamesMessage(Object.keys(shape))
  return z.strictObject(shape, { error: issue => (issue.code === 'unrecognized_keys' ? known : undefined) })
}

/** Optional member; null means absent. */
export const optional = <Shape extends z.ZodType>(shape: Shape) => optionalOr(shape, undefined)

/** Member of a PATCH: undefined keeps the stored value, null clears the stored value. */
export const clearable = <Shape extends z.ZodType>(shape: Shape) => shape.nullable().optional()

const countCharacters = (value: string): number => {
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** Text of `min` to `max` characters (default 1 to 255), without NUL. */
export const text = ({ min = 1, max = 255 }: { readonly min?: number; readonly max?: number } = {}) =>
  transformed(z.string(), (value, context) => {
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
  }).meta({ type: 'string', minLength: min, maxLength: max })

/** The caller's own reference: 1 to 255 characters. */
export const referenceId = text()

/** A name for people. It identifies nothing. */
export const displayName = text()

/** Up to 20 of the caller's own texts. */
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

/** Id of an object. The operation checks that the object exists. */
export const identifier = (prefix: string) =>
  text().meta({ type: 'string', maxLength: 255, examples: [`${prefix}_0198c0ffee00112233445566`] })

const exampleReferences = {
  loc: 'reference:depot-7',
  dev: 'reference:charger-4711',
  cus: 'reference:household-17',
} as const

/**
 * Id of a location, device or customer, or its own reference with a prefix. References are resolved before the shape
 * reads the value. The operation checks that the object exists.
 */
export const objectIdentifier = (prefix: keyof typeof exampleReferences) =>
  text({ max: maxReferenceTextLength }).meta({
    type: 'string',
    maxLength: maxReferenceTextLength,
    examples: [`${prefix}_0198c0ffee00112233445566`, exampleReferences[prefix]],
  })

/** One of a list of enum values. */
export const oneOf = <const Values extends readonly [string, ...string[]]>(...values: Values) => z.enum(values)

/** Number with its text, of at most 400 characters. */
export const jsonNumber = z.custom<JsonNumber>(value => isJsonNumber(value) && !isTooLong(value), {
  error: ({ input }) =>
    isJsonNumber(input) ? `must be a number of at most ${maxNumberLength} characters` : 'must be a number',
})

/** Read a number text by a rule. `read-shape.ts` adds the subject of the message. */
const readNumber = (context: ReadContext, written: string, rule: DecimalRule): bigint => {
  const read = readDecimal(written, rule, '')
  return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
}

/** Exact number, as an integer of 10^-`scale`. The limits are integers of the same scale, both inclusive. */
export const scaledDecimal = (rule: DecimalRule) =>
  transformed(jsonNumber, (value, context) => readNumber(context, numberText(value), rule)).meta({
    type: 'number',
    minimum: Number(formatDecimal(rule.min, rule.scale)),
    maximum: Number(formatDecimal(rule.max, rule.scale)),
  })

const wholeNumberText = (unit: string | undefined): string =>
  unit === undefined ? 'a whole number' : `a whole number of ${unit}`

/** Whole number from `min` to `max`, both safe integers. `unit` is a plural noun for messages, such as minutes. */
export const integer = ({ min, max, unit }: { readonly min: number; readonly max: number; readonly unit?: string }) =>
  transformed(z.custom<JsonNumber>(isJsonNumber, { message: `must be ${wholeNumberText(unit)}` }), (value, context) => {
    const read = readDecimal(numberText(value), { scale: 0, min: BigInt(min), max: BigInt(max) }, '')
    if (read.ok) return Number(read.value)
    const message =
      read.refusal.code === 'field_invalid' ? `must be ${wholeNumberText(unit)}` : read.refusal.message.trim()
    return refuseField(context, read.refusal.code, message)
  }).meta({ type: 'integer', minimum: min, maximum: max })

type Issues = readonly z.core.$ZodRawIssue[]

const isUnknownMember = ({ code }: z.core.$ZodRawIssue): boolean => code === 'unrecognized_keys'
const isFatal = (issue: z.core.$ZodRawIssue): boolean => issue.continue !== true

/**
 * True if the issues of an element can decide the refusal of its list. These are the first issue, the first unknown
 * member, and the first issue that keeps later checks from running.
 */
const canDecide = (issues: Issues, before: Issues): boolean =>
  before.length === 0 ||
  (issues.some(isFatal) && !before.some(isFatal)) ||
  (issues.some(isUnknownMember) && !before.some(isUnknownMember))

/** Maximum length of a list. `code` and `message` are those of the refusal of a longer list. */
type LengthBound = { readonly max: number; readonly code?: RefusalCode; readonly message?: string }

const tooLong = ({ max, code = 'value_out_of_range', message = `must have at most ${max} entries` }: LengthBound) => ({
  code: 'custom' as const,
  params: { code },
  message,
  continue: false,
})

/**
 * List of a request. A list of many invalid elements has few issues. The list of zod passes all its issues as arguments
 * of one call, and a call has at most about 100,000 arguments. A list that is too long is refused before its elements
 * are read.
 */
const RequestList = z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef & { readonly bound?: LengthBound | undefined }>(
  'RequestList',
  (schema, def) => {
    z.ZodArray.init(schema, def)
    // The document of the shape states this maximum.
    if (def.bound !== undefined) schema._zod.bag['maximum'] = def.bound.max
    schema._zod.parse = (payload, context) => {
      const { value: list } = payload
      if (!Array.isArray(list)) {
        payload.issues.push({ code: 'invalid_type', expected: 'array', input: list, inst: schema })
        return payload
      }
      if (def.bound !== undefined && list.length > def.bound.max) {
        payload.issues.push({ ...tooLong(def.bound), input: list, inst: schema })
        return payload
      }
      const read: unknown[] = []
      for (const [index, value] of list.entries()) {
        const element = def.element._zod.run({ value, issues: [] }, context)
        if (element instanceof Promise) throw new TypeError('The shape of a request must be synchronous.')
        read.push(element.value)
        if (element.issues.length > 0 && canDecide(element.issues, payload.issues))
          payload.issues.push(...z.core.util.prefixIssues(index, element.issues))
      }
      payload.value = read
      return payload
    }
  },
)

/** List of any number of elements, or of at most `bound.max`. */
export const requestList = <Shape extends z.ZodType>(element: Shape, bound?: LengthBound): z.ZodArray<Shape> =>
  new RequestList({ type: 'array', element, bound }) as z.ZodArray<Shape>

/** List of `min` to `max` elements. */
export const listOf = <Shape extends z.ZodType>(
  shape: Shape,
  { min = 0, ...bound }: LengthBound & { readonly min?: number },
) =>
  requestList(shape, bound).min(min, {
    message: min === 1 ? 'must not be empty' : `must have at least ${min} entries`,
  })

/** RFC 3339 date and time: the instant, and the offset of the text, which the answer uses too. */
export const instant = transformed(z.string(), (value, context): OffsetInstant => {
  const read = readInstant(value, '')
  return read.ok ? read.value : refuseField(context, read.refusal.code, read.refusal.message.trim())
}).meta({ type: 'string', format: 'date-time', examples: ['2025-09-14T10:00:00Z'] })

const earliestDate = '1900-01-01'
const earliestDay = parseDate(earliestDate) ?? 0

/** Local date of a location, as a day number of `civil-date.ts`. */
export const localDate = transformed(z.string(), (value, context) => {
  const day = parseDate(value)
  return day === undefined || day < earliestDay
    ? refuseField(context, 'field_invalid', `must be a date of the form YYYY-MM-DD, from ${earliestDate} on`)
    : day
}).meta({ type: 'string', format: 'date', examples: ['2026-05-01'] })

/** Currency code of ISO 4217, in upper or lower case. The operation checks that the currency exists. */
export const currencyCode = transformed(z.string(), (value, context) =>
  /^[A-Za-z]{3}$/.test(value)
    ? value.toUpperCase()
    : refuseField(context, 'field_invalid', 'must be a three-letter currency code of ISO 4217, such as EUR'),
).meta({ type: 'string', pattern: '^[A-Za-z]{3}$', examples: ['EUR'] })
