import type { FixedCharge, PriceUnit } from '../charge/charge.ts'
import { type DayRange, paidDays, sumOfWeights, weightDenominator, wholePriceDays } from '../charge/charge-days.ts'
import { divideHalfEven } from '../quantity.ts'
import { type DraftLine, termsOfCharge } from './statement-line.ts'

const unitNames: Readonly<Record<PriceUnit, string>> = { DAY: 'day', MONTH: 'month', YEAR: 'year' }

/** Calculate the line of a FIXED charge; null if no day of the period is paid. */
export const fixedLine = (charge: FixedCharge, period: DayRange): DraftLine | null => {
  const paid = paidDays(charge, period)
  if (paid === null) return null
  const wholeDays = charge.prorate === 'NONE' ? wholePriceDays(charge.per, paid, charge.startDay) : null
  /** Return the paid units of time before a day, in 1 / `weightDenominator`. */
  const unitsBefore = (day: number): bigint => {
    const endDay = Math.min(day, paid.endDay)
    return wholeDays === null
      ? BigInt(sumOfWeights(charge.per, { ...paid, endDay }))
      : BigInt(wholeDays.filter(whole => whole < endDay).length) * BigInt(weightDenominator)
  }
  const denominator = BigInt(weightDenominator)
  return {
    ...termsOfCharge(charge, 'FIXED', 'IMPORT'),
    quantity: divideHalfEven(charge.quantity * unitsBefore(paid.endDay), denominator),
    unit: charge.unit ?? unitNames[charge.per],
    unitPrice: charge.price,
    amountBefore: day =>
      divideHalfEven(charge.price * charge.quantity * unitsBefore(day), denominator * 1_000_000_000n),
  }
}
