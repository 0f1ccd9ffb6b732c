import type { Charge, LineDirection, LineKind } from '../charge/charge.ts'
import { type DayRange, monthOfDay, paidDays } from '../charge/charge-days.ts'
import type { Money } from '../quantity.ts'
import type { Statement, StatementLine } from '../statement/calculate-statement.ts'

/**
 * Total of a calendar month by its month number. `standingDays`: days on which a location has as many FIXED charges as
 * on any day of the simulation, added up over the locations; absent in sums that were stored without it.
 */
export type MonthTotal = { readonly month: number; readonly total: Money; readonly standingDays?: number }

/**
 * Lines of a bill with equal terms, added up. `quantity` is in 1e-9 of `unit`, null if a line has none.
 * `standingDays`: days on which the FIXED charge of a line is paid; absent for other kinds.
 */
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
  readonly standingDays?: number
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
  readonly months: readonly MonthTotal[]
  readonly lines: readonly BillLine[]
}

/** Bill of no statement. */
export const emptyBill: Bill = {
  energy: 0n,
  charges: 0n,
  tax: 0n,
  total: 0n,
  isComplete: true,
  months: [],
  lines: [],
}

type StandingDays = { readonly standingDays?: number }

const addStandingDays = ({ standingDays: a }: StandingDays, { standingDays: b }: StandingDays): StandingDays =>
  a === undefined || b === undefined ? {} : { standingDays: a + b }

const lineKey = ({ kind, component, name, direction, unit, isTax }: BillLine): string =>
  JSON.stringify([kind, component, name, direction, unit, isTax])

const addLine = (sums: Map<string, BillLine>, line: BillLine): void => {
  const key = lineKey(line)
  const known = sums.get(key)
  if (known === undefined) {
    sums.set(key, line)
    return
  }
  const { standingDays: _, ...terms } = known
  sums.set(key, {
    ...terms,
    quantity: known.quantity === null || line.quantity === null ? null : known.quantity + line.quantity,
    amount: known.amount + line.amount,
    amountRounded: known.amountRounded + line.amountRounded,
    ...addStandingDays(known, line),
  })
}

/** Add up lines with equal terms, in the order of their first line. */
const addLines = (lines: Iterable<BillLine>): readonly BillLine[] => {
  const sums = new Map<string, BillLine>()
  for (const line of lines) addLine(sums, line)
  return [...sums.values()]
}

const addMonths = (a: readonly MonthTotal[], b: readonly MonthTotal[]): readonly MonthTotal[] => {
  const sums = new Map<number, MonthTotal>()
  for (const one of [...a, ...b]) {
    const { month, total } = one
    const known = sums.get(month)
    sums.set(month, known === undefined ? one : { month, total: known.total + total, ...addStandingDays(known, one) })
  }
  return [...sums.values()].sort((one, other) => one.month - other.month)
}

/** Return the standing days of all months of a bill; null if those of a month are unknown. */
export const standingDaysOf = ({ months }: Pick<Bill, 'months'>): number | null => {
  const sum = months.reduce<StandingDays>(addStandingDays, { standingDays: 0 })
  return sum.standingDays ?? null
}

const lengthOf = (range: DayRange | null): number => (range === null ? 0 : range.endDay - range.startDay)

/**
 * Return the days on which as many FIXED charges are paid as on any day of a range. A price that replaces another one
 * changes nothing. A charge of some days leaves these days only.
 */
const daysOfMostCharges = (fixed: readonly Charge[], range: DayRange): readonly DayRange[] => {
  const changes = new Map<number, number>()
  for (const { startDay, endDay } of fixed.flatMap(charge => paidDays(charge, range) ?? [])) {
    changes.set(startDay, (changes.get(startDay) ?? 0) + 1)
    changes.set(endDay, (changes.get(endDay) ?? 0) - 1)
  }
  const edges = [...changes].sort(([day], [other]) => day - other)
  let count = 0
  const parts = edges.map(([startDay, change], index) => {
    count += change
    return { startDay, endDay: edges[index + 1]?.[0] ?? startDay, count }
  })
  const most = parts.reduce((highest, part) => Math.max(highest, part.count), 1)
  return parts.filter(part => part.count === most)
}

/** Add two bills: of two locations, or of two parts of the time. Their order decides the order of lines alone. */
export const addBills = (a: Bill, b: Bill): Bill => ({
  energy: a.energy + b.energy,
  charges: a.charges + b.charges,
  tax: a.tax + b.tax,
  total: a.total + b.total,
  isComplete: a.isComplete && b.isComplete,
  months: addMonths(a.months, b.months),
  lines: addLines([...a.lines, ...b.lines]),
})

const billLineOf = (
  { kind, component, name, direction, unit, isTax, chargeId, ...sums }: StatementLine,
  period: DayRange,
  fixed: ReadonlyMap<string | null, Charge>,
): BillLine => {
  const charge = fixed.get(chargeId)
  return {
    kind,
    component,
    name,
    direction,
    unit,
    isTax,
    quantity: sums.quantity,
    amount: sums.amount,
    amountRounded: sums.amountRounded,
    ...(charge === undefined ? {} : { standingDays: lengthOf(paidDays(charge, period)) }),
  }
}

/** Charges of a bill, and the days of its simulation. The days contain the periods of the statement. */
export type BillTerms = { readonly charges: readonly Charge[]; readonly days: DayRange; readonly hasLines: boolean }

/**
 * Add up a statement of charges, whose periods are calendar months or parts of them. `hasLines`: with its lines.
 */
export const billOf = ({ periods, totals, isComplete }: Statement, { charges, days, hasLines }: BillTerms): Bill => {
  const lines = periods.flatMap(period => period.lines)
  const energy = lines.reduce((sum, { kind, amountRounded }) => (kind === 'ENERGY' ? sum + amountRounded : sum), 0n)
  const fixed = charges.filter(({ kind }) => kind === 'FIXED')
  const byId = new Map(fixed.map(charge => [charge.id, charge]))
  const standing = daysOfMostCharges(fixed, days)
  return {
    energy,
    charges: totals.netRounded - energy,
    tax: totals.taxRounded,
    total: totals.grossRounded,
    isComplete,
    months: addMonths(
      [],
      periods.map(period => ({
        month: monthOfDay(period.startDay),
        total: period.totals.grossRounded,
        standingDays: standing.reduce((sum, part) => sum + lengthOf(paidDays(part, period)), 0),
      })),
    ),
    lines: hasLines
      ? addLines(periods.flatMap(period => period.lines.map(line => billLineOf(line, period, byId))))
      : [],
  }
}
