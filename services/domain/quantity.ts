import type { Interval } from './interval.ts'
import { accepted, type Result, refused } from './refusal.ts'
import { trimEnd } from './trim-end.ts'

/** Energy in 1e-6 Wh. */
export type Energy = bigint
/** Money in 1e-9 of the currency's major unit. */
export type Money = bigint
/** Price in 1e-9 of the currency's major unit per kWh. Energy (1e-6 Wh = 1e-9 kWh) × price / 1e9 = money. */
export type Price = bigint

/** Fraction in 1e-15: 0.19 is 190_000_000_000_000. Percentages are from -1 to 5. */
export type Percentage = bigint

/** Units of the value of a record. W and KW are constant power over the elapsed time. */
export type EnergyUnits = 'W' | 'KW' | 'WH' | 'KWH'

/** Decimals of energy and money in the API. */
export const energyScale = 6
export const moneyScale = 9
/** Decimals of percentages, which are fractions. */
export const percentageScale = 15

const maxSignificantDigits = 17
/**
 * Maximum length of a number text, in characters. Longer texts are refused before any calculation.
 * Source: docs/rules/versions-and-transport.md #numbers.
 */
export const maxNumberLength = 400
/** Maximum energy of one record: 1e11 Wh. */
export const maxRecordEnergy: Energy = 100_000_000_000_000_000n

const powersOfTen: readonly bigint[] = Array.from({ length: 64 }, (_, exponent) => 10n ** BigInt(exponent))
const tenTo = (exponent: number): bigint => powersOfTen[exponent] as bigint

/** Divide exactly and round half to even. `divisor` is above zero. */
export const divideHalfEven = (dividend: bigint, divisor: bigint): bigint => {
  const quotient = dividend / divisor
  const remainder = dividend - quotient * divisor
  if (remainder === 0n) return quotient
  const twice = (remainder < 0n ? -remainder : remainder) * 2n
  if (twice < divisor || (twice === divisor && quotient % 2n === 0n)) return quotient
  return dividend < 0n ? quotient - 1n : quotient + 1n
}

const twoTo17 = 131_072
/** 366 days in ms: the longest interval and the largest divisor of `mulDivSmall`. */
const maxDivisor = 31_622_400_000

/**
 * Return a × b / divisor, rounded half to even, in plain numbers; NaN if the result is not provably exact.
 * a and b are safe integers ≥ 0. With a = aq·d + ar and b = bq·d + br, a·b/d = a·bq + aq·br + ar·br/d. Each integer
 * part is at most the result, which is below 2^53. In the last part, d ≤ 366 days = 3.2e10. br is split at 2^17, so ar
 * × (br / 2^17) ≤ 7.7e15. The remainder, (rest × 2^17 + ar × low), is below 2 × 3.2e10 × 2^17 = 8.3e15. All are below
 * 2^53 = 9.007e15. A quotient of two such numbers is never rounded up to an integer, so `floor` is exact.
 */
const mulDivSmall = (a: number, b: number, divisor: number): number => {
  if (!((a / divisor) * b < 9e15 && divisor <= maxDivisor)) return Number.NaN
  const aq = Math.floor(a / divisor)
  const ar = a - aq * divisor
  const bq = Math.floor(b / divisor)
  const br = b - bq * divisor
  const high = Math.floor(br / twoTo17)
  const upper = ar * high
  const upperQuotient = Math.floor(upper / divisor)
  const lower = (upper - upperQuotient * divisor) * twoTo17 + ar * (br - high * twoTo17)
  const lowerQuotient = Math.floor(lower / divisor)
  const whole = a * bq + aq * br + upperQuotient * twoTo17 + lowerQuotient
  const twice = (lower - lowerQuotient * divisor) * 2
  return twice > divisor || (twice === divisor && whole % 2 === 1) ? whole + 1 : whole
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)
const isSafe = (value: bigint): boolean => value <= maxSafe && value >= -maxSafe

