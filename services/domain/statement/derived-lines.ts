import type { DerivedCharge, LimitCharge, PercentageCharge } from '../charge/charge.ts'
import { type DayRange, sumOfWeights, weightDenominator } from '../charge/charge-days.ts'
import { divideHalfEven, type Energy, type Money, timesNano, timesPercentage } from '../quantity.ts'
import { type DraftLine, directionOfBase, type LineReason, type LineTerms, termsOfCharge } from './statement-line.ts'

/** Line whose L(t) exists in a second form: rounded to minor units. */
export type RoundedDraftLine = DraftLine & { readonly roundedBefore: DraftLine['amountBefore'] }

type AmountBefore = DraftLine['amountBefore']
type Track = 'amountBefore' | 'roundedBefore'

/** Derived charge with its period, its paid days and the energy bought on them. */
export type PaidCharge = {
  readonly charge: DerivedCharge
  readonly period: DayRange
  readonly paid: DayRange
  readonly importedEnergy: Energy
}

/** Derived line with the sequence of its charge; null for lines that every derived charge can read. */
type SequencedLine = { readonly line: RoundedDraftLine; readonly sequence: number | null }

const contains = <T>(list: readonly T[] | null, member: T): boolean => list === null || list.includes(member)

/** Lines that a derived charge reads, and the names of the charges of direction EXPORT that its directions leave out. */
type Base = { readonly lines: readonly RoundedDraftLine[]; readonly leftOut: readonly string[] }

/** Return the base of a derived charge: the lines of a lower sequence that match it. */
const baseOf = (
  { base: { kinds, components, directions }, sequence: own }: DerivedCharge,
  lines: readonly SequencedLine[],
): Base => {
  const found = lines
    .filter(({ sequence }) => sequence === null || sequence < own)
    .map(({ line }) => line)
    .filter(({ kind, component }) => contains(kinds, kind) && contains(components, component))
  const isRead = ({ direction }: RoundedDraftLine): boolean =>
    direction !== null && (directions.length === 0 ? direction === 'IMPORT' : directions.includes(direction))
  const leftOut = found.filter(line => line.chargeId !== null && line.direction === 'EXPORT' && !isRead(line))
  return { lines: found.filter(isRead), leftOut: [...new Set(leftOut.map(({ name }) => name))] }
}

const daysIn = ({ startDay, endDay }: DayRange): bigint => BigInt(endDay - startDay)

/** Return the limit of a charge in its paid days. Per PERIOD, a day weighs 1 / days of its period. */
const limitOf = (
  { amount, per, perKwh }: LimitCharge,
  { period, paid, importedEnergy }: Omit<PaidCharge, 'charge'>,
): Money => {
  const forEnergy = timesNano(importedEnergy, perKwh)
  if (per === 'PERIOD') return divideHalfEven(amount * daysIn(paid), daysIn(period)) + forEnergy
  const denominator = BigInt(weightDenominator)
  const forTime =
    per === 'YEAR'
      ? divideHalfEven(amount * BigInt(sumOfWeights('MONTH', paid)), 12n * denominator)
      : divideHalfEven(amount * BigInt(sumOfWeights(per, paid)), denominator)
  return forTime + forEnergy
}

/** Return the part of a base in [paid.startDay, day). */
const baseBefore = (lines: readonly RoundedDraftLine[], track: Track, { startDay }: DayRange, day: number): Money =>
  lines.reduce((sum, line) => sum + line[track](day) - line[track](startDay), 0n)

type Derived = { readonly before: AmountBefore; readonly reason: LineReason }

/** Derive a limit: the amount that lifts or lowers the base, over the paid days by the weights of their months. */
const deriveLimit = (charge: LimitCharge, paidCharge: PaidCharge, { lines, leftOut }: Base, track: Track): Derived => {
  const { paid } = paidCharge
  const limit = limitOf(charge, paidCharge)
  const base = baseBefore(lines, track, paid, paid.endDay)
  const isBound = charge.kind === 'MINIMUM' ? limit > base : limit < base
  const amount = isBound ? limit - base : 0n
  const weight = BigInt(sumOfWeights('MONTH', paid))
  return {
    before: day => {
      if (day >= paid.endDay) return amount
      return divideHalfEven(amount * BigInt(sumOfWeights('MONTH', { ...paid, endDay: day })), weight)
    },
    reason: { kind: 'LIMIT', limit, base, leftOut },
  }
}

const derivePercentage = (
  { rate }: PercentageCharge,
  { paid }: PaidCharge,
  { lines, leftOut }: Base,
  track: Track,
): Derived => ({
  before: day =>
    day <= paid.startDay ? 0n : timesPercentage(baseBefore(lines, track, paid, Math.min(day, paid.endDay)), rate),
  reason: { kind: 'PERCENTAGE', rate, base: baseBefore(lines, track, paid, paid.endDay), leftOut },
})

/** Remember the values of L(t): each derived line reads those of many lines. */
const rememberByDay = (amountBefore: AmountBefore): AmountBefore => {
  const known = new Map<number, Money>()
  return day => {
    const amount = known.get(day) ?? amountBefore(day)
    known.set(day, amount)
    return amount
  }
}

/** Add the rounded form of L(t) to a line that no other line decides. */
export const withRounding = (line: DraftLine, roundMinor: (amount: Money) => Money): RoundedDraftLine => {
  const amountBefore = rememberByDay(line.amountBefore)
  return { ...line, amountBefore, roundedBefore: day => roundMinor(amountBefore(day)) }
}

const deriveLine = (
  paidCharge: PaidCharge,
  lines: readonly SequencedLine[],
  roundMinor: (amount: Money) => Money,
): RoundedDraftLine => {
  const { charge } = paidCharge
  const base = baseOf(charge, lines)
  const derive = (track: Track): Derived =>
    charge.kind === 'PERCENTAGE'
      ? derivePercentage(charge, paidCharge, base, track)
      : deriveLimit(charge, paidCharge, base, track)
  const exact = derive('amountBefore')
  const rounded = derive('roundedBefore')
  const terms: LineTerms = {
    ...termsOfCharge(charge, charge.kind, directionOfBase(charge.base)),
    quantity: null,
    unit: null,
    unitPrice: null,
    isTax: charge.kind === 'PERCENTAGE' && charge.isTax,
    reason: exact.reason,
  }
  return {
    ...terms,
    amountBefore: rememberByDay(exact.before),
    roundedBefore: rememberByDay(day => roundMinor(rounded.before(day))),
  }
}

/**
 * Derive the lines of limits and percentages, by sequence, then in the order of the charges.
 * A charge reads the given lines and derived lines of lower sequence, in the part of the period in which it is valid.
 * L(t) is derived twice: from exact amounts, and from amounts in minor units, as EN 16931 requires.
 */
export const deriveLines = (
  charges: readonly PaidCharge[],
  basicLines: readonly RoundedDraftLine[],
  roundMinor: (amount: Money) => Money,
): readonly RoundedDraftLine[] => {
  const lines: SequencedLine[] = basicLines.map(line => ({ line, sequence: null }))
  for (const one of charges.toSorted((a, b) => a.charge.sequence - b.charge.sequence)) {
    lines.push({ line: deriveLine(one, lines, roundMinor), sequence: one.charge.sequence })
  }
  return lines.slice(basicLines.length).map(({ line }) => line)
}
