import type { Charge, DemandCharge, Power } from '../charge/charge.ts'
import {
  calendarMonthOf,
  type DayRange,
  daysOfMonth,
  monthOfDay,
  paidDays,
  sumOfWeights,
  weightDenominator,
} from '../charge/charge-days.ts'
import { addFractions, type Fraction, fractionOf, roundFraction } from '../fraction.ts'
import { divideHalfEven } from '../quantity.ts'
import { billPower, type DemandBound, type EarlierPower, powerMoney } from './bill-demand.ts'
import { measureDays, measureDemand } from './measure-demand.ts'
import type { Peak } from './measurement.ts'
import { explainPeak, type PeakReason } from './peak-users.ts'
import {
  type DemandReason,
  type DraftLine,
  type HistoryMonth,
  type LineContext,
  type PaidTime,
  termsOfCharge,
} from './statement-line.ts'

const maxPeaks = 12

/** Measured or given power of an earlier month; null for a month without records and without a given power. */
type MonthPower = { readonly power: Fraction; readonly source: HistoryMonth['source'] } | null

/** Powers of the earlier months of one charge, measured once for all periods. */
export type MonthPowers = Map<number, MonthPower>

const monthPower = ({ metered, calendar }: LineContext, charge: DemandCharge, month: number): MonthPower => {
  const { power, hasRecords } = measureDemand(metered, charge, calendar, daysOfMonth(month))
  if (hasRecords) return { power, source: 'RECORDS' }
  const given = charge.history.find(one => one.month === month)
  return given === undefined ? null : { power: fractionOf(given.power), source: 'GIVEN' }
}

/** Return the months before a month that a charge reads: for its rolling mean or maximum, and for its ratchet. */
const earlierMonths = ({ over, rollingMonths, ratchet }: DemandCharge, month: number) => {
  const before = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => month - 1 - index)
  const inMonths = ratchet?.inMonths ?? []
  return {
    rolling: over === 'ROLLING' ? before(rollingMonths - 1) : [],
    ratchet: before(ratchet?.months ?? 0).filter(
      one => inMonths.length === 0 || inMonths.includes(calendarMonthOf(one)),
    ),
  }
}

/**
 * Return the first day whose records the charges of a statement read: its start, or the start of the first month of a
 * rolling mean or a ratchet.
 */
export const firstDayRead = (charges: readonly Charge[], startDay: number): number => {
  const month = monthOfDay(startDay)
  const monthsBefore = charges.map(charge => {
    if (charge.kind !== 'DEMAND') return 0
    return Math.max(charge.over === 'ROLLING' ? charge.rollingMonths - 1 : 0, charge.ratchet?.months ?? 0)
  })
  const most = Math.max(0, ...monthsBefore)
  return most === 0 ? startDay : daysOfMonth(month - most).startDay
}

/** Measure the earlier months of a charge, and list them by time. */
export const measureEarlier = (
  context: LineContext,
  charge: DemandCharge,
  month: number,
  known: MonthPowers,
): { readonly earlier: EarlierPower; readonly history: readonly HistoryMonth[] } => {
  const { rolling, ratchet } = earlierMonths(charge, month)
  const months = [...new Set([...rolling, ...ratchet])].sort((a, b) => a - b)
  const history: HistoryMonth[] = []
  for (const one of months) {
    const found = known.has(one) ? known.get(one) : monthPower(context, charge, one)
    known.set(one, found ?? null)
    if (found !== undefined && found !== null)
      history.push({ month: one, power: roundFraction(found.power), source: found.source })
  }
  const powersOf = (list: readonly number[]): readonly Fraction[] => list.flatMap(one => known.get(one)?.power ?? [])
  return { earlier: { rolling: powersOf(rolling), ratchet: powersOf(ratchet) }, history }
}

/** Denominator of money in 1e-18 times a sum of weights. */
const moneyDenominator = 1_000_000_000n * BigInt(weightDenominator)

/**
 * Return the share of the money of a unit of time for paid days, as a numerator of `moneyDenominator` × 12.
 * A twelfth of a year belongs to each month, unless `yearBasis` counts the days of the year.
 */
const shareOfUnit = ({ per, yearBasis }: DemandCharge, days: DayRange): bigint => {
  if (per === 'YEAR' && yearBasis === 'MONTHS') return BigInt(sumOfWeights('MONTH', days))
  return 12n * BigInt(sumOfWeights(per, days))
}

const roundMoney = (numerator: bigint): bigint => divideHalfEven(numerator, 12n * moneyDenominator)

