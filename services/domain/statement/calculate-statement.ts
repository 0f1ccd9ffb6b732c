import { type BasicCharge, type Charge, type DerivedCharge, isDerived } from '../charge/charge.ts'
import { type DayRange, paidDays } from '../charge/charge-days.ts'
import { startOfDayNumber, type TimeZone } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import type { Energy, Money } from '../quantity.ts'
import { accepted, type Result, refused } from '../refusal.ts'
import { adjustmentLines, type FinalStatement } from './adjustments.ts'
import { demandLine, type MonthPowers } from './demand-line.ts'
import { deriveLines, type PaidCharge, type RoundedDraftLine, withRounding } from './derived-lines.ts'
import { energyLines, type MemoLine, memoLines, type RowsInput, sumRows } from './energy-lines.ts'
import { confidenceOfSums, type EnergyBuckets } from './energy-sums.ts'
import { fixedLine } from './fixed-line.ts'
import { sumEnergy } from './metered-energy.ts'
import { minorUnitOf, roundByLargestRemainder, roundToUnit, type StatementRounding } from './round-lines.ts'
import { sessionLine } from './session-line.ts'
import {
  type ExpectedRecords,
  type StatementGap,
  type StatementGaps,
  statementGaps,
  unpricedGap,
} from './statement-gaps.ts'
import type { BilledPeriod, DraftLine, LineContext, LineTerms } from './statement-line.ts'
import { provisionalTimes, uncertainWithin } from './uncertain-energy.ts'
import { usageLines } from './usage-lines.ts'

/**
 * Input of a statement. The periods are contiguous and in order. `charges` are in the order of their creation.
 * `expected` null: the default of `statementGaps`.
 */
export type StatementInput = LineContext &
  RowsInput & {
    readonly periods: readonly DayRange[]
    readonly rounding: StatementRounding
    readonly expected: ExpectedRecords | null
    readonly charges: readonly Charge[]
    readonly finals: readonly FinalStatement[]
    /** Present instant in ms. */
    readonly now: number
  }

/** Line of a statement. Amounts are in 1e-9 of the currency. */
export type StatementLine = LineTerms & { readonly amount: Money; readonly amountRounded: Money }

/** Sums of the lines: without tax, of taxes, and both. Law: `gross === net + tax`, rounded too. */
export type StatementTotals = {
  readonly net: Money
  readonly tax: Money
  readonly gross: Money
  readonly netRounded: Money
  readonly taxRounded: Money
  readonly grossRounded: Money
}

/**
 * Sums of the lines, and the bought and sold energy (1e-6 Wh) of estimates, and with provisional prices.
 */
export type PeriodTotals = StatementTotals & { readonly estimatedEnergy: Energy; readonly provisionalEnergy: Energy }

export type StatementPeriod = DayRange & { readonly lines: readonly StatementLine[]; readonly totals: PeriodTotals }

/** Calculated statement. `confidence` is in 1e-4; without records it is 1. */
export type Statement = StatementGaps & {
  readonly periods: readonly StatementPeriod[]
  readonly totals: PeriodTotals
  readonly memo: readonly (MemoLine & { readonly amountRounded: Money })[]
  readonly isComplete: boolean
  readonly confidence: number
}

/** Maximum number of lines of a period. */
export const maxLinesPerPeriod = 500

/** Maximum number of records and intervals that the charges of a statement may visit: about 15 s of CPU time. */
export const maxVisited = 100_000_000

/** Return the cuts of a period: its edges, and the days at which a derived charge starts or ends. */
const withCuts = (period: DayRange, derived: readonly DerivedCharge[]): BilledPeriod => {
  const paid = derived.flatMap(charge => paidDays(charge, period) ?? [])
  const cuts = [period, ...paid].flatMap(({ startDay, endDay }) => [startDay, endDay])
  return { ...period, cuts: [...new Set(cuts)].sort((a, b) => a - b) }
}

/** Powers of earlier months by charge. */
type MonthPowersByCharge = Map<string, MonthPowers>