/** Multiply exactly, divide, and round half to even. `divisor` is above zero. */
export const mulDivHalfEven = (a: bigint, b: bigint, divisor: bigint): bigint => divideHalfEven(a * b, divisor)

/**
 * Return the share of an amount after `elapsed` of `length`: round(amount × elapsed / length), half to even.
 * `amount` ≥ 0, 0 ≤ elapsed ≤ length, length > 0 (ms). Law: differences of shares add up to the amount.
 * Source: docs/rules/costs.md #cumulative-shares.
 */
export const cumulativeShare = (amount: bigint, elapsed: number, length: number): bigint => {
  if (elapsed === length) return amount
  if (amount >= 0n && isSafe(amount)) {
    const exactQuotient = mulDivSmall(Number(amount), elapsed, length)
    if (!Number.isNaN(exactQuotient)) return BigInt(exactQuotient)
  }
  return mulDivHalfEven(amount, BigInt(elapsed), BigInt(length))
}

/**
 * Return the share of an amount of an interval in a part of the interval: the difference of the cumulative shares at the
 * ends of the part. Law: shares of contiguous parts add up to the share of their union.
 * Source: docs/rules/costs.md #cumulative-shares.
 */
export const shareWithin = (amount: bigint, { start, end }: Interval, part: Interval): bigint =>
  part.end - part.start === end - start
    ? amount
    : cumulativeShare(amount, part.end - start, end - start) - cumulativeShare(amount, part.start - start, end - start)

/**
 * Multiply a safe integer by a factor in 1e-9, as `timesNano` does. NaN if the result is not exact in doubles.
 */
export const timesNanoSmall = (a: number, b: number): number => {
  const exactQuotient = mulDivSmall(Math.abs(a), Math.abs(b), 1e9)
  return a < 0 === b < 0 ? exactQuotient : 0 - exactQuotient
}

/** Multiply by a factor in 1e-9: a × b / 1e9, half to even. */
export const timesNano = (a: bigint, b: bigint): bigint => {
  if (isSafe(a) && isSafe(b)) {
    const exactQuotient = timesNanoSmall(Number(a), Number(b))
    if (!Number.isNaN(exactQuotient)) return BigInt(exactQuotient)
  }
  return mulDivHalfEven(a, b, 1_000_000_000n)
}

const percentageUnit = 10n ** BigInt(percentageScale)

/** Multiply by a fraction in 1e-15 from -9 to 9: a × fraction, half to even. */
export const timesPercentage = (a: bigint, percentage: Percentage): bigint => {
  // A percentage has fewer than 53 bits, and most of them have at most 9 decimals.
  const fraction = Number(percentage)
  return fraction % 1e6 === 0 ? timesNano(a, BigInt(fraction / 1e6)) : mulDivHalfEven(a, percentage, percentageUnit)
}

/** Add a percentage to an amount: a × (1 + percentage), half to even. */
export const plusPercentage = (a: bigint, percentage: Percentage): bigint =>
  timesPercentage(a, percentageUnit + percentage)

/** Return the cost of energy at a price: energy × price, rounded half to even to 1e-9. */
export const costOf = (energy: Energy, price: Price): Money => timesNano(energy, price)

/** Number as written: mantissa × 10^exponent. The mantissa has no trailing zeros. */
type Decimal = { readonly mantissa: bigint; readonly exponent: number; readonly digits: number }

const numberText = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

const parseDecimal = (text: string, maxDigits: number): Decimal | undefined => {
  const match = numberText.exec(text)
  if (match === null) return undefined
  const fraction = match[3] ?? ''
  const allDigits = `${match[2]}${fraction}`
  const upToZeros = trimEnd(allDigits, '0')
  const significantDigits = upToZeros.replace(/^0+/, '')
  if (significantDigits === '') return { mantissa: 0n, exponent: 0, digits: 0 }
  const exponent = Number(match[4] ?? '0') - fraction.length + (allDigits.length - upToZeros.length)
  if (significantDigits.length > maxDigits) return { mantissa: 0n, exponent, digits: significantDigits.length }
  return { mantissa: BigInt(`${match[1]}${significantDigits}`), exponent, digits: significantDigits.length }
}

