/** Fraction of the oracle. The exact arithmetic of the oracle is independent of the domain. */
export type Fraction = { readonly numerator: bigint; readonly denominator: bigint }

/**
 * Divide and round half to even.
 * The denominator is positive. The numerator may be negative.
 */
export const divideHalfEven = (numerator: bigint, denominator: bigint): bigint => {
  const remainder = ((numerator % denominator) + denominator) % denominator
  const floor = (numerator - remainder) / denominator
  const doubleRemainder = remainder * 2n
  if (doubleRemainder > denominator) return floor + 1n
  if (doubleRemainder < denominator) return floor
  return floor % 2n === 0n ? floor : floor + 1n
}

/** Return true if `value` is the fraction rounded to `decimals` decimals. A tie may be rounded up or down. */
export const isRounded = (value: number, exact: Fraction, decimals: number): boolean => {
  const scale = 10 ** decimals
  const units = BigInt(Math.round(value * scale))
  const difference = units * exact.denominator - exact.numerator * BigInt(scale)
  const doubleRemainder = 2n * (difference < 0n ? -difference : difference)
  return Math.abs(value * scale - Number(units)) < 1e-6 && doubleRemainder <= exact.denominator
}

/**
 * Return true if `value` is a confidence with four decimals for the fraction.
 * The service may first round the fraction to six decimals, so the fraction may also differ by half a millionth.
 */
export const isConfidence = (value: number, exact: Fraction): boolean => {
  const { numerator, denominator } = exact
  const [low, high] = [-1n, 1n].map(side => ({
    numerator: 2_000_000n * numerator + side * denominator,
    denominator: 2_000_000n * denominator,
  }))
  return [low, exact, high].some(one => one !== undefined && isRounded(value, one, 4))
}

/** Return a fraction as text, cut to six decimals. */
export const fractionText = ({ numerator, denominator }: Fraction): string =>
  String(Number((numerator * 1_000_000n) / denominator) / 1e6)
