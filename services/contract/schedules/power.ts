import { z } from 'zod'
import { divideHalfEven, type Energy, energyScale, readDecimal } from '../../domain/quantity.ts'
import type { Power } from '../../domain/schedule/amount-request.ts'
import { exactDecimal } from '../answer-field.ts'
import { fields, jsonNumber, oneOf, refuseField } from '../field.ts'
import { type JsonNumber, numberText, scaledNumber } from '../json/exact-number.ts'

/** Power (1e-6 W) or energy (1e-6 Wh), and the units of the request. */
export type PowerInput = { readonly power: Power; readonly units: 'W' | 'KW' }
export type EnergyInput = { readonly energy: Energy; readonly units: 'WH' | 'KWH' }

const quantitySchema = { type: 'number', minimum: 0, maximum: 100_000_000_000 }
const scale = 9
const maxQuantity = 100_000_000_000n * 10n ** BigInt(scale)

/** Read a quantity in 1e-9 of its unit, and convert the quantity to the units of the domain: 1e-6 W or Wh. */
const readQuantity = (
  context: z.core.$RefinementCtx<unknown>,
  value: JsonNumber,
  isThousands: boolean,
  isPositive: boolean,
): bigint => {
  const read = readDecimal(numberText(value), { scale, min: 0n, max: maxQuantity, round: true }, '')
  if (!read.ok) return refuseField(context, read.refusal.code, read.refusal.message.trim(), ['value'])
  const quantity = isThousands ? read.value : divideHalfEven(read.value, 1000n)
  return isPositive && quantity === 0n
    ? refuseField(context, 'value_out_of_range', 'must be above 0', ['value'])
    : quantity
}

/** Create the body of a power above 0. `component`: name of its schema. */
export const powerBody = (component: string) =>
  fields({ units: oneOf('W', 'KW'), value: jsonNumber.meta(quantitySchema) })
    .meta({ component })
    .transform(
      ({ units, value }, context): PowerInput => ({ units, power: readQuantity(context, value, units === 'KW', true) }),
    )

/** Body of an energy. */
export const energyBody = fields({ units: oneOf('WH', 'KWH'), value: jsonNumber.meta(quantitySchema) })
  .meta({ component: 'EnergyInput' })
  .transform(
    ({ units, value }, context): EnergyInput => ({
      units,
      energy: readQuantity(context, value, units === 'KWH', false),
    }),
  )

/** Power in an answer. */
export const powerShape = z.object({ units: z.enum(['W', 'KW']), value: exactDecimal }).meta({ component: 'Power' })

/** Write a power (1e-6 W) in some units. */
export const powerToWire = (power: bigint, units: PowerInput['units']) => ({
  units,
  value: scaledNumber(power, units === 'KW' ? energyScale + 3 : energyScale),
})
