/** Exact arithmetic of the oracle, apart from the domain's. */
export type Fraction = { readonly numerator: bigint; readonly denominator: bigint }

/**
 * Divide and round half to even.
 * `denominator` is above zero; the numerator may be negative.
 */
export const divideHalfEven = (numerator: bigint, denominator: bigint): bigint => {
  const remainder = ((numerator % denominator) + denominator) % denominator
  const floor = (numerator - remainder) / denominator
  const twice = remainder * 2n
  if (twice > denominator) return floor + 1n
  if (twice < denominator) return floor
  return floor % 2n === 0n ? floor : floor + 1n
}

/** Whether `value` is the fraction rounded to `decimals` places, either way on a tie. */
export const isRounded = (value: number, exact: Fraction, decimals: number): boolean => {
  const scale = 10 ** decimals
  const units = BigInt(Math.round(value * scale))
  const difference = units * exact.denominator - exact.numerator * BigInt(scale)
  const twice = 2n * (difference < 0n ? -difference : difference)
  return Math.abs(value * scale - Number(units)) < 1e-6 && twice <= exact.denominator
}

/**
 * Whether `value` is a confidence in four decimals of the fraction, which may have been kept in six decimals before: exactly between two
 * values of four decimals either will do, and so will it within half a millionth of there.
 */
export const isConfidence = (value: number, exact: Fraction): boolean => {
  const { numerator, denominator } = exact
  const [low, high] = [-1n, 1n].map(side => ({
    numerator: 2_000_000n * numerator + side * denominator,
    denominator: 2_000_000n * denominator,
  }))
  return [low, exact, high].some(one => one !== undefined && isRounded(value, one, 4))
}

/** A fraction for people: cut to six decimals. */
export const shownFraction = ({ numerator, denominator }: Fraction): string =>
  String(Number((numerator * 1_000_000n) / denominator) / 1e6)
