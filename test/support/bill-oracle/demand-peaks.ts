import type { Fraction } from '../oracle/exact.ts'
import { localClock } from '../oracle/local-clock.ts'
import type { Interval } from '../oracle/segments.ts'
import type { ChargeBody } from './bill-input.ts'
import type { BillContext, PeakReason, PeakUser } from './bill-line.ts'
import { type BillRecord, type CountedRecords, countedRecords, energyBetween, hasPartIn } from './bill-records.ts'
import { windowAt } from './day-bands.ts'
import {
  compare,
  decimal,
  decimalText,
  divide,
  fraction,
  multiply,
  roundHalfEven,
  roundNano,
  sum,
  zero,
} from './fraction.ts'
import { dayAt, type LocalDay, measuringIntervals } from './local-days.ts'

const hourMs = 3_600_000n
const maxUsers = 50

/** An interval that counts, with its power before and after the weight. */
export type Peak = Interval & {
  readonly day: LocalDay
  readonly kw: Fraction
  readonly weight: Fraction
  readonly weightedKw: Fraction
}

/** Mean of the highest intervals, and these intervals by falling weighted power. */
export type Measurement = { readonly kw: Fraction; readonly peaks: readonly Peak[] }

const energyIn = (records: readonly BillRecord[], { start, end }: Interval): bigint =>
  records.reduce((total, one) => (hasPartIn(one, start, end) ? total + energyBetween(one, start, end) : total), 0n)

/** Order by falling weighted power, then by time. */
export const byPower = (a: Peak, b: Peak): number => compare(b.weightedKw, a.weightedKw) || a.start - b.start

const weightAt = ({ zone, calendar }: BillContext, { windows }: ChargeBody, at: number): Fraction => {
  if (windows == null) return fraction(1n)
  const window = windowAt(windows, localClock(zone, at), calendar)
  return window === null ? zero : decimal(window.weight ?? 1)
}

/** Return the intervals of [from, to) that count, with their power. */
const peaksOf = (context: BillContext, charge: ChargeBody, counted: CountedRecords, within: Interval): Peak[] => {
  const { zone } = context
  const isNear = (one: BillRecord): boolean => hasPartIn(one, within.start, within.end)
  const [added, subtracted] = [counted.added.filter(isNear), counted.subtracted.filter(isNear)]
  return measuringIntervals(zone, within.start, within.end, charge.interval_minutes ?? 60).flatMap(interval => {
    const weight = weightAt(context, charge, interval.start)
    if (compare(weight, zero) === 0) return []
    const net = energyIn(added, interval) - energyIn(subtracted, interval)
    const energy = fraction(net > 0n ? net : 0n, 1_000_000_000n)
    const kw = divide(energy, fraction(BigInt(interval.end - interval.start), hourMs))
    return [{ ...interval, day: dayAt(zone, interval.start), kw, weight, weightedKw: multiply(kw, weight) }]
  })
}

const meanOf = (values: readonly Fraction[]): Fraction =>
  values.length === 0 ? zero : divide(sum(values), fraction(BigInt(values.length)))

/** Measure [from, to), which starts and ends with a local day: the mean of the highest intervals, or of all if fewer. */
export const measure = (context: BillContext, charge: ChargeBody, within: Interval): Measurement => {
  const counted = countedRecords(context.records, context.include, charge)
  const peaks = peaksOf(context, charge, counted, within).sort(byPower)
  const days = new Set<LocalDay>()
  const candidates = peaks.filter(({ day }) => {
    if (charge.distinct_days !== true) return true
    const isFirst = !days.has(day)
    days.add(day)
    return isFirst
  })
  const highest = candidates.slice(0, charge.highest ?? 1)
  return { kw: meanOf(highest.map(({ weightedKw }) => weightedKw)), peaks: highest }
}

/** Return true if any record that the charge counts has a part in [from, to). */
export const hasCountedRecord = ({ records, include }: BillContext, charge: ChargeBody, within: Interval): boolean => {
  const { added, subtracted } = countedRecords(records, include, charge)
  return [...added, ...subtracted].some(one => hasPartIn(one, within.start, within.end))
}

const textOrder = (a: string | null, b: string | null): number => {
  if (a === b) return 0
  return a === null || (b !== null && a < b) ? -1 : 1
}

/** Return the devices and sessions with energy in an interval, by falling share. */
const usersOf = (added: readonly BillRecord[], interval: Interval): PeakUser[] => {
  const users = new Map<string, { device: string | null; session: string | null; energy: bigint }>()
  for (const one of added) {
    const { deviceId: device, sessionReferenceId: session } = one.record
    const energy = energyBetween(one, interval.start, interval.end)
    if (energy === 0n) continue
    const key = JSON.stringify([device, session])
    users.set(key, { device, session, energy: energy + (users.get(key)?.energy ?? 0n) })
  }
  const total = [...users.values()].reduce((all, { energy }) => all + energy, 0n)
  return [...users.values()]
    .sort((a, b) => {
      if (a.energy !== b.energy) return a.energy > b.energy ? -1 : 1
      return textOrder(a.device, b.device) || textOrder(a.session, b.session)
    })
    .slice(0, maxUsers)
    .map(({ device, session, energy }) => ({
      device_id: device,
      session_reference_id: session,
      energy: decimalText(energy),
      share: decimalText(roundHalfEven(fraction(energy * 1_000_000n, total)), 6),
    }))
}

/** Explain a peak: its time and power, and who used the energy. */
export const peakReason = (context: BillContext, charge: ChargeBody, peak: Peak): PeakReason => {
  const { added, subtracted } = countedRecords(context.records, context.include, charge)
  const isCoarse = (one: BillRecord): boolean =>
    one.record.end - one.record.start > peak.end - peak.start && energyBetween(one, peak.start, peak.end) !== 0n
  return {
    start_time: new Date(peak.start).toISOString(),
    end_time: new Date(peak.end).toISOString(),
    kw: decimalText(roundNano(peak.kw)),
    weight: decimalText(roundNano(peak.weight)),
    coarse: [...added, ...subtracted].some(isCoarse),
    users: usersOf(added, peak),
  }
}
