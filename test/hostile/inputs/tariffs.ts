import {
  create,
  createLocation,
  createPriced,
  everyDate,
  hourlyRecords,
  hoursOf,
  scheduleOf,
  submitAll,
  tariffOf,
  waitForCost,
} from '../fixtures.ts'
import { type HostileInput, playOf } from '../input.ts'

const subject = 'tariffs'

const weekDays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const halfYears = [
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun'],
  ['Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
]

/** Return entries of every rank. Each covers the whole day, with a band that includes midnight. */
const allRanks = (bands: number): readonly object[] => {
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

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * Return entries that have each date of the year once, with a block for each day of the week. An entry has a date of one
 * month for 372 entries, and of several months for fewer.
 */
const everyDay = (entries: number): readonly object[] => {
  const blocks = weekDays.map(day => ({ days: [day], hours: hoursOf(3) }))
  const monthCount = 372 / entries
  return Array.from({ length: entries }, (_, index) => {
    const from = Math.floor(index / 31) * monthCount
    return { months: months.slice(from, from + monthCount), dates: [(index % 31) + 1], days_and_hours: blocks }
  })
}

/** Return the `open` of an input that creates a tariff at a new location. */
const openTariffCreation = (schedule: (size: number) => readonly object[]): HostileInput['open'] => {
  return async ({ hostile }, size) => {
    const location = await createLocation(hostile)
    const body = JSON.stringify(tariffOf(location, schedule(size)))
    return playOf(() => hostile.send('POST', '/tariffs', body))
  }
}

const repricedRecords = 5_000

/** Maximum number of tiers of 1,440 bands in a body of 1 MiB. */
const maxTiers = 22

const creation = { subject, statuses: [200], isShort: true, isOnce: true }

/** Tariffs whose validation is slow, and changes that reprice many records. */
export const tariffs: readonly HostileInput[] = [
  {
    ...creation,
    name: 'bands on every date',
    size: 1_440,
    unit: 'bands',
    open: openTariffCreation(size => scheduleOf(size, { dates: everyDate })),
  },
  {
    ...creation,
    name: 'bands of every rank that include midnight',
    size: 120,
    unit: 'bands',
    open: openTariffCreation(allRanks),
  },
  {
    ...creation,
    name: 'blocks for each day of the week of every date',
    size: 372,
    unit: 'entries',
    open: openTariffCreation(everyDay),
  },
  {
    ...creation,
    name: 'tiers that fill a body',
    size: maxTiers,
    unit: 'tiers of 1,440 bands',
    open: openTariffCreation(size => scheduleOf(1_440, { tiers: size })),
  },
  {
    subject,
    name: 'tiers that fill a body, replacing others',
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
      return playOf(() => hostile.send('PATCH', `/tariffs/${tariff}`, patch))
    },
  },
  {
    subject,
    name: 'bands without prices',
    size: 19_000,
    unit: 'bands',
    statuses: [400],
    isShort: true,
    open: openTariffCreation(size => [
      { days_and_hours: [{ hours: Array.from({ length: size }, () => ({ valid_from: 1, rate: [] })) }] },
    ]),
  },
  {
    subject,
    name: 'a second tariff that reprices records',
    size: repricedRecords,
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
        await waitForCost(hostile, location, 365, size * 0.2)
        return [status]
      }
    },
  },
  {
    subject,
    name: 'another time zone that reprices records',
    size: repricedRecords,
    unit: 'records',
    statuses: [200],
    isOnce: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      await create(hostile, '/tariffs', tariffOf(location, scheduleOf(24)))
      // Records cover only twelve hours of each day, so that every time zone has a different sum.
      const records = hourlyRecords(location, Math.ceil((size * 24) / 12)).filter((_, at) => at % 24 < 12)
      await submitAll(hostile, records.slice(0, size))
      const total = (shift: number): number => {
        let sum = 0
        for (let at = 0; at < size; at += 1) sum += 0.1 + (((at % 12) + shift) % 24) / 1_000
        return sum
      }
      return async () => {
        const { status } = await hostile.send('PATCH', `/locations/${location}`, { timezone: 'Etc/GMT-7' })
        await waitForCost(hostile, location, 450, total(6))
        return [status]
      }
    },
  },
]
