import { formatDecimal, readDecimal } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Rate } from '../../domain/tariff/tariff.ts'

/** The text of a JSON number. A number is taken by its shortest text, so `0.1` is exactly a tenth. */
export type NumberText = string | number | null | undefined

/** One tier as it comes in; prices in major units per kWh, the bound in kWh, the percentage as a fraction. */
export type RateInput = {
  readonly fixed?: NumberText
  readonly to_kwh?: NumberText
  readonly surcharge_fixed?: NumberText
  readonly surcharge_percentage?: NumberText
}

const maxTiers = 32
const priceRule = { scale: 9, min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n }
const boundRule = { scale: 9, min: 1n, max: 1_000_000_000_000_000_000n }
const percentageRule = { scale: 9, min: -1_000_000_000n, max: 5_000_000_000n }
/** Wide enough to tell a percentage written in percent from nonsense. */
const widePercentageRule = { scale: 9, min: -1_000_000_000_000n, max: 1_000_000_000_000n }

const isMissing = (value: NumberText): value is null | undefined => value === null || value === undefined

const readOptional = (value: NumberText, rule: Parameters<typeof readDecimal>[1], field: string): Result<bigint> =>
  isMissing(value) ? accepted(0n) : readDecimal(String(value), rule, field)

const readPercentage = (value: NumberText, field: string): Result<bigint> => {
  const read = readOptional(value, percentageRule, field)
  if (read.ok || read.refusal.code !== 'value_out_of_range') return read
  const percentageMeant = readOptional(value, widePercentageRule, field)
  const hint = percentageMeant.ok
    ? `: write ${formatDecimal(percentageMeant.value, 11)} for ${formatDecimal(percentageMeant.value, 9)} percent`
    : ''
  return refused('value_out_of_range', `${field} must be a fraction from -1 to 5${hint}`, field)
}

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
  const surchargeFixed = readOptional(rate.surcharge_fixed, priceRule, `${path}.surcharge_fixed`)
  if (!surchargeFixed.ok) return surchargeFixed
  const surchargePercentage = readPercentage(rate.surcharge_percentage, `${path}.surcharge_percentage`)
  if (!surchargePercentage.ok) return surchargePercentage
  return accepted({
    fixed: fixed.value,
    to: to.value,
    surchargeFixed: surchargeFixed.value,
    surchargePercentage: surchargePercentage.value,
  })
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
