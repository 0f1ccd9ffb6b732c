import type { Charge, LineDirection, LineKind } from '../charge/charge.ts'
import { type DayRange, monthOfDay, paidDays } from '../charge/charge-days.ts'
import { unionOfIntervals } from '../interval.ts'
import type { Money } from '../quantity.ts'
import type { Statement, StatementLine } from '../statement/calculate-statement.ts'

/** Total of a calendar month by its month number. */
export type MonthTotal = { readonly month: number; readonly total: Money }

/** Lines of a bill with equal terms, added up. `quantity` is in 1e-9 of `unit`, null if a line has none. */
export type BillLine = {
  readonly kind: LineKind
  readonly component: string
  readonly name: string
  readonly direction: LineDirection | null
  readonly unit: string | null
  readonly isTax: boolean
  readonly quantity: bigint | null
  readonly amount: Money
  readonly amountRounded: Money
}

/**
 * Sums of statements, in rounded amounts: lines of energy, other lines without tax, and taxes.
 * Law: `total` is the sum of the three, and of the months. The rounded lines add up to `total`, if they are requested.
 */
export type Bill = {
  readonly energy: Money
  readonly charges: Money
  readonly tax: Money
  readonly total: Money
  readonly isComplete: boolean
  /** Days on which a location has a FIXED charge; absent in sums that were stored without it. */
  readonly standingDays?: number
  readonly months: readonly MonthTotal[]
  readonly lines: readonly BillLine[]
}

/** Bill of no statement. */
export const emptyBill: Bill = {
  ...{ energy: 0n, charges: 0n, tax: 0n, total: 0n },
  ...{ isComplete: true, standingDays: 0, months: [], lines: [] },
}

const lineKey = ({ kind, component, name, direction, unit, isTax }: Omit<BillLine, 'quantity'>): string =>
  JSON.stringify([kind, component, name, direction, unit, isTax])

const addLine = (sums: Map<string, BillLine>, line: BillLine): void => {
  const key = lineKey(line)
  const known = sums.get(key)
  if (known === undefined) {
    sums.set(key, line)
    return
  }
  sums.set(key, {
    ...known,
    quantity: known.quantity === null || line.quantity === null ? null : known.quantity + line.quantity,
    amount: known.amount + line.amount,
    amountRounded: known.amountRounded + line.amountRounded,
  })
}

/** Add up lines with equal terms, in the order of their first line. */
const addLines = (lines: Iterable<BillLine>): readonly BillLine[] => {
  const sums = new Map<string, BillLine>()
  for (const line of lines) addLine(sums, line)
  return [...sums.values()]
}

const addMonths = (a: readonly MonthTotal[], b: readonly MonthTotal[]): readonly MonthTotal[] => {
  const totals = new Map<number, Money>()
  for (const { month, total } of [...a, ...b]) totals.set(month, (totals.get(month) ?? 0n) + total)
  return [...totals].map(([month, total]) => ({ month, total })).sort((one, other) => one.month - other.month)
}

/** Count the days on which a FIXED charge is paid. A day with several of them counts once. */
const standingDaysOf = (charges: readonly Charge[], periods: readonly DayRange[]): number => {
  const fixed = charges.filter(({ kind }) => kind === 'FIXED')
  const paid = periods.flatMap(period => fixed.flatMap(charge => paidDays(charge, period) ?? []))
  const days = unionOfIntervals(paid.map(({ startDay, endDay }) => ({ start: startDay, end: endDay })))
  return days.reduce((sum, { start, end }) => sum + end - start, 0)
}

const addStandingDays = ({ standingDays: a }: Bill, { standingDays: b }: Bill): Pick<Bill, 'standingDays'> =>
  a === undefined || b === undefined ? {} : { standingDays: a + b }

/** Add two bills: of two locations, or of two parts of the time. Their order decides the order of lines alone. */
export const addBills = (a: Bill, b: Bill): Bill => ({
  energy: a.energy + b.energy,
  charges: a.charges + b.charges,
  tax: a.tax + b.tax,
  total: a.total + b.total,
  isComplete: a.isComplete && b.isComplete,
  ...addStandingDays(a, b),
  months: addMonths(a.months, b.months),
  lines: addLines([...a.lines, ...b.lines]),
})

const billLineOf = ({ kind, component, name, direction, unit, isTax, ...sums }: StatementLine): BillLine => ({
  ...{ kind, component, name, direction, unit, isTax },
  ...{ quantity: sums.quantity, amount: sums.amount, amountRounded: sums.amountRounded },
})

/**
 * Add up a statement of charges, whose periods are calendar months or parts of them. `hasLines`: with its lines.
 */
export const billOf = (
  { periods, totals, isComplete }: Statement,
  charges: readonly Charge[],
  hasLines: boolean,
): Bill => {
  const lines = periods.flatMap(period => period.lines)
  const energy = lines.reduce((sum, { kind, amountRounded }) => (kind === 'ENERGY' ? sum + amountRounded : sum), 0n)
  return {
    energy,
    charges: totals.netRounded - energy,
    tax: totals.taxRounded,
    total: totals.grossRounded,
    isComplete,
    standingDays: standingDaysOf(charges, periods),
    months: addMonths(
      [],
      periods.map(({ startDay, totals: own }) => ({ month: monthOfDay(startDay), total: own.grossRounded })),
    ),
    lines: hasLines ? addLines(lines.map(billLineOf)) : [],
  }
}
