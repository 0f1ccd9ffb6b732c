import type { Fraction } from '../oracle/exact.ts'
import { localClock } from '../oracle/local-clock.ts'
import type { Interval } from '../oracle/segments.ts'
import type { ChargeBody } from './bill-input.ts'
import { type BillContext, chargeMembers, type DayRange, type OpenLine } from './bill-line.ts'
import { type BillRecord, remainingEnergy } from './bill-records.ts'
import { bandSeconds, edgeSeconds, windowAt } from './day-bands.ts'
import {
  ceiling,
  compare,
  decimal,
  fraction,
  multiply,
  nanoOf,
  one,
  roundNano,
  smaller,
  sum,
  zero,
} from './fraction.ts'
import { dayAt, instantsOf, type LocalDay } from './local-days.ts'

const minuteMs = 60_000

/** Time for which a session can cost money, and the local day of its end. */
type Session = { readonly paid: Interval; readonly day: LocalDay }

/** Return the sessions of a location: the inbound records of each session reference. */
const sessionsOf = ({ records, zone }: BillContext, charge: ChargeBody): Session[] => {
  const inSession = records.filter(
    ({ record }) =>
      record.energyFlowDirection === 'INBOUND' &&
      record.sessionReferenceId !== null &&
      (charge.device_ids == null || charge.device_ids.includes(record.deviceId ?? '')),
  )
  const sessions = Map.groupBy(inSession, ({ record }) => record.sessionReferenceId)
  return [...sessions.values()].map(of => {
    const start = Math.min(...of.map(({ record }) => record.start))
    const end = Math.max(...of.map(({ record }) => record.end))
    const withEnergy = of.filter((record: BillRecord) => remainingEnergy(record) > 0n)
    const idleStart = Math.max(start, ...withEnergy.map(({ record }) => record.end))
    const from = (charge.while === 'IDLE' ? idleStart : start) + (charge.after_minutes ?? 0) * minuteMs
    return { paid: { start: from, end: Math.max(from, end) }, day: dayAt(zone, end) }
  })
}

/** Return true if a price per session is for every session, also for one without length. */
const isForEvery = ({ while: state, after_minutes, windows }: ChargeBody): boolean =>
  state !== 'IDLE' && (after_minutes ?? 0) === 0 && windows == null

/** Return the time of an interval that is inside the windows, in ms. */
const timeInside = ({ zone, calendar }: BillContext, { windows }: ChargeBody, { start, end }: Interval): number => {
  if (windows == null) return end - start
  const bands = windows.flatMap(({ hours }) => (hours ?? []).map(bandSeconds))
  const instants = instantsOf(start, end, edgeSeconds(bands))
  return instants.reduce((inside, at, index) => {
    const window = at < end ? windowAt(windows, localClock(zone, at), calendar) : null
    const isInside = window !== null && window.weight !== 0
    return isInside ? inside + (instants[index + 1] ?? end) - at : inside
  }, 0)
}

/** Calculate the line of a SESSION charge: it pays the sessions that end on one of its days. */
export const sessionLine = (context: BillContext, charge: ChargeBody, index: number, days: DayRange): OpenLine => {
  const price = decimal(charge.price ?? 0)
  const isPerMinute = charge.per === 'MINUTE'
  const quantityOf = ({ paid }: Session): Fraction => {
    if (!isPerMinute && isForEvery(charge)) return one
    const minutes = fraction(BigInt(timeInside(context, charge, paid)), BigInt(minuteMs))
    if (!isPerMinute) return compare(minutes, zero) > 0 ? one : zero
    return charge.count === 'STARTED' ? fraction(ceiling(minutes)) : minutes
  }
  const ended = sessionsOf(context, charge)
    .filter(({ day }) => days.first <= day && day < days.end)
    .map(session => {
      const quantity = quantityOf(session)
      const amount = multiply(price, quantity)
      const limit = charge.max_amount == null ? amount : decimal(charge.max_amount)
      return { day: session.day, quantity, amount: smaller(amount, limit) }
    })
  return {
    ...chargeMembers(charge, index),
    quantity: sum(ended.map(({ quantity }) => quantity)),
    unit: isPerMinute ? 'minute' : 'session',
    unitPrice: nanoOf(charge.price ?? 0),
    amountUntil: day => roundNano(sum(ended.filter(one => one.day < day).map(({ amount }) => amount))),
  }
}
