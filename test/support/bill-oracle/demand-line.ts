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
import { byPower, hasCountedRecord, type Measurement, measure, peakReason } from './demand-peaks.ts'
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
    HALF_UP: roundHalfAway,
    HALF_EVEN: roundHalfEven,
    UP: ceiling,
    DOWN: floor,
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

/** Months before the period that a charge reads, and the lowest power that the ratchet allows. */
type Earlier = {
  readonly months: readonly MonthPower[]
  readonly rolling: readonly MonthPower[]
  readonly least: Fraction
}

/** Read the earlier months of a charge, each once, earliest first. */
const readEarlier = (context: BillContext, charge: ChargeBody, period: DayRange): Earlier => {
  const rollingCount = rollingMonthsOf(charge)
  const ratchetCount = charge.ratchet?.months ?? 0
  const current = monthOf(period.first)
  const isRolling = (month: CalendarMonth): boolean => month >= current - rollingCount
  const isInRatchet = (month: CalendarMonth): boolean =>
    month >= current - ratchetCount && isMonthNamed(charge.ratchet?.in_months ?? ['All'], (month % 12) + 1)
  const months = monthsBefore(context, charge, period, Math.max(rollingCount, ratchetCount)).filter(
    ({ month }) => isRolling(month) || isInRatchet(month),
  )
  const share = decimal(charge.ratchet?.share ?? 0)
  const limits = months.filter(({ month }) => isInRatchet(month)).map(({ kw }) => multiply(kw, share))
  return { months, rolling: months.filter(({ month }) => isRolling(month)), least: limits.reduce(larger, zero) }
}

/** Steps 4 to 8 of the contract. */
const powerOf = (charge: ChargeBody, measuredKw: Fraction, { rolling, least }: Earlier): Power => {
  const own = setTo({ kw: measuredKw, boundBy: 'MEASURED' }, withMonthFloor(measuredKw, charge), 'FLOOR')
  const rolled: Power =
    charge.over === 'ROLLING' ? { kw: rollingPower(charge, own.kw, rolling), boundBy: 'ROLLING' } : own
  return billedPower(charge, setTo(rolled, larger(rolled.kw, least), 'RATCHET'))
}

/** Explain a power by its highest peaks and by the months before. */
const reasonOf = (
  context: BillContext,
  charge: ChargeBody,
  { kw, peaks }: Measurement,
  boundBy: Bound | null,
  { months }: Earlier,
): DemandReason => ({
  measured_kw: decimalText(roundNano(kw)),
  bound_by: boundBy,
  paid_time: null,
  peaks: peaks.slice(0, maxPeaks).map(peak => peakReason(context, charge, peak)),
  history: months.map(({ month, kw, source }) => ({
    month: monthText(month),
    kw: decimalText(roundNano(kw)),
    source,
  })),
})

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
  const measured = measureDays(context, charge, days.period)
  const earlier = readEarlier(context, charge, days.period)
  const power = powerOf(charge, measured.kw, earlier)
  const money = moneyOf(charge, power.kw)
  const whole = charge.per === 'YEAR' ? fraction(1n, 12n) : fraction(1n)
  const weightUntil = (end: number): Fraction => {
    if (charge.prorate === 'NONE') return end > days.paid.first ? whole : zero
    return weightOf(weightUnitOf(charge), before(days.paid, end))
  }
  const times = weightUntil(days.paid.end)
  const unit = charge.per === 'YEAR' ? 'years' : 'months'
  const reason = {
    ...reasonOf(context, charge, measured, power.boundBy, earlier),
    paid_time: compare(times, fraction(1n)) === 0 ? null : `${decimalText(roundNano(times))} ${unit}`,
  }
  return {
    ...chargeMembers(charge, index),
    quantity: power.kw,
    unit: 'kW',
    unitPrice: unitPriceOf(charge),
    reason,
    amountUntil: day => roundNano(multiply(money, weightUntil(day))),
  }
}

/** Calculate the line of a DEMAND charge over DAY: each paid day has its own power. The powers are added. */
const dailyLine = (
  context: BillContext,
  charge: ChargeBody,
  index: number,
  { period, paid }: { readonly period: DayRange; readonly paid: DayRange },
): OpenLine => {
  const earlier = readEarlier(context, charge, period)
  const days = daysOf(paid.first, paid.end).map(day => {
    const measured = measureDays(context, charge, { first: day, end: day + 1 })
    const power = powerOf(charge, measured.kw, earlier)
    const amount = multiply(moneyOf(charge, power.kw), dayWeight(weightUnitOf(charge), day))
    return { day, measured, power, amount }
  })
  const bounds = new Set(days.map(({ power }) => power.boundBy))
  const measured = {
    kw: sum(days.map(one => one.measured.kw)),
    peaks: days.flatMap(one => one.measured.peaks).sort(byPower),
  }
  return {
    ...chargeMembers(charge, index),
    quantity: sum(days.map(({ power }) => power.kw)),
    unit: 'kW',
    unitPrice: unitPriceOf(charge),
    reason: reasonOf(context, charge, measured, bounds.size === 1 ? ([...bounds][0] ?? null) : null, earlier),
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
  charge.over === 'DAY' ? dailyLine(context, charge, index, days) : periodLine(context, charge, index, days)
