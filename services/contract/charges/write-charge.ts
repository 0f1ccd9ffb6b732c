import { z } from 'zod'
import type { ChargeTerms, StoredCharge } from '../../domain/charge/charge.ts'
import { idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { scheduleToWire } from '../tariffs/tariff-schedule.ts'
import { type ChargeInput, membersOf } from './charge-members.ts'
import { chargeKinds, componentOf, discriminatedByKind } from './read-charge.ts'
import { shapeOf, writeMembers } from './wire-format.ts'

/** Members of a charge with their names in the API: those of all kinds, and those of its kind. */
export type ChargeTermsWire = Readonly<Record<string, unknown>> & {
  readonly kind: ChargeTerms['kind']
  readonly name: string
  readonly component: string
  readonly start_date: string | null
  readonly end_date: string | null
}

/** Charge without its location, as plans have it. */
export const chargeTermsShape: z.ZodType<ChargeTermsWire, ChargeTermsWire> = discriminatedByKind(
  chargeKinds.map(kind =>
    z
      .object({ kind: z.literal(kind), ...shapeOf(membersOf(kind), 'answer') })
      .meta({ component: `${componentOf(kind)}Terms` }),
  ),
)

const ownerShape = z.object({
  location_id: idText('loc'),
  plan_id: orNull(idText('pln')).describe('Plan that the charge belongs to.'),
})

/** Members of a charge of any kind, for a PATCH that sends back a charge. */
export const chargeObjects: readonly z.ZodObject[] = chargeKinds.map(kind =>
  objectShape('chg', 'charge', {
    ...ownerShape.shape,
    kind: z.literal(kind),
    ...shapeOf(membersOf(kind), 'answer'),
  }).meta({ component: componentOf(kind) }),
)

/** Charge of a location with its id. */
export type ChargeWire = ReturnType<
  typeof objectToWire<'charge', string, ChargeTermsWire & z.output<typeof ownerShape>>
>

export const chargeShape: z.ZodType<ChargeWire, ChargeWire> = discriminatedByKind(chargeObjects)

/** Write a charge without its location: all members, with exact numbers. */
export const writeCharge = (terms: ChargeTerms): ChargeTermsWire => {
  const schedule = terms.kind === 'USAGE' && terms.schedule !== null ? scheduleToWire(terms.schedule, true) : null
  const written = terms.kind === 'USAGE' ? { ...terms, schedule } : terms
  return { kind: terms.kind, ...writeMembers(membersOf(terms.kind), written as ChargeInput) } as ChargeTermsWire
}

/** Write a stored charge. */
export const chargeToWire = (charge: StoredCharge): ChargeWire => {
  const terms = writeCharge(charge.terms)
  return objectToWire('charge', charge, { location_id: charge.locationId, plan_id: charge.planId, ...terms })
}