const linesOfCharge = (
  context: LineContext,
  charge: BasicCharge,
  period: BilledPeriod,
  powers: MonthPowersByCharge,
): readonly DraftLine[] => {
  if (charge.kind === 'USAGE') return usageLines(context, charge, period)
  if (charge.kind === 'DEMAND') {
    const months = powers.get(charge.id) ?? new Map()
    powers.set(charge.id, months)
    const line = demandLine(context, charge, period, months)
    return line === null ? [] : [line]
  }
  const line = charge.kind === 'FIXED' ? fixedLine(charge, period) : sessionLine(context, charge, period)
  return line === null ? [] : [line]
}

/** Return the derived charges that are paid in a period, with the energy that their limits count. */
const paidCharges = (
  { metered }: LineContext,
  derived: readonly DerivedCharge[],
  period: DayRange,
): readonly PaidCharge[] => {
  const found: PaidCharge[] = []
  for (const charge of derived) {
    const paid = paidDays(charge, period)
    if (paid === null) continue
    const edges = [paid.startDay, paid.endDay].map(day => startOfDayNumber(metered.timeZone, day))
    const isCounted = charge.kind !== 'PERCENTAGE' && charge.perKwh !== 0n
    const sums = isCounted ? sumEnergy(metered, { counts: 'IMPORT', deviceIds: null }, edges) : null
    found.push({ charge, period, paid, importedEnergy: sums?.energies[0] ?? 0n })
  }
  return found
}

const sumOf = (amounts: readonly Money[]): Money => amounts.reduce((sum, amount) => sum + amount, 0n)

const totalsOf = (lines: readonly StatementLine[]): StatementTotals => {
  const [taxes, others] = [lines.filter(({ isTax }) => isTax), lines.filter(({ isTax }) => !isTax)]
  const [net, tax] = [others, taxes].map(list => sumOf(list.map(({ amount }) => amount))) as [Money, Money]
  const [netRounded, taxRounded] = [others, taxes].map(list =>
    sumOf(list.map(({ amountRounded }) => amountRounded)),
  ) as [Money, Money]
  return { net, tax, gross: net + tax, netRounded, taxRounded, grossRounded: netRounded + taxRounded }
}

const noTotals: PeriodTotals = { ...totalsOf([]), estimatedEnergy: 0n, provisionalEnergy: 0n }

const addTotals = (a: PeriodTotals, b: PeriodTotals): PeriodTotals => ({
  net: a.net + b.net,
  tax: a.tax + b.tax,
  gross: a.gross + b.gross,
  netRounded: a.netRounded + b.netRounded,
  taxRounded: a.taxRounded + b.taxRounded,
  grossRounded: a.grossRounded + b.grossRounded,
  estimatedEnergy: a.estimatedEnergy + b.estimatedEnergy,
  provisionalEnergy: a.provisionalEnergy + b.provisionalEnergy,
})

/** Round the lines of a period by its profile. */
const roundLines = (
  lines: readonly RoundedDraftLine[],
  endDay: number,
  { profile, decimals }: StatementRounding,
): readonly StatementLine[] => {
  const amounts = lines.map(line => line.amountBefore(endDay))
  const rounded =
    profile === 'LARGEST_REMAINDER'
      ? roundByLargestRemainder(amounts, minorUnitOf(decimals))
      : lines.map(line => line.roundedBefore(endDay))
  return lines.map(({ amountBefore: _, roundedBefore: __, ...terms }, index) => ({
    ...terms,
    amount: amounts[index] as Money,
    amountRounded: rounded[index] as Money,
  }))
}

/** Return a function that rounds L(t): to minor units in EN16931, otherwise not at all. */
const minorRounding = ({ profile, decimals }: StatementRounding): ((amount: Money) => Money) =>
  profile === 'EN16931' ? amount => roundToUnit(amount, minorUnitOf(decimals)) : amount => amount

const uncertainOf = ({ edges, uncertain }: EnergyBuckets, timeZone: TimeZone, { startDay, endDay }: DayRange) => {
  const [from, to] = [startDay, endDay].map(day => edges.indexOf(startOfDayNumber(timeZone, day))) as [number, number]
  return uncertainWithin(uncertain, from, to)
}

