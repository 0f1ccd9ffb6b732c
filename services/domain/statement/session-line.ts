import type { SessionCharge } from '../charge/charge.ts'
import { type DayRange, paidDays } from '../charge/charge-days.ts'
import { createTimeInWindows } from '../charge/charge-window.ts'
import { localDayNumber } from '../civil-time.ts'
import { dayMs, type Interval, minuteMs } from '../interval.ts'
import { divideHalfEven, type Money } from '../quantity.ts'
import { energyBetween, type MeteredEnergy, type MeteredSession } from './metered-energy.ts'
import { type DraftLine, type LineContext, termsOfCharge } from './statement-line.ts'

/** Work of a session, in visited records: its cost is about that of 16 records. */
const visitsPerSession = 16

/** Collect the sessions of inbound records by the local day of their end. `deviceIds` null: those of all devices. */
const collectSessions = (
  { flows, timeZone }: MeteredEnergy,
  deviceIds: readonly string[] | null,
): ReadonlyMap<number, readonly MeteredSession[]> => {
  const selected = deviceIds === null ? null : new Set<string | null>(deviceIds)
  const sessions = new Map<string, { start: number; end: number; idleFrom: number | null }>()
  for (const { records } of [flows.IMPORT, flows.LOCAL]) {
    for (const record of records) {
      const { sessionReferenceId: id, deviceId, start, end } = record
      if (id === null || selected?.has(deviceId) === false) continue
      const session = sessions.get(id) ?? { start, end, idleFrom: null }
      sessions.set(id, session)
      session.start = Math.min(session.start, start)
      session.end = Math.max(session.end, end)
      const hasEnergy = (start === end ? record.energy : energyBetween(record, start, end)) > 0n
      if (hasEnergy) session.idleFrom = Math.max(session.idleFrom ?? end, end)
    }
  }
  const byDay = new Map<number, MeteredSession[]>()
  for (const session of sessions.values()) {
    const day = localDayNumber(timeZone, session.end)
    const ofDay = byDay.get(day) ?? []
    byDay.set(day, ofDay)
    ofDay.push(session)
  }
  return byDay
}

/** Return the sessions of some devices by day. They are collected once. */
const sessionsOf = (
  metered: MeteredEnergy,
  deviceIds: readonly string[] | null,
): ReadonlyMap<number, readonly MeteredSession[]> => {
  const key = deviceIds?.join(' ') ?? 'all'
  const sessions = metered.sessions.get(key) ?? collectSessions(metered, deviceIds)
  metered.sessions.set(key, sessions)
  return sessions
}

/** Return the billed time of a session in ms. `timeIn` returns the time of an interval that counts. */
const billedTime = (
  charge: SessionCharge,
  { start, end, idleFrom }: MeteredSession,
  timeIn: (interval: Interval) => number,
): number => {
  const from = (charge.while === 'IDLE' ? (idleFrom ?? start) : start) + charge.afterMs
  const timeMs = timeIn({ start: from, end })
  return charge.count === 'STARTED' ? Math.ceil(timeMs / minuteMs) * minuteMs : timeMs
}

/** Return whether a price per session is paid for sessions of any length. */
const isForAll = (charge: SessionCharge): boolean =>
  charge.while === 'CONNECTED' && charge.afterMs === 0 && charge.windows.length === 0

/** Sessions of a day: quantity in ms or sessions × `minuteMs`, and amount in 1e-9 × `minuteMs`. */
type BilledSessions = { quantity: number; amount: bigint }

const addSession = (sum: BilledSessions, charge: SessionCharge, timeMs: number): void => {
  const isPaid = timeMs > 0 || isForAll(charge)
  const quantity = charge.per === 'MINUTE' ? timeMs : isPaid ? minuteMs : 0
  const amount = charge.price * BigInt(quantity)
  const maxAmount = charge.maxAmount === null ? null : charge.maxAmount * BigInt(minuteMs)
  sum.quantity += quantity
  sum.amount += maxAmount !== null && amount > maxAmount ? maxAmount : amount
}

/**
 * Return the amount of one session, rounded half to even. The charge must be paid on the local day of the session's end.
 * `timeIn` returns the time of an interval that is in the windows of the charge, in ms.
 */
export const sessionAmount = (
  charge: SessionCharge,
  session: MeteredSession,
  timeIn: (interval: Interval) => number,
): Money => {
  const sum = { quantity: 0, amount: 0n }
  addSession(sum, charge, billedTime(charge, session, timeIn))
  return divideHalfEven(sum.amount, BigInt(minuteMs))
}

/**
 * Calculate the line of a SESSION charge; null if no day of the period is paid. A session belongs to the local day of
 * its end.
 */
export const sessionLine = (
  { metered, calendar }: LineContext,
  charge: SessionCharge,
  period: DayRange,
): DraftLine | null => {
  const paid = paidDays(charge, period)
  if (paid === null) return null
  const timeIn = createTimeInWindows(charge.windows, { timeZone: metered.timeZone, calendar })
  const sessions = sessionsOf(metered, charge.deviceIds)
  const hours = charge.windows.reduce((sum, window) => sum + window.hours.length, 0)
  const billed = new Map<number, BilledSessions>()
  for (let day = paid.startDay; day < paid.endDay; day += 1) {
    const sum = { quantity: 0, amount: 0n }
    for (const session of sessions.get(day) ?? []) {
      addSession(sum, charge, billedTime(charge, session, timeIn))
      metered.work.visited += visitsPerSession + hours * Math.floor((session.end - session.start) / dayMs)
    }
    if (sum.quantity > 0) billed.set(day, sum)
  }
  const quantity = [...billed.values()].reduce((total, sum) => total + sum.quantity, 0)
  return {
    ...termsOfCharge(charge, 'SESSION', 'IMPORT'),
    quantity: divideHalfEven(BigInt(quantity) * 1_000_000_000n, BigInt(minuteMs)),
    unit: charge.per === 'MINUTE' ? 'minute' : 'session',
    unitPrice: charge.price,
    amountBefore: before => {
      const amount = [...billed].reduce((total, [day, sum]) => (day < before ? total + sum.amount : total), 0n)
      return divideHalfEven(amount, BigInt(minuteMs))
    },
  }
}
