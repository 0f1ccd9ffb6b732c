import { z } from 'zod'
import { formatDecimal, percentageScale, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { noSurcharges, type Rate, type SurchargeName, surchargeNames } from '../../domain/tariff/rate.ts'
import { orNull, seriesNumber } from '../answer-field.ts'
import { fields, jsonNumber, optional } from '../field.ts'
import { type JsonNumber, nanoNumber, numberText, percentageNumber } from '../json/exact-number.ts'
import { transformed } from '../request-pipe.ts'

/** The text of a JSON number. A number is taken by its shortest text, so `0.1` is exactly a tenth. */
type NumberText = string | number | null | undefined

/** Maximum number of tiers of a time band. */
export const maxTiers = 32
const priceRule = { scale: 9, min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n }
const boundRule = { scale: 9, min: 1n, max: 1_000_000_000_000_000_000n }
const onePercentage = 10n ** BigInt(percentageScale)
const percentageRule = { scale: percentageScale, min: -onePercentage, max: 5n * onePercentage }
/** Wide enough to recognise a fraction that was written in percent. */
const widePercentageRule = { ...percentageRule, min: -1_000n * onePercentage, max: 1_000n * onePercentage }

const isMissing = (value: NumberText): value is null | undefined => value === null || value === undefined

const readOptional = (value: NumberText, rule: Parameters<typeof readDecimal>[1], field: string): Result<bigint> =>
  isMissing(value) ? accepted(0n) : readDecimal(String(value), rule, field)

/** Read a fraction from -1 to 5. The refusal of a number in percent names the fraction to write. */
export const readPercentage = (value: NumberText, field: string): Result<bigint> => {
  const read = readOptional(value, percentageRule, field)
  if (read.ok || read.refusal.code !== 'value_out_of_range') return read
  const percentageMeant = readOptional(value, widePercentageRule, field)
  const hint = percentageMeant.ok
    ? `: write ${formatDecimal(percentageMeant.value, percentageScale + 2)} for ${formatDecimal(percentageMeant.value, percentageScale)} percent`
    : ''
  return refused('value_out_of_range', `${field} must be a fraction from -1 to 5${hint}`, field)
}

/** A surcharge in the API: its name, its text in the reference, its reader and writer. An absent surcharge is 0. */
type SurchargeField = {
  readonly wire: string
  readonly description: string
  readonly read: (value: NumberText, field: string) => Result<bigint>
  readonly write: (value: bigint) => JsonNumber
}

/** Surcharges of a rate in the API, in the order of its members. */
const surchargeFields = {
  surchargeFixed: {
    wire: 'surcharge_fixed',
    description: 'Added to the fixed or market price, per kWh.',
    read: (value, field) => readOptional(value, priceRule, field),
    write: nanoNumber,
  },
  surchargePercentage: {
    wire: 'surcharge_percentage',
    description: 'A fraction of price and fixed surcharge, up to 15 decimals: 0.19 is 19 percent.',
    read: readPercentage,
    write: percentageNumber,
  },
} as const satisfies Readonly<Record<SurchargeName, SurchargeField>>

type SurchargeWireName = (typeof surchargeFields)[SurchargeName]['wire']

const surchargeWireNames: readonly SurchargeWireName[] = surchargeNames.map(name => surchargeFields[name].wire)

/** Names of the members of a rate in the API. All of them are numbers. */
export const rateNumberNames: readonly string[] = ['fixed', 'to_kwh', ...surchargeWireNames]

/** One tier of a request; prices in major units per kWh, the bound in kWh, the percentage as a fraction. */
export type RateInput = { readonly [Name in 'fixed' | 'to_kwh' | SurchargeWireName]?: NumberText }

/** Number as its text. The rules of the tariff check the range. */
export const numberAsText = transformed(jsonNumber, numberText).meta({ type: 'number' })

/** Create a member for each surcharge, with its name in the API. */
const surchargeMembers = <T>(memberOf: (name: SurchargeName) => T): Readonly<Record<SurchargeWireName, T>> =>
  Object.fromEntries(surchargeNames.map(name => [surchargeFields[name].wire, memberOf(name)])) as Record<
    SurchargeWireName,
    T
  >

/** One tier of a request, with its numbers as texts. `readRates` validates the values. */
export const rateInput = fields({
  fixed: optional(numberAsText).describe('Price per kWh in major units; absent in market tariffs.'),
  to_kwh: optional(numberAsText).describe(
    'Upper bound of the tier, cumulative in the local calendar month; absent in the last tier.',
  ),
  ...surchargeMembers(name => optional(numberAsText).describe(surchargeFields[name].description)),
}).meta({ component: 'RateInput' })

/** One tier of an answer. */
export const rateShape = z
  .object({ fixed: seriesNumber, to_kwh: orNull(seriesNumber), ...surchargeMembers(() => seriesNumber) })
  .meta({ component: 'Rate' })

/** Write a rate. Prices are integers of 1e-9. A bound in 1e-6 Wh equals the same number of 1e-9 kWh. */
export const rateToWire = (rate: Rate): z.output<typeof rateShape> => ({
  fixed: nanoNumber(rate.fixed),
  to_kwh: rate.to === null ? null : nanoNumber(rate.to),
  ...surchargeMembers(name => surchargeFields[name].write(rate[name])),
})

const readFixed = (value: NumberText, isMarket: boolean, field: string): Result<bigint> => {
  if (isMarket) {
    const read = readOptional(value, priceRule, field)
    if (!read.ok || read.value === 0n) return read
    return refused(
      'schedule_invalid',
      `${field} must be left out on a market tariff, whose price is the market's: use surcharge_fixed`,
      field,
    )
  }
  return isMissing(value)
    ? refused('field_required', `${field} is required: the price per kWh`, field)
    : readOptional(value, priceRule, field)
}

const readBound = (
  value: NumberText,
  boundBefore: bigint | null,
  isLast: boolean,
  field: string,
): Result<bigint | null> => {
  if (isMissing(value)) {
    return isLast
      ? accepted(null)
      : refused('schedule_invalid', `${field} is required on every tier but the last`, field)
  }
  if (isLast)
    return refused('schedule_invalid', `${field} must be left out on the last tier, which has no upper bound`, field)
  const read = readDecimal(String(value), boundRule, field)
  if (!read.ok || read.value > (boundBefore ?? 0n)) return read
  return refused(
    'schedule_invalid',
    `${field} must be above the bound of the tier before it: bounds are cumulative`,
    field,
  )
}

const readRate = (
  rate: RateInput,
  boundBefore: bigint | null,
  isLast: boolean,
  isMarket: boolean,
  path: string,
): Result<Rate> => {
  const fixed = readFixed(rate.fixed, isMarket, `${path}.fixed`)
  if (!fixed.ok) return fixed
  const to = readBound(rate.to_kwh, boundBefore, isLast, `${path}.to_kwh`)
  if (!to.ok) return to
  const surcharges: Record<SurchargeName, bigint> = { ...noSurcharges }
  for (const name of surchargeNames) {
    const { wire, read } = surchargeFields[name]
    const surcharge = read(rate[wire], `${path}.${wire}`)
    if (!surcharge.ok) return surcharge
    surcharges[name] = surcharge.value
  }
  return accepted({ fixed: fixed.value, to: to.value, ...surcharges })
}

/**
 * Read the tiers of a band: 1 … 32, bounds rising, the last without one. On a market tariff `fixed` is absent or 0.
 * Refuses the first fault with its path. Source: docs/rules/tariffs.md #schedule, #price-of-a-band.
 */
export const readRates = (rates: readonly RateInput[], isMarket: boolean, path: string): Result<Rate[]> => {
  if (rates.length === 0) return refused('schedule_invalid', `${path} must have at least one rate`, path)
  if (rates.length > maxTiers) return refused('schedule_invalid', `${path} must have at most ${maxTiers} tiers`, path)
  const read: Rate[] = []
  for (const [index, rate] of rates.entries()) {
    const one = readRate(rate, read.at(-1)?.to ?? null, index === rates.length - 1, isMarket, `${path}[${index}]`)
    if (!one.ok) return one
    read.push(one.value)
  }
  return accepted(read)
}
