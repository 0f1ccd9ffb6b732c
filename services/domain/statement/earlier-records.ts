import type { Charge, DemandCharge } from '../charge/charge.ts'
import { startOfDayNumber, type TimeZone, utcOffsetPeriods } from '../civil-time.ts'
import { minuteMs } from '../interval.ts'
import { firstDayRead } from './demand-line.ts'
import { flowsOf, type MeterFlow } from './metered-energy.ts'

/**
 * Records before a statement that its charges read, from `from` (ms) to before `to`: those of `flows`, and of
 * `deviceIds` if it is not null. Records that lie within one cell, a multiple of `cellMs`, can be added up by device for
 * `namedDeviceIds`, and otherwise by whether a device has them. Cells that start at `splitCells` have several intervals
 * of demand. `cellMs` null: no cell lies within one interval.
 */
export type EarlierRecords = {
  readonly from: number
  readonly to: number
  readonly flows: readonly MeterFlow[]
  readonly deviceIds: readonly string[] | null
  readonly namedDeviceIds: readonly string[]
  readonly cellMs: number | null
  readonly splitCells: readonly number[]
}

const readsEarlier = (charge: Charge, startDay: number): charge is DemandCharge =>
  charge.kind === 'DEMAND' && firstDayRead([charge], startDay) < startDay

/** Return the longest cell that lies within one interval of each charge, apart from clock changes; null if none does. */
const cellOf = (zone: TimeZone, charges: readonly DemandCharge[], from: number, to: number): number | null => {
  const offsets = utcOffsetPeriods(zone, from, to).map(({ offset }) => offset)
  const shortest = Math.min(...charges.map(({ intervalMinutes }) => intervalMinutes))
  const minutes = [60, 30, 15].find(
    length => length <= shortest && offsets.every(offset => offset % (length * minuteMs) === 0),
  )
  return minutes === undefined ? null : minutes * minuteMs
}

/**
 * Return the records before `to` (ms) that charges for demand read for a statement from `startDay` on; null if there are
 * none. Law: energy that is added up by cells gives the same measurements.
 */
export const earlierRecords = (
  zone: TimeZone,
  charges: readonly Charge[],
  startDay: number,
  to: number,
): EarlierRecords | null => {
  const reading = charges.filter(charge => readsEarlier(charge, startDay))
  const from = startOfDayNumber(zone, firstDayRead(reading, startDay))
  if (reading.length === 0 || from >= to) return null
  const cellMs = cellOf(zone, reading, from, to)
  const starts = cellMs === null ? [] : utcOffsetPeriods(zone, from, to).map(({ start }) => start)
  const deviceIds = [...new Set(reading.flatMap(charge => charge.deviceIds ?? []))]
  return {
    from,
    to,
    cellMs,
    flows: [...new Set(reading.flatMap(({ counts }) => flowsOf[counts]))],
    deviceIds: reading.every(charge => charge.deviceIds !== null) ? deviceIds : null,
    namedDeviceIds: deviceIds,
    splitCells: starts.flatMap(start => (start % (cellMs ?? 1) === 0 ? [] : [start - (start % (cellMs ?? 1))])),
  }
}
