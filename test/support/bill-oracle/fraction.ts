import { divideHalfEven, type Fraction } from '../oracle/exact.ts'

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => {
  let [high, low] = [a < 0n ? -a : a, b]
  while (low !== 0n) [high, low] = [low, high % low]
  return high
}

/** Create a reduced fraction. The denominator is positive. */
export const fraction = (numerator: bigint, denominator = 1n): Fraction => {
  const divisor = greatestCommonDivisor(numerator, denominator)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

export const zero = fraction(0n)
export const one = fraction(1n)

export const add = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)

export const subtract = (a: Fraction, b: Fraction): Fraction =>
  add(a, { numerator: -b.numerator, denominator: b.denominator })

export const multiply = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.numerator * b.numerator, a.denominator * b.denominator)

/** Divide. `b` is above zero. */
export const divide = (a: Fraction, b: Fraction): Fraction =>
  fraction(a.numerator * b.denominator, a.denominator * b.numerator)

/** Return a negative number, 0 or a positive number if `a` is below, equal to or above `b`. */
export const compare = (a: Fraction, b: Fraction): number => {
  const { numerator } = subtract(a, b)
  return numerator < 0n ? -1 : numerator > 0n ? 1 : 0
}

export const larger = (a: Fraction, b: Fraction): Fraction => (compare(a, b) < 0 ? b : a)
export const smaller = (a: Fraction, b: Fraction): Fraction => (compare(a, b) > 0 ? b : a)
export const sum = (values: readonly Fraction[]): Fraction => values.reduce(add, zero)

/** Round down, towards −∞. */
export const floor = ({ numerator, denominator }: Fraction): bigint => {
  const remainder = ((numerator % denominator) + denominator) % denominator
  return (numerator - remainder) / denominator
}

/** Round up, towards +∞. */
export const ceiling = ({ numerator, denominator }: Fraction): bigint => -floor({ numerator: -numerator, denominator })

/** Round halves to the even integer. */
export const roundHalfEven = ({ numerator, denominator }: Fraction): bigint => divideHalfEven(numerator, denominator)

/** Round halves away from zero. */
export const roundHalfAway = ({ numerator, denominator }: Fraction): bigint => {
  const size = numerator < 0n ? -numerator : numerator
  const rounded = (size * 2n + denominator) / (denominator * 2n)
  return numerator < 0n ? -rounded : rounded
}

/** Units of 1e-9 in 1. */
export const billion = 1_000_000_000n

/** Round half to even to units of 1e-9. */
export const roundNano = (value: Fraction): bigint => roundHalfEven(multiply(value, fraction(billion)))

/** Return units of 1e-9 as a fraction. */
export const fromNano = (nano: bigint): Fraction => fraction(nano, billion)

const decimalPattern = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/** Read the exact decimal that a JSON number or a decimal text shows. */
export const decimal = (value: number | string): Fraction => {
  const [, sign = '', whole, decimals = '', exponent = '0'] = decimalPattern.exec(String(value)) ?? []
  if (whole === undefined) throw new Error(`${value} is not a decimal.`)
  const digits = BigInt(`${sign}${whole}${decimals}`)
  const power = Number(exponent) - decimals.length
  return power < 0 ? fraction(digits, 10n ** BigInt(-power)) : fraction(digits * 10n ** BigInt(power))
}

/** Read a decimal with at most nine decimals as units of 1e-9. */
export const nanoOf = (value: number | string): bigint => roundNano(decimal(value))

/** Read a decimal with at most fifteen decimals as units of 1e-15. */
export const percentageOf = (value: number | string): bigint =>
  roundHalfEven(multiply(decimal(value), fraction(10n ** 15n)))

/** Write units of 1e-`decimals` as a decimal without trailing zeros. */
export const decimalText = (units: bigint, decimals = 9): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const split = digits.length - decimals
  let end = digits.length
  while (end > split && digits[end - 1] === '0') end -= 1
  const text = end === split ? digits.slice(0, split) : `${digits.slice(0, split)}.${digits.slice(split, end)}`
  return units < 0n ? `-${text}` : text
}

/** Currencies of ISO 4217 with other than two decimals. */
const currenciesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

const decimalsOf = (currencyCode: string): number =>
  currenciesByDecimals.find(([, codes]) => codes.split(' ').includes(currencyCode))?.[0] ?? 2

/** Return the size of a minor unit in 1e-9: of the requested decimals, or of the currency. */
export const minorUnit = (decimals: number | null | undefined, currencyCode: string): bigint =>
  billion / 10n ** BigInt(decimals ?? decimalsOf(currencyCode))

/** Round an amount in 1e-9 to whole units, halves away from zero. */
export const roundToUnit = (nano: bigint, unit: bigint): bigint => roundHalfAway(fraction(nano, unit)) * unit

const cutDown = (nano: bigint, unit: bigint): bigint => nano - (((nano % unit) + unit) % unit)

/**
 * Round amounts so that they add up to their rounded total: cut every amount down, and give the missing units to the
 * largest remainders. If remainders are equal, the earlier amount gets the unit.
 */
export const largestRemainder = (amounts: readonly bigint[], unit: bigint): bigint[] => {
  const total = roundToUnit(
    amounts.reduce((sum, amount) => sum + amount, 0n),
    unit,
  )
  const cut = amounts.map(amount => cutDown(amount, unit))
  let missing = (total - cut.reduce((sum, amount) => sum + amount, 0n)) / unit
  const places = amounts
    .map((amount, place) => ({ place, remainder: amount - (cut[place] ?? 0n) }))
    .sort((a, b) => (a.remainder === b.remainder ? a.place - b.place : a.remainder > b.remainder ? -1 : 1))
  const rounded = [...cut]
  for (const { place } of places) {
    if (missing === 0n) break
    rounded[place] = (rounded[place] ?? 0n) + unit
    missing -= 1n
  }
  return rounded
}