/** Read a number text of at most 400 characters and `maxDigits` digits. Refuses all other texts, with `field`. */
const readMantissa = (text: string, field: string, maxDigits = maxSignificantDigits): Result<Decimal> => {
  if (text.length > maxNumberLength) {
    return refused('field_invalid', `${field} must be a number of at most ${maxNumberLength} characters`, field)
  }
  const decimal = parseDecimal(text, maxDigits)
  if (decimal === undefined) return refused('field_invalid', `${field} must be a number`, field)
  if (decimal.digits > maxDigits)
    return refused('field_invalid', `${field} must have at most ${maxDigits} significant digits`, field)
  return accepted(decimal)
}

/**
 * Rule for a decimal: number of decimals (`scale`), and inclusive limits at that scale. `maxDecimals` limits the decimals
 * of a text that is rounded, instead of its significant digits.
 */
export type DecimalRule = {
  readonly scale: number
  readonly min: bigint
  readonly max: bigint
  readonly round?: boolean
  readonly maxDecimals?: number
}

/**
 * Read the text of a JSON number as an integer at a scale, exactly.
 * With `round`, further decimals are rounded half to even; without, they are refused. Also refuses, with `field`, texts
 * that are no number, more than 400 characters, more than 17 significant digits or `maxDecimals`, and values outside
 * the limits.
 * Source: docs/rules/versions-and-transport.md #numbers.
 */
export const readDecimal = (text: string, rule: DecimalRule, field: string): Result<bigint> => {
  const { maxDecimals } = rule
  const read = readMantissa(text, field, maxDecimals === undefined ? maxSignificantDigits : maxNumberLength)
  if (!read.ok) return read
  const decimal = read.value
  const shift = decimal.exponent + rule.scale
  if (maxDecimals !== undefined && -decimal.exponent > maxDecimals)
    return refused('field_invalid', `${field} must have at most ${maxDecimals} decimals`, field)
  const outOfRange = () =>
    refused(
      'value_out_of_range',
      `${field} must be from ${formatDecimal(rule.min, rule.scale)} to ${formatDecimal(rule.max, rule.scale)}`,
      field,
    )
  // A mantissa has at most 17 digits and no limit has more than 40: above 40 the exponent alone decides.
  if (shift > 40) return outOfRange()
  if (shift < 0 && rule.round !== true) {
    return refused(
      'field_invalid',
      `${field} must ${rule.scale === 0 ? 'be a whole number' : `have at most ${rule.scale} decimals`}`,
      field,
    )
  }
  const value =
    shift >= 0 ? decimal.mantissa * tenTo(shift) : shift < -40 ? 0n : divideHalfEven(decimal.mantissa, tenTo(-shift))
  // A value that rounds to a limit must also be within the limit: -1e-12 is below zero.
  const isBelowZero = value === 0n && decimal.mantissa < 0n && rule.min === 0n
  return value < rule.min || value > rule.max || isBelowZero ? outOfRange() : accepted(value)
}

