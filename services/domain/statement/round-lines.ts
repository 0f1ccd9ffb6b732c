import type { Money } from '../quantity.ts'

/** EXACT: amounts as they are. LARGEST_REMAINDER: lines add up to the rounded total. EN16931: each line is rounded. */
export type RoundingProfile = 'EXACT' | 'LARGEST_REMAINDER' | 'EN16931'

/** Rounding of a statement to `decimals` (0 … 9) of the currency. */
export type StatementRounding = { readonly profile: RoundingProfile; readonly decimals: number }

/** Return the minor unit of a number of decimals, in 1e-9 of the currency. */
export const minorUnitOf = (decimals: number): Money => 10n ** BigInt(9 - decimals)

/** Round an amount to multiples of a unit, halves away from zero. */
export const roundToUnit = (amount: Money, unit: Money): Money => {
  const size = amount < 0n ? -amount : amount
  const rounded = ((2n * size + unit) / (2n * unit)) * unit
  return amount < 0n ? -rounded : rounded
}

/** Round an amount down to a multiple of a unit. */
const floorToUnit = (amount: Money, unit: Money): Money => {
  const cut = (amount / unit) * unit
  return cut > amount ? cut - unit : cut
}

/**
 * Round amounts to multiples of a unit so that they add up to their rounded sum. Each amount is rounded down. The
 * missing units go to the largest remainders, to the earlier one of equal remainders.
 * Law: the sum of the result is the sum of the amounts, rounded halves away from zero.
 */
export const roundByLargestRemainder = (amounts: readonly Money[], unit: Money): readonly Money[] => {
  const rounded = amounts.map(amount => floorToUnit(amount, unit))
  const remainderOf = (index: number): Money => (amounts[index] as Money) - (rounded[index] as Money)
  const total = roundToUnit(
    amounts.reduce((sum, amount) => sum + amount, 0n),
    unit,
  )
  const missing = Number((total - rounded.reduce((sum, amount) => sum + amount, 0n)) / unit)
  const order = amounts
    .map((_, index) => ({ index, remainder: remainderOf(index) }))
    .sort((a, b) => (a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1))
  for (const { index } of order.slice(0, missing)) rounded[index] = (rounded[index] as Money) + unit
  return rounded
}
