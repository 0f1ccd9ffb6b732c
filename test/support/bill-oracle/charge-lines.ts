import type { ChargeBody } from './bill-input.ts'
import {
  type BillContext,
  before,
  chargeMembers,
  type DayRange,
  isEmpty,
  type OpenLine,
  paidDays,
  weightOf,
} from './bill-line.ts'
import { demandLine } from './demand-line.ts'
import type { PlacedCharge } from './derived-lines.ts'
import { decimal, fraction, multiply, nanoOf, roundNano } from './fraction.ts'
import { daysOf, firstDay, type LocalDay, monthOf, readDay } from './local-days.ts'
import { sessionLine } from './session-line.ts'
import { usageLines } from './usage-lines.ts'

/** Return the first day of the unit of time that contains a day. */
const unitStart = (per: string, day: LocalDay): LocalDay => {
  if (per === 'DAY') return day
  const month = monthOf(day)
  return firstDay(per === 'MONTH' ? month : month - (month % 12))
}

/** Count the units that are paid whole on one of the days: on their first day, or on the start of the charge. */
const wholeUnits = ({ start_date }: ChargeBody, per: string, { first, end }: DayRange): bigint => {
  const start = start_date == null ? null : readDay(start_date)
  return BigInt(daysOf(first, end).filter(day => day === unitStart(per, day) || day === start).length)
}

/** Calculate the line of a FIXED charge. `paid` are its days. */
const fixedLine = (charge: ChargeBody, index: number, paid: DayRange): OpenLine => {
  const per = charge.per ?? 'DAY'
  if (per !== 'DAY' && per !== 'MONTH' && per !== 'YEAR') throw new Error(`FIXED per ${per} does not exist.`)
  const quantityOf = (days: DayRange) => {
    const units = charge.prorate === 'NONE' ? fraction(wholeUnits(charge, per, days)) : weightOf(per, days)
    return multiply(units, decimal(charge.quantity ?? 1))
  }
  const price = charge.price ?? 0
  return {
    ...chargeMembers(charge, index),
    quantity: quantityOf(paid),
    unit: charge.unit ?? per.toLowerCase(),
    unitPrice: nanoOf(price),
    amountUntil: day => roundNano(multiply(quantityOf(before(paid, day)), decimal(price))),
  }
}

/** Calculate the lines of the first four kinds of charges. A charge without a paid day has no line. */
export const chargeLines = (
  context: BillContext,
  { charge, index }: PlacedCharge,
  period: DayRange,
): readonly OpenLine[] => {
  const paid = paidDays(charge, period)
  if (isEmpty(paid)) return []
  if (charge.kind === 'FIXED') return [fixedLine(charge, index, paid)]
  if (charge.kind === 'USAGE') return usageLines(context, charge, index, paid)
  if (charge.kind === 'SESSION') return [sessionLine(context, charge, index, paid)]
  return [demandLine(context, charge, index, { period, paid })]
}
