import { z } from 'zod'
import { readDecimal } from '../domain/quantity.ts'
import { fields, instant, refuseField } from './field.ts'

/** Building blocks of query shapes. Each parameter arrives as one text. */

/** Query with known parameters only. */
export const parameters = fields

/**
 * Parameter of true, false, 1 or 0, in upper or lower case. Source: docs/rules/versions-and-transport.md
 * #query-parameters.
 */
export const flag = z
  .string()
  .transform((value, context) => {
    const lower = value.toLowerCase()
    if (lower === 'true' || lower === '1') return true
    if (lower === 'false' || lower === '0') return false
    return refuseField(context, 'field_invalid', 'must be true or false')
  })
  .meta({ type: 'boolean' })

/**
 * Parameter of auto or a flag, in upper or lower case. Source: docs/rules/versions-and-transport.md #query-parameters.
 */
export const autoFlag = z
  .string()
  .transform((value, context) => {
    const lower = value.toLowerCase()
    if (lower === 'auto') return 'auto'
    if (lower === 'true' || lower === '1') return 'true'
    if (lower === 'false' || lower === '0') return 'false'
    return refuseField(context, 'field_invalid', 'must be auto, true or false')
  })
  .meta({ type: 'string', enum: ['auto', 'true', 'false'] })

/** Whole number from `min` to `max`. */
export const wholeNumber = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z
    .string()
    .transform((value, context) => {
      const read = readDecimal(value, { scale: 0, min: BigInt(min), max: BigInt(max) }, '')
      return read.ok
        ? Number(read.value)
        : refuseField(context, read.refusal.code, `must be a whole number from ${min} to ${max}`)
    })
    .meta({ type: 'integer', minimum: min, maximum: max })

const offsetWithSpace = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?) (\d\d:\d\d)$/

/**
 * Restore the `+` of an offset that form decoding replaced with a space.
 * Source: docs/rules/versions-and-transport.md #instants.
 */
export const restorePlus = (value: string): string => value.replace(offsetWithSpace, '$1+$2')

/** RFC 3339 date and time. Form decoding may have replaced the `+` of the offset with a space. */
export const instantParameter = z
  .string()
  .transform(restorePlus)
  .pipe(instant)
  .meta(instant.meta() ?? {})
