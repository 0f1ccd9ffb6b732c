import { bucketOf } from '../oracle/buckets.ts'
import { adjustmentLines } from './adjustments.ts'
import type { BillInput, Direction, StatementBody } from './bill-input.ts'
import {
  type BillContext,
  type DayRange,
  type LineKind,
  type LineReason,
  type OpenLine,
  readRange,
} from './bill-line.ts'
import { readRecords } from './bill-records.ts'
import { chargeLines } from './charge-lines.ts'
import { readCalendar } from './day-bands.ts'
import { bySequence, derivedLines, isDerived } from './derived-lines.ts'
import { type BillCosts, costBill } from './energy-costs.ts'
import { costsOf, energyLines } from './energy-lines.ts'
import {
  decimalText,
  fraction,
  largestRemainder,
  minorUnit,
  multiply,
  roundHalfEven,
  roundNano,
  roundToUnit,
} from './fraction.ts'
import { findGaps, type GapReason, provisionalCosts } from './gaps.ts'
import { dayStart, dayText, firstDay, monthOf } from './local-days.ts'

/**
 * Line of a statement. Amounts, quantities and prices are exact decimal texts without trailing zeros.
 * `charge` and `tariff` are places in the input; the service answers ids.
 */
export type StatementLine = {
  readonly kind: LineKind
  readonly component: string
  readonly name: string
  readonly charge: number | null
  readonly tariff: number | null
  readonly tariff_direction: Direction | null
  readonly quantity: string | null
  readonly unit: string | null
  readonly unit_price: string | null
  readonly amount: string
  readonly amount_rounded: string
  readonly tax: boolean
  readonly reason: LineReason | null
  readonly statement_id: string | null
  /** With `detail: PRICE`. */
  readonly prices: readonly { readonly price: string; readonly energy: string; readonly amount: string }[] | null
}

type TotalName =
  | 'net'
  | 'tax'
  | 'gross'
  | 'net_rounded'
  | 'tax_rounded'
  | 'gross_rounded'
  | 'estimated_energy'
  | 'provisional_energy'
export type StatementTotals = Readonly<Record<TotalName, string>>

export type StatementPeriod = {
  readonly start_date: string
  readonly end_date: string
  readonly lines: readonly StatementLine[]
  readonly totals: StatementTotals
}

export type BillStatement = {
  readonly start_date: string
  readonly end_date: string
  readonly complete: boolean
  readonly confidence: string
  readonly gaps: readonly {
    readonly reason: GapReason
    readonly start_time: string
    readonly end_time: string
    readonly energy?: string
  }[]
  /** Number of gaps after the first 100. */
  readonly gaps_more: number
  readonly periods: readonly StatementPeriod[]
  readonly totals: StatementTotals
  readonly memo: readonly {
    readonly energy_flow_direction: string
    readonly tariff_direction: string
    readonly quantity: string
    readonly unit: 'kWh'
    readonly amount: string
    readonly amount_rounded: string
  }[]
}

const maxGaps = 100

/** Return the periods of a statement: clipped calendar months, the whole, or those of the request. */
const periodsOf = (statement: StatementBody): DayRange[] => {
  const { first, end } = readRange(statement)
  const { periods } = statement
  if (periods === 'ONE') return [{ first, end }]
  if (periods != null && periods !== 'MONTH') return periods.map(readRange)
  const months: DayRange[] = []
  for (let from = first; from < end; ) {
    const to = Math.min(end, firstDay(monthOf(from) + 1))
    months.push({ first: from, end: to })
    from = to
  }
  return months
}

/** Return the lines of a period with the amounts that EN16931 shows. */
type PeriodLines = { readonly lines: readonly OpenLine[]; readonly roundedOneByOne: readonly bigint[] }

const linesOfPeriod = (
  context: BillContext,
  bill: BillCosts,
  period: DayRange,
  added: readonly OpenLine[],
  unit: bigint,
): PeriodLines => {
  const charges = context.input.charges.map((charge, index) => ({ charge, index }))
  const ordered = charges.filter(one => !isDerived(one)).sort(bySequence)
  const first = [...energyLines(context, bill, period), ...ordered.flatMap(one => chargeLines(context, one, period))]
  const round = (nano: bigint): bigint => roundToUnit(nano, unit)
  const derived = derivedLines(context, charges, first, period, nano => nano)
  const roundedDerived = derivedLines(context, charges, first, period, round)
  return {
    lines: [...first, ...derived, ...added],
    roundedOneByOne: [...first, ...roundedDerived, ...added].map(line => round(line.amountUntil(period.end))),
  }
}

const lineText = (line: OpenLine, amount: bigint, rounded: bigint): StatementLine => {
  const { kind, component, name, charge, tariff, direction, quantity, unit, unitPrice, isTax, reason, details } = line
  const statementId = reason !== null && 'statement_id' in reason ? reason.statement_id : null
  return {
    kind,
    component,
    name,
    charge,
    tariff,
    tariff_direction: direction,
    quantity: quantity === null ? null : decimalText(roundNano(quantity)),
    unit,
    unit_price: unitPrice === null ? null : decimalText(unitPrice),
    amount: decimalText(amount),
    amount_rounded: decimalText(rounded),
    tax: isTax,
    reason: reason !== null && 'statement_id' in reason ? null : reason,
    statement_id: statementId,
    prices:
      details?.map(detail => ({
        price: decimalText(detail.price),
        energy: decimalText(detail.energy),
        amount: decimalText(detail.amount),
      })) ?? null,
  }
}

type Sums = readonly [net: bigint, tax: bigint, netRounded: bigint, taxRounded: bigint]