/** Calculate the lines of a period: energy, charges, limits and percentages, adjustments. */
const calculatePeriod = (
  input: StatementInput,
  charges: { readonly basic: readonly BasicCharge[]; readonly derived: readonly DerivedCharge[] },
  period: BilledPeriod,
  sums: EnergyBuckets,
  powers: MonthPowersByCharge,
  visitedAtMost: number,
): Result<StatementPeriod> => {
  const basic: DraftLine[] = [...energyLines(sums, input.metered.timeZone, period)]
  const { work } = input.metered
  for (const charge of charges.basic) {
    basic.push(...linesOfCharge(input, charge, period, powers))
    if (work.visited > visitedAtMost)
      return refused('too_many_records', 'The charges read too many records and intervals; shorten the statement')
  }
  const roundMinor = minorRounding(input.rounding)
  const basicLines = basic.map(line => withRounding(line, roundMinor))
  const paid = paidCharges(input, charges.derived, period)
  const derived = deriveLines(paid, basicLines, roundMinor)
  const adjusted = period.startDay === input.periods[0]?.startDay ? adjustmentLines(input.finals, period.startDay) : []
  const lines = [...basicLines, ...derived, ...adjusted.map(line => withRounding(line, roundMinor))]
  if (lines.length > maxLinesPerPeriod) {
    return refused(
      'too_many_lines',
      `A period must have at most ${maxLinesPerPeriod} lines; shorten the periods or end charges that are not needed`,
    )
  }
  const rounded = roundLines(lines, period.endDay, input.rounding)
  const totals = { ...totalsOf(rounded), ...uncertainOf(sums, input.metered.timeZone, period) }
  return accepted({ startDay: period.startDay, endDay: period.endDay, lines: rounded, totals })
}

/** Return the instants of the first and after the last day of the periods. */
const spanOf = ({ periods, metered: { timeZone } }: StatementInput): Interval => ({
  start: startOfDayNumber(timeZone, periods[0]?.startDay ?? 0),
  end: startOfDayNumber(timeZone, periods[periods.length - 1]?.endDay ?? 0),
})

/** Number of the rules of the calculation. A change of the rules that changes an amount, a component or a warning raises it. */
export const statementRules = 2

/**
 * Calculate the statement of a location.
 * Lines of a period: energy by direction and component; charges by sequence and creation; limits and percentages by
 * sequence; adjustments of FINAL statements in the first period. A charge without a paid day has no line.
 * Laws: lines add up to the totals of their period, and periods to the totals of the statement, rounded ones too. The
 * lines of energy add up to the cost of the same rows. The order of the rows has no effect.
 * Refuses more than 500 lines in a period, and charges that visit more than 100,000,000 records and intervals.
 */
export const calculateStatement = (input: StatementInput): Result<Statement> => {
  const inOrder = input.charges.toSorted((a, b) => a.sequence - b.sequence)
  const charges = {
    basic: inOrder.filter((charge): charge is BasicCharge => !isDerived(charge)),
    derived: inOrder.filter(isDerived),
  }
  const { rounding, metered } = input
  const span = spanOf(input)
  const periods = input.periods.map(period => withCuts(period, charges.derived))
  const unpriced: StatementGap[] = []
  const sums = sumRows(input, periods, row => {
    const gap = unpricedGap(row, span)
    if (gap !== null) unpriced.push(gap)
  })
  const powers: MonthPowersByCharge = new Map()
  const visitedAtMost = metered.work.visited + maxVisited
  const calculated: StatementPeriod[] = []
  for (const period of periods) {
    const result = calculatePeriod(input, charges, period, sums, powers, visitedAtMost)
    if (!result.ok) return result
    calculated.push(result.value)
  }
  const provisional = provisionalTimes(sums.uncertain).map(time => ({ reason: 'PROVISIONAL_PRICE', ...time }) as const)
  const gaps = statementGaps(metered, span, input, [...unpriced, ...provisional])
  const roundMemo = (amount: Money): Money =>
    rounding.profile === 'EXACT' ? amount : roundToUnit(amount, minorUnitOf(rounding.decimals))
  return accepted({
    periods: calculated,
    totals: calculated.map(({ totals }) => totals).reduce(addTotals, noTotals),
    memo: memoLines(sums).map(line => ({ ...line, amountRounded: roundMemo(line.amount) })),
    ...gaps,
    isComplete: gaps.gaps.length === 0,
    confidence: confidenceOfSums(sums),
  })
}
