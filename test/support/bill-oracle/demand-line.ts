import type { Fraction } from '../oracle/exact.ts'
import type { ChargeBody, RoundingMode } from './bill-input.ts'
import {
  type BillContext,
  before,
  chargeMembers,
  type DayRange,
  type DemandReason,
  dayWeight,
  type OpenLine,
  type WeightUnit,
  weightOf,
} from './bill-line.ts'
import { isMonthNamed } from './day-bands.ts'
import { hasCountedRecord, type Measurement, measure, peakReason } from './demand-peaks.ts'
import {
  add,
  ceiling,
  compare,
  decimal,
  decimalText,
  divide,
  floor,
  fraction,
  fromNano,
  larger,
  multiply,
  nanoOf,
  roundHalfAway,
  roundHalfEven,
  roundNano,
  smaller,
  subtract,
  sum,
  zero,
} from './fraction.ts'
import { type CalendarMonth, dayStart, daysOf, firstDay, monthOf, monthText, readMonth } from './local-days.ts'

const maxPeaks = 12

type Bound = NonNullable<DemandReason['bound_by']>
type MonthPower = { readonly month: CalendarMonth; readonly kw: Fraction; readonly source: 'RECORDS' | 'GIVEN' }
type Power = { readonly kw: Fraction; readonly boundBy: Bound }

const measureDays = (context: BillContext, charge: ChargeBody, { first, end }: DayRange): Measurement =>
  measure(context, charge, { start: dayStart(context.zone, first), end: dayStart(context.zone, end) })

/** Measure a whole calendar month. A month without counted record has its given value, or null. */
const monthPower = (context: BillContext, charge: ChargeBody, month: CalendarMonth): MonthPower | null => {
  const days = { first: firstDay(month), end: firstDay(month + 1) }
  const within = { start: dayStart(context.zone, days.first), end: dayStart(context.zone, days.end) }
  if (hasCountedRecord(context, charge, within))
    return { month, kw: measure(context, charge, within).kw, source: 'RECORDS' }
  const given = (charge.history ?? []).find(entry => readMonth(entry.month) === month)
  return given === undefined ? null : { month, kw: decimal(given.kw), source: 'GIVEN' }
}

/** Return the powers of the months before the month in which the period starts, earliest first. */
const monthsBefore = (context: BillContext, charge: ChargeBody, period: DayRange, count: number): MonthPower[] => {
  const current = monthOf(period.first)
  return Array.from({ length: count }, (_, index) => monthPower(context, charge, current - count + index)).filter(
    power => power !== null,
  )
}

/** A step of the calculation sets the power if it changes it. */
const setTo = (power: Power, kw: Fraction, boundBy: Bound): Power =>
  compare(kw, power.kw) === 0 ? power : { kw, boundBy }

const withMonthFloor = (kw: Fraction, { month_floor_kw }: ChargeBody): Fraction =>
  month_floor_kw == null ? kw : larger(kw, decimal(month_floor_kw))

const rollingMonthsOf = ({ over, rolling_months }: ChargeBody): number =>
  over === 'ROLLING' ? (rolling_months ?? 12) - 1 : 0

const rollingPower = (charge: ChargeBody, own: Fraction, months: readonly MonthPower[]): Fraction => {
  const all = [own, ...months.map(({ kw }) => withMonthFloor(kw, charge))]
  if (charge.rolling === 'MAX') return all.reduce(larger)
  return divide(sum(all), fraction(BigInt(all.length)))
}

/** Round a power to multiples. Powers are not negative, so HALF_UP is half away from zero. */
export const roundPower = (kw: Fraction, round: ChargeBody['round_kw']): Fraction => {
  if (round == null) return fromNano(roundNano(kw))
  const unit = decimal(round.to ?? 1)
  const rounders: Readonly<Record<RoundingMode, (value: Fraction) => bigint>> = {
    ...{ HALF_UP: roundHalfAway, HALF_EVEN: roundHalfEven, UP: ceiling, DOWN: floor },
  }
  return multiply(fraction(rounders[round.mode ?? 'HALF_UP'](divide(kw, unit))), unit)
}

/** Steps 6 to 8 of the contract: the floor, the part above a limit, and the rounding. */
const billedPower = (charge: ChargeBody, start: Power): Power => {
  const floored = setTo(start, larger(start.kw, decimal(charge.floor_kw ?? 0)), 'FLOOR')
  const above = larger(subtract(floored.kw, decimal(charge.above_kw ?? 0)), zero)
  return { kw: roundPower(above, charge.round_kw), boundBy: floored.boundBy }
}

/** Return the money of a power for one unit of time. */
export const moneyOf = ({ price, tiers, steps, step_edge }: ChargeBody, kw: Fraction): Fraction => {
  if (price != null) return multiply(decimal(price), kw)
  if (tiers != null) {
    let lower = zero
    let money = zero
    for (const tier of tiers) {
      const upper = tier.to_kw == null ? kw : smaller(kw, decimal(tier.to_kw))
      if (compare(upper, lower) > 0) money = add(money, multiply(subtract(upper, lower), decimal(tier.price)))
      lower = larger(lower, upper)
    }
    return money
  }
  const isReached = (from: number): boolean => compare(kw, decimal(from)) > (step_edge === 'LOWER_EXCLUSIVE' ? 0 : -1)
  const reached = (steps ?? []).findLast(({ from_kw }) => isReached(from_kw)) ?? steps?.[0]
  return decimal(reached?.amount ?? 0)
}

