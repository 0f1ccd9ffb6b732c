import type { ChargeBody, Direction } from './bill-input.ts'
import {
  type BillContext,
  before,
  chargeMembers,
  type DayRange,
  isEmpty,
  type OpenLine,
  paidDays,
  remember,
  type WeightUnit,
  weightOf,
} from './bill-line.ts'
import { decimal, decimalText, divide, fraction, fromNano, multiply, percentageOf, roundNano } from './fraction.ts'
import type { LocalDay } from './local-days.ts'
import { importedEnergy } from './usage-lines.ts'

/** A charge with its place in the input. */
export type PlacedCharge = { readonly charge: ChargeBody; readonly index: number }

const defaultSequences = { MINIMUM: 100, MAXIMUM: 100, PERCENTAGE: 200 } as const
type DerivedKind = keyof typeof defaultSequences

const isDerivedKind = (kind: string): kind is DerivedKind => Object.hasOwn(defaultSequences, kind)
export const isDerived = ({ charge }: PlacedCharge): boolean => isDerivedKind(charge.kind)

export const sequenceOf = ({ kind, sequence }: ChargeBody): number =>
  sequence ?? (isDerivedKind(kind) ? defaultSequences[kind] : 0)

/** Order by sequence, then by creation. */
export const bySequence = (a: PlacedCharge, b: PlacedCharge): number =>
  sequenceOf(a.charge) - sequenceOf(b.charge) || a.index - b.index

const directionsOf = ({ base }: ChargeBody): readonly Direction[] => base?.directions ?? ['IMPORT']

const matchesBase = (charge: ChargeBody, line: OpenLine): boolean => {
  const { kinds, components } = charge.base ?? {}
  return (
    (kinds == null || kinds.includes(line.kind)) &&
    (components == null || components.includes(line.component)) &&
    directionsOf(charge).some(direction => direction === line.direction)
  )
}

const limitWeight = ({ per }: ChargeBody, days: DayRange, period: DayRange) => {
  if (per === 'DAY' || per === 'MONTH' || per === 'YEAR') {
    const units = { DAY: 'DAY', MONTH: 'MONTH', YEAR: 'TWELFTH' } as const satisfies Record<string, WeightUnit>
    return weightOf(units[per], days)
  }
  return fraction(BigInt(days.end - days.first), BigInt(period.end - period.first))
}

/** Limit of some days: Round9 of the weighted amount, and Round9 of the amount per imported kWh. */
const limitOf = (context: BillContext, charge: ChargeBody, days: DayRange, period: DayRange): bigint => {
  const fixed = roundNano(multiply(decimal(charge.amount ?? 0), limitWeight(charge, days, period)))
  const imported = charge.per_kwh == null ? 0n : importedEnergy(context, days)
  return fixed + roundNano(multiply(decimal(charge.per_kwh ?? 0), fromNano(imported)))
}

/** Function that gives the part of the base of a charge on the days [first, end). */
type BaseOf = (days: DayRange) => bigint

type Derived = Pick<OpenLine, 'amountUntil'> & {
  readonly reason: { readonly limit: string; readonly base: string } | { readonly rate: string; readonly base: string }
}

/** Names of the charges that a base does not read, because they count EXPORT. */
const leftOut = (charge: ChargeBody, lines: readonly OpenLine[]): readonly string[] => {
  if (directionsOf(charge).includes('EXPORT')) return []
  const either = { ...charge, base: { ...charge.base, directions: ['EXPORT' as const] } }
  return [...new Set(lines.filter(line => line.charge !== null && matchesBase(either, line)).map(({ name }) => name))]
}

const limitLine = (
  context: BillContext,
  charge: ChargeBody,
  baseOf: BaseOf,
  { paid, period }: { readonly paid: DayRange; readonly period: DayRange },
): Derived => {
  const [limit, basis] = [limitOf(context, charge, paid, period), baseOf(paid)]
  const missing = limit - basis
  const isLifted = charge.kind === 'MINIMUM' ? missing > 0n : missing < 0n
  const amount = isLifted ? missing : 0n
  const total = weightOf('MONTH', paid)
  return {
    amountUntil: day => roundNano(multiply(fromNano(amount), divide(weightOf('MONTH', before(paid, day)), total))),
    reason: { limit: decimalText(limit), base: decimalText(basis) },
  }
}

const percentageLine = ({ rate }: ChargeBody, baseOf: BaseOf, paid: DayRange): Derived => ({
  amountUntil: day => roundNano(multiply(decimal(rate ?? 0), fromNano(baseOf(before(paid, day))))),
  reason: { rate: decimalText(percentageOf(rate ?? 0), 15), base: decimalText(baseOf(paid)) },
})

/**
 * Calculate the derived lines of a period by rising sequence. `lines` are the lines of energy and of the other charges.
 * `round` rounds each L(t): of the base and of the derived lines.
 */
export const derivedLines = (
  context: BillContext,
  charges: readonly PlacedCharge[],
  lines: readonly OpenLine[],
  period: DayRange,
  round: (nano: bigint) => bigint,
): OpenLine[] => {
  const derived: { readonly sequence: number; readonly line: OpenLine }[] = []
  for (const { charge, index } of charges.filter(isDerived).sort(bySequence)) {
    const paid = paidDays(charge, period)
    if (isEmpty(paid)) continue
    const sequence = sequenceOf(charge)
    const earlier = derived.filter(one => one.sequence < sequence).map(({ line }) => line)
    const read = [...lines, ...earlier]
    const base = read.filter(line => matchesBase(charge, line))
    const baseOf: BaseOf = ({ first, end }) =>
      base.reduce((sum, line) => sum + round(line.amountUntil(end)) - round(line.amountUntil(first)), 0n)
    const exact =
      charge.kind === 'PERCENTAGE'
        ? percentageLine(charge, baseOf, paid)
        : limitLine(context, charge, baseOf, { paid, period })
    const amountUntil = (day: LocalDay): bigint => (day <= paid.first ? 0n : round(exact.amountUntil(day)))
    const line: OpenLine = {
      ...chargeMembers(charge, index),
      direction: directionsOf(charge)[0] ?? 'IMPORT',
      isTax: charge.kind === 'PERCENTAGE' && charge.tax !== false,
      quantity: null,
      unit: null,
      unitPrice: null,
      reason: { ...exact.reason, left_out: leftOut(charge, read) },
      amountUntil: remember(amountUntil),
    }
    derived.push({ sequence, line })
  }
  return derived.map(({ line }) => line)
}