/** Denominator of `paidShare`. */
export const shareDenominator: bigint = 12n * BigInt(weightDenominator)

/** Return the share of the money of a unit of time that paid days cost, as a numerator of `shareDenominator`. */
export const paidShare = (charge: DemandCharge, paid: DayRange): bigint => {
  if (charge.prorate === 'DAYS') return shareOfUnit(charge, paid)
  return BigInt(weightDenominator) * (charge.per === 'YEAR' ? 1n : 12n)
}

/** Return the months or years that paid days cost; null for 1, and for powers of single days. */
const paidTimeOf = (charge: DemandCharge, paid: DayRange): PaidTime | null => {
  const share = paidShare(charge, paid)
  if (charge.over === 'DAY' || charge.per === 'DAY' || share === shareDenominator) return null
  return { unit: charge.per, count: divideHalfEven(share * 1_000_000_000n, shareDenominator) }
}

type AmountBefore = DraftLine['amountBefore']

type Billing = {
  readonly power: Power
  readonly boundBy: DemandBound | null
  readonly measured: Power
  readonly peaks: readonly Peak[]
  readonly amountBefore: AmountBefore
}

/** Bill a power for all paid days. */
const billPeriod = (
  context: LineContext,
  charge: DemandCharge,
  period: DayRange,
  paid: DayRange,
  earlier: EarlierPower,
): Billing => {
  const { power: measured, peaks } = measureDemand(context.metered, charge, context.calendar, period)
  const billed = billPower(charge, measured, earlier)
  const money = powerMoney(charge, billed.power)
  const amountBefore: AmountBefore = day => {
    const endDay = Math.min(day, paid.endDay)
    if (endDay <= paid.startDay) return 0n
    return roundMoney(money * paidShare(charge, { ...paid, endDay }))
  }
  return { ...billed, measured: roundFraction(measured), peaks, amountBefore }
}

/** Bill each paid day by itself, and add the days up. */
const billDays = (
  context: LineContext,
  charge: DemandCharge,
  period: DayRange,
  paid: DayRange,
  earlier: EarlierPower,
): Billing => {
  const days = measureDays(context.metered, charge, context.calendar, period, paid)
  const bounds = new Set<DemandBound>()
  let [power, measured, money]: [bigint, Fraction, bigint] = [0n, fractionOf(0n), 0n]
  const moneyBefore = new Map<number, bigint>()
  for (const { day, power: powerOfDay } of days) {
    moneyBefore.set(day, money)
    const billed = billPower(charge, powerOfDay, earlier)
    bounds.add(billed.boundBy)
    power += billed.power
    measured = addFractions(measured, powerOfDay)
    money += powerMoney(charge, billed.power) * shareOfUnit(charge, { startDay: day, endDay: day + 1 })
  }
  return {
    power,
    measured: roundFraction(measured),
    boundBy: bounds.size === 1 ? ([...bounds][0] ?? null) : null,
    peaks: days.flatMap(({ peaks }) => peaks),
    amountBefore: day => (day <= paid.startDay ? 0n : roundMoney(moneyBefore.get(day) ?? money)),
  }
}

/** Calculate the line of a charge for demand; null if no day of the period is paid. */
export const demandLine = (
  context: LineContext,
  charge: DemandCharge,
  period: DayRange,
  months: MonthPowers,
): DraftLine | null => {
  const paid = paidDays(charge, period)
  if (paid === null) return null
  const { earlier, history } = measureEarlier(context, charge, monthOfDay(period.startDay), months)
  const billing =
    charge.over === 'DAY'
      ? billDays(context, charge, period, paid, earlier)
      : billPeriod(context, charge, period, paid, earlier)
  const peaks = billing.peaks.toSorted((a, b) => (a.score === b.score ? a.start - b.start : a.score > b.score ? -1 : 1))
  const explained: PeakReason[] = []
  for (const peak of peaks.slice(0, maxPeaks)) explained.push(explainPeak(context.metered, charge, peak))
  const reason: DemandReason = {
    kind: 'DEMAND',
    measured: billing.measured,
    boundBy: billing.boundBy,
    paidTime: paidTimeOf(charge, paid),
    peaks: explained,
    history,
  }
  return {
    ...termsOfCharge(charge, 'DEMAND', charge.counts === 'EXPORT' ? 'EXPORT' : 'IMPORT'),
    quantity: billing.power,
    unit: 'kW',
    unitPrice: charge.price,
    reason,
    amountBefore: billing.amountBefore,
  }
}