const totalsText = (
  [net, tax, netRounded, taxRounded]: Sums,
  [estimated, provisional]: Uncertain,
): StatementTotals => ({
  net: decimalText(net),
  tax: decimalText(tax),
  gross: decimalText(net + tax),
  net_rounded: decimalText(netRounded),
  tax_rounded: decimalText(taxRounded),
  gross_rounded: decimalText(netRounded + taxRounded),
  estimated_energy: decimalText(estimated),
  provisional_energy: decimalText(provisional),
})

/** Energy of estimates, and energy with a provisional price. */
type Uncertain = readonly [estimated: bigint, provisional: bigint]

const uncertainOf = (context: BillContext, bill: BillCosts, { first, end }: DayRange): Uncertain => {
  const span = [dayStart(context.zone, first), dayStart(context.zone, end)] as const
  const all = (['INBOUND+IMPORT', 'OUTBOUND+EXPORT'] as const).flatMap(flow => costsOf(context, bill, flow, span))
  const estimates = all.filter(({ record }) => record.confidence < 1_000_000)
  return [bucketOf(estimates, ...span).energy, bucketOf(provisionalCosts(context, bill, span), ...span).energy]
}

const addSums = (all: readonly Sums[]): Sums =>
  all.reduce<Sums>((a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]], [0n, 0n, 0n, 0n])

const roundAmounts = (
  statement: StatementBody,
  amounts: readonly bigint[],
  oneByOne: readonly bigint[],
  unit: bigint,
): readonly bigint[] => {
  const profile = statement.rounding?.profile ?? 'EXACT'
  if (profile === 'EXACT') return amounts
  return profile === 'EN16931' ? oneByOne : largestRemainder(amounts, unit)
}

const memoOf = (
  context: BillContext,
  bill: BillCosts,
  span: readonly [number, number],
  unit: bigint,
): BillStatement['memo'] => {
  const isExact = (context.input.statement.rounding?.profile ?? 'EXACT') === 'EXACT'
  return (['INBOUND+LOCAL', 'OUTBOUND+IMPORT'] as const).flatMap(flow => {
    const costs = costsOf(context, bill, flow, span)
    if (costs.length === 0) return []
    const { energy, cost } = bucketOf(costs, ...span)
    const [energyFlow = '', direction = ''] = flow.split('+')
    return [
      {
        energy_flow_direction: energyFlow,
        tariff_direction: direction,
        quantity: decimalText(energy),
        unit: 'kWh' as const,
        amount: decimalText(cost),
        amount_rounded: decimalText(isExact ? cost : roundToUnit(cost, unit)),
      },
    ]
  })
}

/** Return the mean confidence of the billed energy with four decimals. */
const confidenceOf = (context: BillContext, bill: BillCosts, span: readonly [number, number]): string => {
  const flows = ['INBOUND+IMPORT', 'OUTBOUND+EXPORT'] as const
  const { confidence } = bucketOf(
    flows.flatMap(flow => costsOf(context, bill, flow, span)),
    ...span,
  )
  return decimalText(roundHalfEven(multiply(confidence, fraction(10_000n))), 4)
}

/**
 * Calculate the statement of a location with exact fractions, independently of the service.
 * The answer depends on the records, not on their order, unless a record is sent again.
 */
export const billStatement = (input: BillInput): BillStatement => {
  const { location, statement } = input
  const zone = location.timezone
  const context: BillContext = {
    input,
    zone,
    calendar: readCalendar(input.calendar),
    records: readRecords(input),
    include: statement.include_devices ?? 'auto',
  }
  const whole = readRange(statement)
  const span = [dayStart(zone, whole.first), dayStart(zone, whole.end)] as const
  const bill = costBill(context, ...span)
  const unit = minorUnit(statement.rounding?.decimals, location.currency_code)
  const adjustments = adjustmentLines(input, billStatement)
  const periods = periodsOf(statement).map((period, place) => {
    const added = place === 0 ? adjustments : []
    const { lines, roundedOneByOne } = linesOfPeriod(context, bill, period, added, unit)
    const amounts = lines.map(line => line.amountUntil(period.end))
    const rounded = roundAmounts(statement, amounts, roundedOneByOne, unit)
    const sums = lines.map((line, index): Sums => {
      const [amount, shown] = [amounts[index] ?? 0n, rounded[index] ?? 0n]
      return line.isTax ? [0n, amount, 0n, shown] : [amount, 0n, shown, 0n]
    })
    return {
      start_date: dayText(period.first),
      end_date: dayText(period.end),
      sums: addSums(sums),
      uncertain: uncertainOf(context, bill, period),
      lines: lines.map((line, index) => lineText(line, amounts[index] ?? 0n, rounded[index] ?? 0n)),
    }
  })
  const gaps = findGaps(context, bill)
  return {
    start_date: statement.start_date,
    end_date: statement.end_date,
    complete: gaps.length === 0,
    confidence: confidenceOf(context, bill, span),
    gaps: gaps.slice(0, maxGaps).map(({ reason, start, end, energy }) => ({
      reason,
      start_time: new Date(start).toISOString(),
      end_time: new Date(end).toISOString(),
      ...(energy !== undefined && { energy: decimalText(energy) }),
    })),
    gaps_more: Math.max(0, gaps.length - maxGaps),
    periods: periods.map(({ sums, uncertain, ...period }) => ({ ...period, totals: totalsText(sums, uncertain) })),
    totals: totalsText(addSums(periods.map(({ sums }) => sums)), uncertainOf(context, bill, whole)),
    memo: memoOf(context, bill, span, unit),
  }
}