/** Steps 3 to 8 of the contract for a whole billing period. */
const periodPower = (context: BillContext, charge: ChargeBody, period: DayRange) => {
  const measured = measureDays(context, charge, period)
  const rollingCount = rollingMonthsOf(charge)
  const ratchetCount = charge.ratchet?.months ?? 0
  const months = monthsBefore(context, charge, period, Math.max(rollingCount, ratchetCount))
  const isWithin = (count: number) => (power: MonthPower) => power.month >= monthOf(period.first) - count
  const own = setTo({ kw: measured.kw, boundBy: 'MEASURED' }, withMonthFloor(measured.kw, charge), 'FLOOR')
  const rolled =
    charge.over === 'ROLLING'
      ? setTo(own, rollingPower(charge, own.kw, months.filter(isWithin(rollingCount))), 'ROLLING')
      : own
  const ratcheted = months
    .filter(isWithin(ratchetCount))
    .filter(({ month }) => isMonthNamed(charge.ratchet?.in_months ?? ['All'], (month % 12) + 1))
    .map(({ kw }) => multiply(kw, decimal(charge.ratchet?.share ?? 0)))
    .reduce(larger, rolled.kw)
  const power = billedPower(charge, setTo(rolled, ratcheted, 'RATCHET'))
  return { measured, power, months }
}

const weightUnitOf = ({ per, year_basis }: ChargeBody): WeightUnit => {
  if (per === 'DAY') return 'DAY'
  if (per !== 'YEAR') return 'MONTH'
  return year_basis === 'DAYS' ? 'YEAR' : 'TWELFTH'
}

const unitPriceOf = ({ price }: ChargeBody): bigint | null => (price == null ? null : nanoOf(price))

/** Calculate the line of a DEMAND charge with one power for the whole period. */
const periodLine = (
  context: BillContext,
  charge: ChargeBody,
  index: number,
  days: { readonly period: DayRange; readonly paid: DayRange },
): OpenLine => {
  const { measured, power, months } = periodPower(context, charge, days.period)
  const money = moneyOf(charge, power.kw)
  const whole = charge.per === 'YEAR' ? fraction(1n, 12n) : fraction(1n)
  const weightUntil = (end: number): Fraction => {
    if (charge.prorate === 'NONE') return end > days.paid.first ? whole : zero
    return weightOf(weightUnitOf(charge), before(days.paid, end))
  }
  const reason: DemandReason = {
    ...{ measured_kw: decimalText(roundNano(measured.kw)), bound_by: power.boundBy },
    peaks: measured.peaks
      .filter(({ kw }) => compare(kw, zero) > 0)
      .slice(0, maxPeaks)
      .map(peak => peakReason(context, charge, peak)),
    history: months.map(({ month, kw, source }) => ({
      ...{ month: monthText(month), kw: decimalText(roundNano(kw)), source },
    })),
  }
  return {
    ...chargeMembers(charge, index),
    ...{ quantity: power.kw, unit: 'kW', unitPrice: unitPriceOf(charge), reason },
    amountUntil: day => roundNano(multiply(money, weightUntil(day))),
  }
}

/** Calculate the line of a DEMAND charge over DAY: each paid day has its own power. */
const dailyLine = (context: BillContext, charge: ChargeBody, index: number, paid: DayRange): OpenLine => {
  const days = daysOf(paid.first, paid.end).map(day => {
    const { kw, peaks } = measureDays(context, charge, { first: day, end: day + 1 })
    const billed = billedPower(charge, { kw, boundBy: 'MEASURED' }).kw
    return { day, billed, peaks, amount: multiply(moneyOf(charge, billed), dayWeight(weightUnitOf(charge), day)) }
  })
  const peaks = days
    .flatMap(({ peaks }) => peaks)
    .filter(({ kw }) => compare(kw, zero) > 0)
    .sort((a, b) => compare(b.weightedKw, a.weightedKw) || a.start - b.start)
    .slice(0, maxPeaks)
  return {
    ...chargeMembers(charge, index),
    ...{ quantity: sum(days.map(({ billed }) => billed)), unit: 'kW', unitPrice: unitPriceOf(charge) },
    reason: {
      ...{ measured_kw: null, bound_by: null, history: [] },
      peaks: peaks.map(peak => peakReason(context, charge, peak)),
    },
    amountUntil: end => roundNano(sum(days.filter(({ day }) => day < end).map(({ amount }) => amount))),
  }
}

/** Calculate the line of a DEMAND charge. The period decides what is measured, the paid days what is paid. */
export const demandLine = (
  context: BillContext,
  charge: ChargeBody,
  index: number,
  days: { readonly period: DayRange; readonly paid: DayRange },
): OpenLine =>
  charge.over === 'DAY' ? dailyLine(context, charge, index, days.paid) : periodLine(context, charge, index, days)
