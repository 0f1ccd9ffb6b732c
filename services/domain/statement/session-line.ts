import type { SessionCharge } from '../charge/charge.ts'
import { type DayRange, paidDays } from '../charge/charge-days.ts'
import { type LocalCalendar, timeInWindows } from '../charge/charge-window.ts'
import { localDayNumber } from '../civil-time.ts'
import { minuteMs } from '../interval.ts'
import { divideHalfEven } from '../quantity.ts'
import { energyBetween, type MeteredEnergy, type MeteredSession } from './metered-energy.ts'
import { type DraftLine, type LineContext, termsOfCharge } from './statement-line.ts'

/** Number of records between two pauses. */
const recordsPerPause = 256

/** Collect the sessions of inbound records. `deviceIds` null: those of all devices. */
function* collectSessions(
  { flows }: MeteredEnergy,
  deviceIds: readonly string[] | null,
): Generator<null, readonly MeteredSession[]> {
  const sessions = new Map<string, { start: number; end: number; idleFrom: number | null }>()
  let count = 0
  for (const { records } of [flows.IMPORT, flows.LOCAL]) {
    for (const record of records) {
      count += 1
      if (count % recordsPerPause === 0) yield null
      const { sessionReferenceId: id, deviceId, start, end } = record
      if (id === null || (deviceIds !== null && !deviceIds.some(one => one === deviceId))) continue
      const session = sessions.get(id) ?? { start, end, idleFrom: null }
      sessions.set(id, session)
      session.start = Math.min(session.start, start)
      session.end = Math.max(session.end, end)
      const hasEnergy = (start === end ? record.energy : energyBetween(record, start, end)) > 0n
      if (hasEnergy) session.idleFrom = Math.max(session.idleFrom ?? end, end)
    }
  }
  return [...sessions.values()]
}

/** Return the sessions of some devices. They are collected once. */
function* sessionsOf(
  metered: MeteredEnergy,
  deviceIds: readonly string[] | null,
): Generator<null, readonly MeteredSession[]> {
  const key = deviceIds?.join(' ') ?? 'all'
  const sessions = metered.sessions.get(key) ?? (yield* collectSessions(metered, deviceIds))
  metered.sessions.set(key, sessions)
  return sessions
}

/** Return the billed time of a session in ms. */
const billedTime = (
  charge: SessionCharge,
  { start, end, idleFrom }: MeteredSession,
  location: LocalCalendar,
): number => {
  const from = (charge.while === 'IDLE' ? (idleFrom ?? start) : start) + charge.afterMs
  const timeMs = timeInWindows(charge.windows, location, { start: from, end })
  return charge.count === 'STARTED' ? Math.ceil(timeMs / minuteMs) * minuteMs : timeMs
}

/** Return whether a price per session is paid for sessions of any length. */
const isForAll = (charge: SessionCharge): boolean =>
  charge.while === 'CONNECTED' && charge.afterMs === 0 && charge.windows.length === 0

/** Billed session: day of its end, quantity in ms or sessions × `minuteMs`, and amount in 1e-9 × `minuteMs`. */
type BilledSession = { readonly day: number; readonly quantity: number; readonly amount: bigint }

const billSession = (charge: SessionCharge, session: MeteredSession, location: LocalCalendar): BilledSession => {
  const timeMs = billedTime(charge, session, location)
  const isPaid = timeMs > 0 || isForAll(charge)
  const quantity = charge.per === 'MINUTE' ? timeMs : isPaid ? minuteMs : 0
  const amount = charge.price * BigInt(quantity)
  const maxAmount = charge.maxAmount === null ? null : charge.maxAmount * BigInt(minuteMs)
  return {
    day: localDayNumber(location.timeZone, session.end),
    quantity,
    amount: maxAmount !== null && amount > maxAmount ? maxAmount : amount,
  }
}

/**
 * Calculate the line of a SESSION charge; null if no day of the period is paid. A session belongs to the local day of
 * its end.
 */
export function* sessionLine(
  { metered, calendar }: LineContext,
  charge: SessionCharge,
  period: DayRange,
): Generator<null, DraftLine | null> {
  const paid = paidDays(charge, period)
  if (paid === null) return null
  const location = { timeZone: metered.timeZone, calendar }
  const billed: BilledSession[] = []
  for (const session of yield* sessionsOf(metered, charge.deviceIds)) {
    const day = localDayNumber(location.timeZone, session.end)
    if (day < paid.startDay || day >= paid.endDay) continue
    billed.push(billSession(charge, session, location))
    if (billed.length % recordsPerPause === 0) yield null
  }
  const quantity = billed.reduce((sum, session) => sum + session.quantity, 0)
  return {
    ...termsOfCharge(charge, 'SESSION', 'IMPORT'),
    quantity: divideHalfEven(BigInt(quantity) * 1_000_000_000n, BigInt(minuteMs)),
    unit: charge.per === 'MINUTE' ? 'minute' : 'session',
    unitPrice: charge.price,
    amountBefore: day => {
      const amount = billed.reduce((sum, session) => (session.day < day ? sum + session.amount : sum), 0n)
      return divideHalfEven(amount, BigInt(minuteMs))
    },
  }
}
