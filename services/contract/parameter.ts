import { z } from 'zod'
import { readDecimal } from '../domain/quantity.ts'
import { fields, instant, refuseField } from './field.ts'

/** The building blocks of query shapes: every parameter arrives as one text. */

/** A set of query parameters, all known. */
export const parameters = fields

/** true, false, 1, 0 in any case. Source: docs/rules/versions-and-transport.md #query-parameters. */
export const flag = z
  .string()
  .transform((value, context) => {
    const lower = value.toLowerCase()
    if (lower === 'true' || lower === '1') return true
    if (lower === 'false' || lower === '0') return false
    return refuseField(context, 'field_invalid', 'must be true or false')
  })
  .meta({ type: 'boolean' })

/** auto, or a flag, in any case. Source: docs/rules/versions-and-transport.md #query-parameters. */
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

/** A whole number of `min` to `max`. */
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

/** Put back the `+` of an offset that form decoding turned into a space. Source: docs/rules/versions-and-transport.md #instants. */
export const restorePlus = (value: string): string => value.replace(offsetWithSpace, '$1+$2')

/** An RFC 3339 date and time; a `+` that form decoding turned into a space is put back. */
export const instantParameter = z
  .string()
  .transform(restorePlus)
  .pipe(instant)
  .meta(instant.meta() ?? {})
