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
