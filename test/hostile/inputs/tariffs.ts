import {
  costBecomes,
  create,
  createLocation,
  createPriced,
  everyDate,
  hourlyRecords,
  hoursOf,
  scheduleOf,
  submitAll,
  tariffOf,
} from '../fixtures.ts'
import { type HostileInput, sends } from '../input.ts'

const subject = 'tariffs'

const weekDays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const halfYears = [
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun'],
  ['Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
]

/** Entries of every rank, each of which covers the whole day in bands that wrap midnight. */
const ranked = (bands: number): readonly object[] => {
  const hours = hoursOf(bands, { shiftS: 30 })
  const blocks = [
    { days: weekDays, hours },
    { days: ['Weekdays'], hours },
    { days: ['All'], hours },
  ]
  const dates = everyDate
  return [
    ...halfYears.flatMap(months => [
      { months, dates, days_and_hours: blocks },
      { months, days_and_hours: blocks },
    ]),
    { dates, days_and_hours: blocks },
    { days_and_hours: blocks },
  ]
}

/** A tariff that is created as often as it is played, each time at a location of its own; refused ones change nothing. */
const createsTariff = (schedule: (size: number) => readonly object[]): HostileInput['open'] => {
  return async ({ hostile }, size) => {
    const location = await createLocation(hostile)
    const body = JSON.stringify(tariffOf(location, schedule(size)))
    return sends(() => hostile.send('POST', '/tariffs', body))
  }
}

const repriced = 5_000

/** As many of 1,440 bands as fit into 1 MiB. */
const maxTiers = 22

/** Tariffs that take long to validate, and changes that price many records again. */
export const tariffs: readonly HostileInput[] = [
  {
    subject,
    name: 'bands on every date',
    size: 1_440,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    isOnce: true,
    open: createsTariff(size => scheduleOf(size, { dates: everyDate })),
  },
  {
    subject,
    name: 'bands of every rank that wrap midnight',
    size: 120,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    isOnce: true,
    open: createsTariff(ranked),
  },
  {
    subject,
    name: 'tiers that fill a body',
    size: maxTiers,
    unit: 'tiers of 1,440 bands',
    statuses: [200],
    isShort: true,
    isOnce: true,
    open: createsTariff(size => scheduleOf(1_440, { tiers: size })),
  },
  {
    subject,
    name: 'tiers that fill a body, in place of others',
    size: maxTiers,
    unit: 'tiers of 1,440 bands',
    statuses: [200],
    isOnce: true,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const schedule = scheduleOf(1_440, { tiers: size })
      const since = { contract_start_date: '2025-01-01T00:00:00Z' }
      const tariff = await create(hostile, '/tariffs', tariffOf(location, schedule, since))
      const patch = JSON.stringify({ schedule, effective_from: '2024-01-01T00:00:00Z' })
      return sends(() => hostile.send('PATCH', `/tariffs/${tariff}`, patch))
    },
  },
  {
    subject,
    name: 'bands without prices',
    size: 19_000,
    unit: 'bands',
    statuses: [400],
    isShort: true,
    open: createsTariff(size => [
      { days_and_hours: [{ hours: Array.from({ length: size }, () => ({ valid_from: 1, rate: [] })) }] },
    ]),
  },
  {
    subject,
    name: 'a second tariff prices records again',
    size: repriced,
    unit: 'records',
    statuses: [200],
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      await submitAll(hostile, hourlyRecords(location, size))
      const surcharge = tariffOf(location, scheduleOf(1), { type: 'NON_COMMODITY' })
      return async () => {
        const { status } = await hostile.send('POST', '/tariffs', surcharge)
        await costBecomes(hostile, location, 365, size * 0.2)
        return [status]
      }
    },
  },
  {
    subject,
    name: 'another zone prices records again',
    size: repriced,
    unit: 'records',
    statuses: [200],
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      await create(hostile, '/tariffs', tariffOf(location, scheduleOf(24)))
      // An hour of each day is not priced by any record, so that every zone gives another sum.
      const records = hourlyRecords(location, Math.ceil((size * 24) / 12)).filter((_, at) => at % 24 < 12)
      await submitAll(hostile, records.slice(0, size))
      const total = (shift: number): number => {
        let sum = 0
        for (let at = 0; at < size; at += 1) sum += 0.1 + (((at % 12) + shift) % 24) / 1_000
        return sum
      }
      return async () => {
        const { status } = await hostile.send('PATCH', `/locations/${location}`, { timezone: 'Etc/GMT-7' })
        await costBecomes(hostile, location, 450, total(6))
        return [status]
      }
    },
  },
]
