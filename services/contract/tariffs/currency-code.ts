import { z } from 'zod'
import { refuseField } from '../field.ts'

/** A currency of ISO 4217, in any case; whether it is in use is the operation's to find out. */
export const currencyCode = z
  .string()
  .transform((value, context) =>
    /^[A-Za-z]{3}$/.test(value)
      ? value.toUpperCase()
      : refuseField(context, 'field_invalid', 'must be a three-letter currency code of ISO 4217, such as EUR'),
  )
  .meta({ type: 'string', pattern: '^[A-Za-z]{3}$', examples: ['EUR'] })
