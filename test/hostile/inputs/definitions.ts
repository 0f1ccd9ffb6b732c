import { setTimeout as sleep } from 'node:timers/promises'
import { create, createLocation, createPriced, epoch, hourMs, iso, scheduleOf } from '../fixtures.ts'
import { type HostileInput, playCopies, playOf } from '../input.ts'
import type { Caller } from '../target.ts'

const subject = 'charges, calendars and plans'
const accepted = [200, 201, 202]

const listOf = <T>(count: number, at: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => at(index))

const dateOf = (day: number): string => iso(epoch + hourMs + day * 24 * hourMs).slice(0, 10)
const fee = (index: number) => ({ kind: 'FIXED', name: `fee ${index}`, price: 1, per: 'DAY' })

const planOf = (hostile: Caller, body: object): Promise<string> =>
  create(hostile, '/plans', { name: 'plan', currency_code: 'EUR', tariffs: [], charges: [], ...body })

const flatTariff = (direction: string, type: string) => ({ direction, type, schedule: scheduleOf(1) })

/** Wait until a plan has changed all its locations. */
const waitForPlan = async (hostile: Caller, plan: string): Promise<void> => {
  for (;;) {
    const { sites, applied } = await hostile.ask<{ sites: number; applied: number }>('GET', `/plans/${plan}`)
    if (sites === applied) return
    await sleep(100)
  }
}

/** Charges, calendars and plans at their limits, and assignments of many days and locations. */
export const definitions: readonly HostileInput[] = [
  {
    subject,
    name: 'a charge with windows of 50 hours',
    size: 50,
    unit: 'windows',
    statuses: [201, 400],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const hours = listOf(50, index => ({
        valid_from: `10:${String(index).padStart(2, '0')}:00`,
        valid_to: '09:00:00',
      }))
      const windows = listOf(size, () => ({ hours, dates: listOf(31, index => index + 1), weight: 0.5 }))
      const body = { location_id: location, kind: 'DEMAND', name: 'peak', price: 1, windows }
      return playOf(() => hostile.send('POST', '/charges', body))
    },
  },
  {
    subject,
    name: 'a charge with a schedule of many bands',
    size: 10_000,
    unit: 'bands',
    statuses: [201, 400],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const body = JSON.stringify({ location_id: location, kind: 'USAGE', name: 'usage', schedule: scheduleOf(size) })
      return playOf(() => hostile.send('POST', '/charges', body))
    },
  },
  {
    subject,
    name: 'a calendar with more dates than allowed',
    size: 20_000,
    unit: 'dates',
    statuses: [400],
    open: async ({ hostile }, size) => {
      const body = JSON.stringify({
        name: 'dates',
        add: listOf(size, index => ({ date: dateOf(index % 9_000), name: 'n' })),
      })
      return playOf(() => hostile.send('POST', '/calendars', body))
    },
  },
  {
    subject,
    name: 'calendars at their limits, at once',
    size: 2_000,
    unit: 'dates',
    statuses: [201],
    isShort: true,
    open: async ({ hostile }, size) => {
      const dates = listOf(size, dateOf)
      const day_types = listOf(20, type => ({
        name: `t${type}`,
        dates: dates.filter((_, index) => index % 20 === type),
      }))
      const add = dates.map(date => ({ date, name: 'n' }))
      const body = JSON.stringify({ name: 'c', add, day_types })
      return playCopies(4, () => hostile.send('POST', '/calendars', body))
    },
  },
  {
    subject,
    name: 'assignments of one location to a plan with 100 versions',
    size: 1_000,
    unit: 'assignments',
    statuses: [200],
    isShort: true,
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const tariffs = ['IMPORT', 'EXPORT'].map(direction => flatTariff(direction, 'COMMODITY'))
      const plan = await planOf(hostile, { tariffs })
      for (let version = 1; version < 100; version += 1)
        await hostile.ask('POST', `/plans/${plan}/versions`, { from: dateOf(version * 2), tariffs, charges: [] })
      const body = listOf(size, day => ({ location_id: location, start_date: dateOf(day), end_date: dateOf(day + 1) }))
      return playOf(() => hostile.send('POST', `/plans/${plan}/assignments`, body))
    },
  },
  {
    subject,
    name: 'assignments that are refused, to a plan with 200 charges',
    size: 1_000,
    unit: 'assignments',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(1))
      const plan = await planOf(hostile, { tariffs: [flatTariff('IMPORT', 'COMMODITY')], charges: listOf(200, fee) })
      const body = listOf(size, day => ({ location_id: location, start_date: dateOf(day), end_date: dateOf(day + 1) }))
      return playOf(() => hostile.send('POST', `/plans/${plan}/assignments`, body))
    },
  },
  {
    subject,
    name: 'assignments of many locations to a plan with 200 charges',
    size: 300,
    unit: 'locations',
    statuses: accepted,
    endsWithinS: 120,
    isOnce: true,
    open: async ({ hostile }, size) => {
      const ids: string[] = []
      for (let at = 0; at < size; at += 1) ids.push(await createLocation(hostile))
      const plan = await planOf(hostile, { charges: listOf(200, fee) })
      const body = ids.map(location_id => ({ location_id, start_date: dateOf(0) }))
      return async () => {
        const { status } = await hostile.send('POST', `/plans/${plan}/assignments`, body)
        await waitForPlan(hostile, plan)
        return [status]
      }
    },
  },
  {
    subject,
    name: 'a version of a plan with large schedules',
    size: 200,
    unit: 'charges',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const plan = await planOf(hostile, {})
      const charges = listOf(size, index => ({
        kind: 'USAGE',
        name: `usage ${index}`,
        schedule: scheduleOf(48, { shiftS: index }),
      }))
      const body = JSON.stringify({ from: '2025-01-01', charges })
      return playOf(() => hostile.send('POST', `/plans/${plan}/versions?dry_run=true`, body))
    },
  },
]
