import type { Fraction } from '../oracle/exact.ts'
import type { BillInput, ChargeBody, ChargeKind, Direction } from './bill-input.ts'
import type { BillRecord, IncludeDevices } from './bill-records.ts'
import type { Calendar } from './day-bands.ts'
import { fraction } from './fraction.ts'
import { daysInMonth, daysInYear, daysOf, type LocalDay, readDay } from './local-days.ts'

export type LineKind = 'ENERGY' | ChargeKind | 'ADJUSTMENT'

/** A price of a line with its energy (1e-9 kWh) and its amount (1e-9). */
export type PriceDetail = { readonly price: bigint; readonly energy: bigint; readonly amount: bigint }

export type PeakUser = {
  readonly device_id: string | null
  readonly session_reference_id: string | null
  readonly energy: string
  readonly share: string
}

export type PeakReason = {
  readonly start_time: string
  readonly end_time: string
  readonly kw: string
  readonly weight: string
  readonly coarse: boolean
  readonly users: readonly PeakUser[]
}

export type DemandReason = {
  readonly measured_kw: string
  readonly bound_by: 'MEASURED' | 'ROLLING' | 'RATCHET' | 'FLOOR' | null
  readonly paid_time: string | null
  readonly peaks: readonly PeakReason[]
  readonly history: readonly { readonly month: string; readonly kw: string; readonly source: 'RECORDS' | 'GIVEN' }[]
}

/** Why an amount is what it is: power, the limit of a base, or the rate of a base. */
export type LineReason =
  | DemandReason
  | { readonly limit: string; readonly base: string; readonly left_out: readonly string[] }
  | { readonly rate: string; readonly base: string; readonly left_out: readonly string[] }

/**
 * A line before rounding. `amountUntil` is L(t): the amount of its days before a day, in 1e-9.
 * `charge` is the place of the charge in the input; null for energy and adjustments.
 */
export type OpenLine = {
  readonly kind: LineKind
  readonly component: string
  readonly name: string
  /** Null for an adjustment, which belongs to all directions. */
  readonly direction: Direction | null
  readonly charge: number | null
  /** Place of the tariff in the input, if the line is of one tariff. */
  readonly tariff: number | null
  readonly quantity: Fraction | null
  readonly unit: string | null
  readonly unitPrice: bigint | null
  readonly isTax: boolean
  readonly reason: LineReason | { readonly statement_id: string } | null
  readonly details: readonly PriceDetail[] | null
  readonly amountUntil: (day: LocalDay) => bigint
}

/** Local days [first, end). */
export type DayRange = { readonly first: LocalDay; readonly end: LocalDay }

/** What all lines of a statement depend on. */
export type BillContext = {
  readonly input: BillInput
  readonly zone: string
  readonly calendar: Calendar
  readonly records: readonly BillRecord[]
  readonly include: IncludeDevices
}

export const readRange = (body: { readonly start_date: string; readonly end_date: string }): DayRange => ({
  first: readDay(body.start_date),
  end: readDay(body.end_date),
})

/** Return the days of a period on which a charge is valid. */
export const paidDays = ({ start_date, end_date }: ChargeBody, period: DayRange): DayRange => {
  const first = Math.max(period.first, start_date == null ? period.first : readDay(start_date))
  return { first, end: Math.max(first, Math.min(period.end, end_date == null ? period.end : readDay(end_date))) }
}

export const isEmpty = ({ first, end }: DayRange): boolean => first >= end

/** Return the part of a range before a day. */
export const before = ({ first, end }: DayRange, day: LocalDay): DayRange => ({ first, end: Math.min(end, day) })

export type WeightUnit = 'DAY' | 'MONTH' | 'YEAR' | 'TWELFTH'

/** Weight of a day in its unit. TWELFTH: the share of the day in a year of twelve equal months. */
export const dayWeight = (unit: WeightUnit, day: LocalDay): Fraction => {
  if (unit === 'DAY') return fraction(1n)
  if (unit === 'YEAR') return fraction(1n, BigInt(daysInYear(day)))
  return fraction(1n, BigInt(daysInMonth(day)) * (unit === 'TWELFTH' ? 12n : 1n))
}

/** Return the sum of the weights of some days. */
export const weightOf = (unit: WeightUnit, { first, end }: DayRange): Fraction => {
  // Days of one month and year have equal weights.
  const counts = new Map<bigint, bigint>()
  for (const day of daysOf(first, end)) {
    const { denominator } = dayWeight(unit, day)
    counts.set(denominator, (counts.get(denominator) ?? 0n) + 1n)
  }
  let total = fraction(0n)
  for (const [denominator, count] of counts) {
    total = fraction(total.numerator * denominator + count * total.denominator, total.denominator * denominator)
  }
  return total
}

/** Remember the results of a function of a day. */
export const remember = (amountUntil: (day: LocalDay) => bigint): ((day: LocalDay) => bigint) => {
  const known = new Map<LocalDay, bigint>()
  return day => {
    const amount = known.get(day) ?? amountUntil(day)
    known.set(day, amount)
    return amount
  }
}

const defaultComponents: Readonly<Record<ChargeKind, string>> = {
  FIXED: 'fixed',
  USAGE: 'usage',
  DEMAND: 'demand',
  SESSION: 'session',
  MINIMUM: 'limit',
  MAXIMUM: 'limit',
  PERCENTAGE: 'tax',
}

/** Members of a line that come from its charge. A charge on exported energy has the direction EXPORT. */
export const chargeMembers = (charge: ChargeBody, index: number) => ({
  kind: charge.kind,
  name: charge.name,
  charge: index,
  tariff: null,
  isTax: false,
  reason: null,
  details: null,
  component: charge.component ?? defaultComponents[charge.kind],
  direction: charge.counts === 'EXPORT' ? ('EXPORT' as const) : ('IMPORT' as const),
})
