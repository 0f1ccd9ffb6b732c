import type { Day } from '../../../services/domain/tariff/tariff.ts'

/** Local date and time. `month` starts at 1. */
export type LocalClock = {
  readonly year: number
  readonly month: number
  readonly date: number
  readonly weekday: Day
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
const clockText = /^(\w{3}), (\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/
const maxQuarters = 20_000

type Zone = {
  readonly format: Intl.DateTimeFormat
  readonly quarters: Map<number, LocalClock | null>
  readonly months: Map<number, number>
}

const zones = new Map<string, Zone>()

const zoneNamed = (name: string): Zone => {
  const known = zones.get(name)
  if (known !== undefined) return known
  const two = '2-digit'
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    calendar: 'gregory',
    numberingSystem: 'latn',
    weekday: 'short',
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
  })
  const zone: Zone = { format, quarters: new Map(), months: new Map() }
  zones.set(name, zone)
  return zone
}

const weekdays: readonly Day[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

const read = (zone: Zone, at: number): LocalClock => {
  const text = zone.format.format(at)
  const [, name, month, date, year, hour, minute, second] = clockText.exec(text) ?? []
  const weekday = weekdays.find(day => day === name)
  if (weekday === undefined) throw new Error(`The calendar returned ${text}.`)
  return {
    year: Number(year),
    month: Number(month),
    date: Number(date),
    weekday,
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
  }
}

/** Return the local time at the start of a quarter hour. Null if the clock changes within the quarter hour. */
const steadyQuarter = (zone: Zone, start: number): LocalClock | null => {
  const known = zone.quarters.get(start)
  if (known !== undefined) return known
  const first = read(zone, start)
  const last = read(zone, start + quarterMs - minuteMs)
  const steady =
    first.second === 0 && last.hour === first.hour && last.date === first.date && last.minute === first.minute + 14
  if (zone.quarters.size >= maxQuarters) zone.quarters.clear()
  zone.quarters.set(start, steady ? first : null)
  return steady ? first : null
}

/** Return the local time of an IANA time zone at an instant, from `Intl.DateTimeFormat`. */
export const localClock = (name: string, at: number): LocalClock => {
  const zone = zoneNamed(name)
  const start = Math.floor(at / quarterMs) * quarterMs
  const quarter = steadyQuarter(zone, start)
  if (quarter === null) return read(zone, at)
  const minute = quarter.minute + Math.floor((at - start) / minuteMs)
  return { ...quarter, minute, second: Math.floor((at - start) / 1000) % 60 }
}

/** Return year and month (or year, month and date) as a number that increases with time. */
export const monthNumber = (clock: LocalClock): number => clock.year * 12 + clock.month - 1
export const dateNumber = (clock: LocalClock): number => monthNumber(clock) * 31 + clock.date - 1

/** Find the first instant of a local month, minute by minute. */
const startOfMonth = (name: string, month: number): number => {
  const { months } = zoneNamed(name)
  const known = months.get(month)
  if (known !== undefined) return known
  let at = Date.UTC(Math.floor(month / 12), month % 12, 1) - 15 * 60 * minuteMs
  while (monthNumber(localClock(name, at)) < month) at += minuteMs
  months.set(month, at)
  return at
}

/**
 * Return the start of the local month of `at`.
 * If the clock goes back over the start of a month, the old month does not start again.
 */
export const monthStart = (name: string, at: number): number => {
  const month = monthNumber(localClock(name, at))
  const next = startOfMonth(name, month + 1)
  return next <= at ? next : startOfMonth(name, month)
}
