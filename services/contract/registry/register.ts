import { z } from 'zod'
import type { RegisterProperties } from '../../domain/record/reading-rules.ts'
import { orNull } from '../answer-field.ts'
import { fields, oneOf, optional } from '../field.ts'
import { optionalMember } from '../object-member.ts'
import { powerBody, powerShape, powerToWire } from '../schedules/power.ts'

const describeKind =
  'LIFETIME: the register only counts up; a reading below an earlier one fails if a reading within 24 hours after it is not. SESSION: the register begins again at each session.'
const describeDigits =
  'Digits before the decimal point in kWh, after which a LIFETIME register continues at 0: 1 to 9. A fall from the upper to the lower half of the range then counts on.'
const describePower =
  'Highest mean power of a record, or between two readings. Records and readings that need more fail with implausible_energy. Default for readings: 10 MW.'

/** Body of the properties of a register. */
const registerBody = fields({
  kind: oneOf('LIFETIME', 'SESSION').describe(describeKind),
  digits: optional(z.int().min(1).max(9)).describe(describeDigits),
  max_power: optional(powerBody('RegisterPowerInput')).describe(describePower),
})
  .meta({ component: 'RegisterInput' })
  .transform(
    ({ kind, digits, max_power: power }): RegisterProperties => ({
      kind,
      digits: digits ?? null,
      maxPower: power === null || power === undefined ? null : { units: power.units, power: String(power.power) },
    }),
  )

/** Read the properties of a register of an answer; null without a known one. */
export const readRegister = (answer: unknown): RegisterProperties | null => {
  const read = registerBody.safeParse(answer)
  return read.success ? read.data : null
}

/** Properties of a register in an answer. */
const registerShape = z
  .object({
    kind: z.enum(['LIFETIME', 'SESSION']).describe(describeKind),
    digits: orNull(z.int()).describe(describeDigits),
    max_power: orNull(powerShape).describe(describePower),
  })
  .meta({ component: 'Register' })

/** Write the properties of a register. */
export const registerToWire = (register: RegisterProperties | null): z.output<typeof registerShape> | null =>
  register === null
    ? null
    : {
        kind: register.kind,
        digits: register.digits,
        max_power:
          register.maxPower === null ? null : powerToWire(BigInt(register.maxPower.power), register.maxPower.units),
      }

/** Member `register` of a device or location. */
export const registerMember = optionalMember(
  'register',
  null,
  { body: registerBody, answer: orNull(registerShape), write: registerToWire },
  { each: 'What is known of the counters of this object. It applies to readings that are sent afterwards.' },
)
