import { z } from 'zod'
import { basicChargeKinds, type ChargeKind, type ChargeTerms, derivedChargeKinds } from '../../domain/charge/charge.ts'
import { validateCharge } from '../../domain/charge/validate-charge.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { fields, objectIdentifier } from '../field.ts'
import { transformed } from '../request-pipe.ts'
import { readTariffTerms } from '../tariffs/read-tariff-terms.ts'
import { type ChargeInput, membersOf } from './charge-members.ts'
import { readerOf, shapeOf } from './wire-format.ts'

export const chargeKinds: readonly ChargeKind[] = [...basicChargeKinds, ...derivedChargeKinds]

/** Name of the charges of a kind in the OpenAPI document: FixedCharge. */
export const componentOf = (kind: ChargeKind): string => `${kind.charAt(0)}${kind.slice(1).toLowerCase()}Charge`

/** Union of shapes with different values of `kind`. */
export const discriminatedByKind = <Value, Sent = unknown>(options: readonly z.ZodType[]): z.ZodType<Value, Sent> =>
  z.discriminatedUnion('kind', options as never) as unknown as z.ZodType<Value, Sent>

type Wire = Readonly<Record<string, unknown>>

/** Shape of charges of all kinds, with members of their owner. `suffix` ends their names in the OpenAPI document. */
const chargeUnion = <Read>(
  owner: z.core.$ZodLooseShape,
  suffix: string,
  read: (terms: ChargeInput, wire: Wire) => Read,
): z.ZodType<Read> => {
  const options = chargeKinds.map(kind => {
    const members = membersOf(kind)
    const readMembers = readerOf(members)
    const shape = fields({ ...owner, kind: z.literal(kind), ...shapeOf(members, 'request') }).meta({
      component: `${componentOf(kind)}${suffix}`,
    })
    return transformed(shape, (wire: Wire) => read({ kind, ...readMembers(wire) } as ChargeInput, wire))
  })
  return discriminatedByKind(options)
}

/** Charge without its location, as plans and simulations have it. `readChargeTerms` validates its terms. */
export const chargeBody: z.ZodType<ChargeInput> = chargeUnion({}, 'TermsInput', terms => terms)

/** Charge of a location in a request. */
export type ChargeCreation = { readonly locationId: string; readonly terms: ChargeInput }

/** Body that creates a charge. `readCharge` validates the terms. */
export const chargeCreation: z.ZodType<ChargeCreation> = chargeUnion(
  { location_id: objectIdentifier('loc') },
  'Input',
  (terms, wire) => ({ terms, locationId: String(wire['location_id']) }),
)

/** Read the schedule of a USAGE charge and the amounts of a limit. */
const completeTerms = (input: ChargeInput): Result<ChargeTerms> => {
  if ('perKwh' in input) {
    const { amount, perKwh } = input
    if (amount === null && perKwh === null) return refused('price_missing', 'Set amount, per_kwh, or both', 'amount')
    return accepted({ ...input, amount: amount ?? 0n, perKwh: perKwh ?? 0n })
  }
  if (input.kind !== 'USAGE') return accepted(input)
  if (input.schedule === null) return accepted({ ...input, schedule: null })
  const read = readTariffTerms({
    direction: 'IMPORT',
    type: 'COMMODITY',
    marketRates: false,
    contractStart: null,
    contractEnd: null,
    schedule: input.schedule,
  })
  return read.ok ? accepted({ ...input, schedule: read.value.schedule }) : read
}

/**
 * Validate a charge of a request. Its special days are not validated: `validateChargeDays` needs the calendar
 * of the location.
 * Refuses with the field of the charge: `charge_invalid`, `price_missing`, `price_ambiguous`, `steps_not_rising`,
 * `base_empty`, `interval_not_supported`, `end_before_start`, and the refusals of a schedule.
 */
export const readChargeTerms = (input: ChargeInput): Result<ChargeTerms> => {
  const terms = completeTerms(input)
  if (!terms.ok) return terms
  const refusal = validateCharge(terms.value)
  return refusal === null ? terms : { ok: false, refusal }
}

/** Charge of a location with validated terms. The location is not checked. */
export type ChargeDraft = { readonly locationId: string; readonly terms: ChargeTerms }

/** Validate a new charge of a location. Refuses what `readChargeTerms` refuses. */
export const readCharge = ({ locationId, terms }: ChargeCreation): Result<ChargeDraft> => {
  const read = readChargeTerms(terms)
  return read.ok ? accepted({ locationId, terms: read.value }) : read
}
