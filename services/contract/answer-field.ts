import { z } from 'zod'
import { type ExactNumber, isExactNumber } from './json/exact-number.ts'

/** The building blocks of answer shapes: they document and type what is written; answers are not parsed again. */

/** A decimal number written exactly. */
export const exactDecimal = z.custom<ExactNumber>(isExactNumber).meta({ type: 'number' })

/** A whole number. */
export const count = z.int().meta({ type: 'integer' })

/** An RFC 3339 text, written by the domain. */
export const instantText = z
  .string()
  .meta({ type: 'string', format: 'date-time', examples: ['2025-09-14T10:00:00.000Z'] })

/** An id with its prefix. */
export const idText = (prefix: string) =>
  z.string().meta({ type: 'string', examples: [`${prefix}_0198c0ffee00112233445566`] })

/** A value that may be null. */
export const orNull = <Shape extends z.ZodType>(shape: Shape) => shape.nullable()

/** The members that stored objects share. */
export const storedMembers = { live_mode: z.boolean(), time_created: instantText, account_id: idText('acc') } as const

/** The answer to a deletion that is under way. Source: docs/rules/registry.md #operations. */
export const acceptedMessage = z.object({ message: z.literal('Accepted') })