/** Write an integer at a scale as the exact text of a JSON number, without trailing zeros. */
export const formatDecimal = (value: bigint, scale: number): string => {
  if (scale === 0) return value.toString()
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, -scale)
  let end = digits.length
  while (end > whole.length && digits.charCodeAt(end - 1) === 48) end -= 1
  const fraction = digits.slice(whole.length, end)
  return `${value < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Factors that convert a value (power: times elapsed ms) to 1e-6 Wh. Example: 1 W × 1 ms = 5/18 × 1e-6 Wh. */
const energyFactors: Record<
  EnergyUnits,
  { readonly multiplyBy: number; readonly divideBy: number; readonly isPower: boolean }
> = {
  WH: { multiplyBy: 1e6, divideBy: 1, isPower: false },
  KWH: { multiplyBy: 1e9, divideBy: 1, isPower: false },
  W: { multiplyBy: 5, divideBy: 18, isPower: true },
  KW: { multiplyBy: 2500, divideBy: 9, isPower: true },
}

const smallPowers = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/**
 * Return the energy of a short plain text such as `1234.5`, in numbers; NaN if the text is not plain or the result not
 * provably exact.
 */
const plainEnergyFromText = (text: string, units: EnergyUnits, elapsedMs: number): number => {
  if (text.length > 13) return Number.NaN
  let mantissa = 0
  let decimals = -1
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === 46 && decimals < 0 && index > 0) decimals = 0
    else if (code >= 48 && code <= 57) {
      mantissa = mantissa * 10 + code - 48
      if (decimals >= 0) decimals += 1
    } else return Number.NaN
  }
  const hasLeadingZero = text.charCodeAt(0) === 48 && text.length > 1 && text.charCodeAt(1) !== 46
  const divisor = smallPowers[Math.max(decimals, 0)]
  if (text === '' || hasLeadingZero || decimals === 0 || divisor === undefined) return Number.NaN
  const { multiplyBy, divideBy, isPower } = energyFactors[units]
  // 13 digits times 2500 can exceed 2^53, so the product is checked.
  const scaled = isPower ? mantissa * multiplyBy : mantissa
  if (scaled > Number.MAX_SAFE_INTEGER) return Number.NaN
  return mulDivSmall(scaled, isPower ? elapsedMs : multiplyBy, divideBy * divisor)
}

const energyOutOfRange = (field: string) =>
  refused('value_out_of_range', `${field} must be from 0 to 100 GWh of energy`, field)

/**
 * Read the energy of a value from its decimal text, exactly, rounded half to even to 1e-6 Wh.
 * W and KW are constant power over `elapsedMs`, the time between two instants. Refuses, with `field`, texts that are no
 * number, more than 400 characters, more than 17 significant digits, values below zero and energy above 1e11 Wh.
 * Source: docs/rules/metering.md #energy.
 */
export const readEnergy = (text: string, units: EnergyUnits, elapsedMs: number, field = 'value'): Result<Energy> => {
  const exactEnergy = plainEnergyFromText(text, units, elapsedMs)
  if (!Number.isNaN(exactEnergy)) return accepted(BigInt(exactEnergy))
  const read = readMantissa(text, field)
  if (!read.ok) return read
  const decimal = read.value
  if (decimal.mantissa < 0n || (decimal.mantissa > 0n && decimal.exponent > 20)) return energyOutOfRange(field)
  const { multiplyBy, divideBy, isPower } = energyFactors[units]
  const numerator = decimal.mantissa * BigInt(multiplyBy) * (isPower ? BigInt(elapsedMs) : 1n)
  if (decimal.exponent < -60) return accepted(0n)
  const energy =
    decimal.exponent >= 0
      ? divideHalfEven(numerator * tenTo(decimal.exponent), BigInt(divideBy))
      : divideHalfEven(numerator, BigInt(divideBy) * tenTo(-decimal.exponent))
  return energy > maxRecordEnergy ? energyOutOfRange(field) : accepted(energy)
}

const maxExactValue = 1e15

/**
 * Return the energy of a value in WH or KWH that a double represents exactly, in numbers only. Undefined for all values
 * that need `readEnergy`: power, negative values, values finer than 1e-6 Wh or with more than 15 digits.
 * An integer m < 1e15 with m / 1e6 = value is the decimal of that value in 1e-6: no two decimals of 15 digits have the
 * same double.
 */
export const exactEnergyOf = (value: number, units: EnergyUnits): Energy | undefined => {
  const scaleFactor = units === 'WH' ? 1e6 : units === 'KWH' ? 1e9 : 0
  const scaledValue = Math.round(value * scaleFactor)
  return scaleFactor !== 0 && scaledValue >= 0 && scaledValue < maxExactValue && scaledValue / scaleFactor === value
    ? BigInt(scaledValue)
    : undefined
}
