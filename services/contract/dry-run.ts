import { z } from 'zod'
import type { Refusal } from '../domain/refusal.ts'
import { count, idText, orNull } from './answer-field.ts'
import { toSentence } from './error.ts'
import { optional } from './field.ts'
import { flag } from './parameter.ts'

const description = 'True: answer what the request would change, and change nothing. Default: false.'

/** Query parameter `dry_run` of a change. */
export const dryRunParameter = flag.default(false).describe(description)

/** Member `dry_run` of a body that is an object. It means the same as the query parameter. */
export const dryRunMember = optional(z.boolean()).describe(description)

/** Maximum number of errors that an answer lists. */
export const maxListedErrors = 100

const errorShape = z
  .object({
    location_id: orNull(idText('loc')).describe('Null if the whole request is refused.'),
    number: orNull(count).describe('Position in the request, from 1; null if the request is not a list.'),
    code: z.string(),
    message: z.string().describe('What to change.'),
    field: orNull(z.string()).describe('Member of the request that the error names; null if the error names none.'),
  })
  .meta({ component: 'DryRunError' })

/** Effects of a change that was not made. */
export const dryRunShape = z
  .object({
    object: z.literal('dry_run'),
    locations: count.describe('Locations whose tariffs, charges or prices change.'),
    stored_rows: count.describe('Stored rows in the changed time of these locations, which are priced again.'),
    errors: z.array(errorShape).describe(`The first ${maxListedErrors} reasons to refuse the request or a location.`),
  })
  .meta({ component: 'DryRun' })

export type DryRunWire = z.output<typeof dryRunShape>

/** Reason to refuse a change, at a location or as a whole. `number`: position in the request, from 1. */
export type DryRunError = {
  readonly locationId: string | null
  readonly number: number | null
  readonly refusal: Refusal
}

/** Effects of a change that was not made. */
export type DryRun = {
  readonly locations: number
  readonly storedRows: number
  readonly errors: readonly DryRunError[]
}

/** Write the effects of a change that was not made. */
export const dryRunToWire = ({ locations, storedRows, errors }: DryRun): DryRunWire => ({
  object: 'dry_run',
  locations,
  stored_rows: storedRows,
  errors: errors.slice(0, maxListedErrors).map(({ locationId, number, refusal }) => ({
    location_id: locationId,
    number,
    code: refusal.code,
    message: toSentence(refusal.message),
    field: refusal.field === undefined || refusal.field === '' ? null : refusal.field,
  })),
})

/** Example for the reference page. */
export const dryRunExample: DryRunWire = { object: 'dry_run', locations: 214, stored_rows: 1_873_152, errors: [] }
