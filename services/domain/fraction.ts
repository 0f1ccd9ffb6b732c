import { divideHalfEven } from './quantity.ts'

/** Exact fraction. `divisor` is above zero. */
export type Fraction = { readonly dividend: bigint; readonly divisor: bigint }

export const fractionOf = (dividend: bigint, divisor = 1n): Fraction => ({ dividend, divisor })

export const addFractions = (a: Fraction, b: Fraction): Fraction =>
  a.divisor === b.divisor
    ? fractionOf(a.dividend + b.dividend, a.divisor)
    : fractionOf(a.dividend * b.divisor + b.dividend * a.divisor, a.divisor * b.divisor)

/** Return whether `a` is less than `b`. */
export const isLess = (a: Fraction, b: Fraction): boolean => a.dividend * b.divisor < b.dividend * a.divisor

export const largerFraction = (a: Fraction, b: Fraction): Fraction => (isLess(a, b) ? b : a)

/** Round a fraction half to even to an integer. */
export const roundFraction = ({ dividend, divisor }: Fraction): bigint => divideHalfEven(dividend, divisor)
