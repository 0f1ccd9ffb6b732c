import { setTimeout as sleep } from 'node:timers/promises'
import {
  create,
  createLocation,
  createMarket,
  createMarketLocation,
  createPriced,
  dayMs,
  epoch,
  hourlyRecords,
  hourMs,
  iso,
  longRecord,
  scheduleOf,
  submit,
  submitAll,
  tariffOf,
  waitForCost,
} from '../fixtures.ts'
import { type HostileInput, playOf } from '../input.ts'

const subject = 'records'
const bands = 1_440

const minuteRecord = (locationId: string, minute: number, value: number): object => ({
  location_id: locationId,
  units: 'WH',
  value,
  start_time: iso(epoch + minute * 60_000),
  end_time: iso(epoch + (minute + 1) * 60_000),
})

const longRecords = (locationId: string, count: number): readonly object[] =>
  Array.from({ length: count }, (_, at) => longRecord(locationId, 364, { record_reference_id: `long ${at}` }))

const expensiveChange = { subject, statuses: [200], isOnce: true, endsWithinS: 60 }

/** Return the `open` of an input that submits a body for a new location and waits until it is processed. */
const openSubmission =
  (
    schedule: (size: number) => readonly object[],
    body: (locationId: string, size: number) => unknown,
    path = '/meters/interval',
  ): HostileInput['open'] =>
  async ({ hostile }, size) => {
    const location = await createPriced(hostile, schedule(size))
    const text = JSON.stringify(body(location, size))
    return async () => [await submit(hostile, path, text)]
  }

/** Records, readings and changes that are valid but need much work. */
export const records: readonly HostileInput[] = [
  {
    ...expensiveChange,
    name: 'five records of 364 days at many bands',
    size: bands,
    unit: 'bands',
    // Not in the test suite: it uses both CPUs for seconds, so that the stores of the probes wait for a CPU.
    open: openSubmission(scheduleOf, location => longRecords(location, 5)),
  },
  {
    subject,
    name: 'instant cost of a year at many bands',
    size: bands,
    unit: 'bands',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      const body = longRecord(location, 364)
      return playOf(() => hostile.send('POST', '/costs/instant?non_persistent=true', body))
    },
  },
  {
    ...expensiveChange,
    name: 'two register readings a year apart at many bands',
    size: bands,
    unit: 'bands',
    open: openSubmission(
      scheduleOf,
      location => {
        const data = [0, 364].map(days => ({ time: (epoch + days * dayMs) / 1_000, value: 1_000 + days }))
        return { location_id: location, units: 'KWH', data }
      },
      '/meters/cumulative/epoch',
    ),
  },
  {
    ...expensiveChange,
    name: 'hourly records at a band for each minute',
    size: 5_000,
    unit: 'records',
    open: openSubmission(() => scheduleOf(bands), hourlyRecords),
  },
  {
    ...expensiveChange,
    name: 'records of the same year at many tiers',
    size: 300,
    unit: 'records',
    open: openSubmission(() => scheduleOf(24, { tiers: 32 }), longRecords),
  },
  {
    ...expensiveChange,
    name: 'a late record at the start of a month with tiers',
    size: 10_000,
    unit: 'records after it',
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24, { tiers: 32 }))
      const minutes = Array.from({ length: size }, (_, at) => minuteRecord(location, at + 10, 100))
      await submitAll(hostile, minutes)
      const late = [longRecord(location, 0.001, { value: 150 })]
      return async () => [await submit(hostile, '/meters/interval', late)]
    },
  },
  {
    ...expensiveChange,
    name: 'corrections of records in random order',
    size: 10_000,
    unit: 'records',
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      const minutes = Array.from({ length: size }, (_, at) => (at * 7_919) % size)
      const recordsWith = (value: number) => minutes.map(minute => minuteRecord(location, minute, value))
      await submitAll(hostile, recordsWith(100))
      return async () => [await submit(hostile, '/meters/interval', recordsWith(150))]
    },
  },
  {
    ...expensiveChange,
    name: 'an estimate of a year that actuals cover in part',
    size: 5_000,
    unit: 'actuals',
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      const actuals = hourlyRecords(location, size).map((record, at) => ({
        ...record,
        end_time: iso(epoch + at * hourMs + 1_800_000),
      }))
      await submitAll(hostile, actuals)
      const estimate = [longRecord(location, 364, { confidence: 0.5 })]
      return async () => [await submit(hostile, '/meters/interval', estimate)]
    },
  },
  {
    ...expensiveChange,
    name: 'register readings from the last to the first',
    size: 10_000,
    unit: 'readings',
    open: openSubmission(
      () => scheduleOf(bands),
      (location, size) => {
        const times = Array.from({ length: size }, (_, at) => size - at)
        const data = times.map(at => ({ time: epoch / 1_000 + at * 600, value: at }))
        return { location_id: location, units: 'KWH', data }
      },
      '/meters/cumulative/epoch',
    ),
  },
  {
    ...expensiveChange,
    name: 'a voided tariff with many records',
    size: 5_000,
    unit: 'records',
    statuses: [202],
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      const tariff = await create(hostile, '/tariffs', tariffOf(location, scheduleOf(1)))
      await submitAll(hostile, hourlyRecords(location, size))
      return async () => {
        const { status } = await hostile.send('DELETE', `/tariffs/${tariff}?void=true`)
        await waitForCost(hostile, location, 365, 0)
        return [status]
      }
    },
  },
  {
    ...expensiveChange,
    name: 'changed market prices of many records',
    size: 8_000,
    unit: 'prices',
    endsWithinS: 90,
    open: async ({ hostile }, size) => {
      const market = await createMarket(hostile)
      const location = await createMarketLocation(hostile, market, { surcharge_fixed: 0 })
      const prices = (value: number) =>
        JSON.stringify(
          Array.from({ length: size }, (_, at) => ({
            start_time: iso(epoch + at * hourMs),
            end_time: iso(epoch + (at + 1) * hourMs),
            value,
          })),
        )
      await hostile.ask('PUT', `/markets/${market}/prices`, prices(0.1))
      await submitAll(hostile, hourlyRecords(location, size))
      const changed = prices(0.2)
      return async () => {
        const { status } = await hostile.send('PUT', `/markets/${market}/prices`, changed)
        await waitForCost(hostile, location, 365, size * 0.2)
        return [status]
      }
    },
  },
  {
    ...expensiveChange,
    name: 'changed market prices of many locations',
    size: 300,
    unit: 'locations',
    endsWithinS: 90,
    open: async ({ hostile }, size) => {
      const market = await createMarket(hostile)
      const price = (value: number) => [{ start_time: iso(epoch), end_time: iso(epoch + 30 * dayMs), value }]
      await hostile.ask('PUT', `/markets/${market}/prices`, price(0.1))

      const locations: string[] = []
      for (let at = 0; at < size; at += 1) {
        locations.push(await createMarketLocation(hostile, market, { surcharge_fixed: 0 }))
      }
      await submitAll(
        hostile,
        locations.map(location => longRecord(location, 20)),
      )
      return async () => {
        const { status } = await hostile.send('PUT', `/markets/${market}/prices`, price(0.2))
        for (const location of locations) await waitForCost(hostile, location, 30, 20)
        return [status]
      }
    },
  },
  {
    subject,
    name: 'a customer that is deleted with its locations',
    size: 200,
    unit: 'locations',
    statuses: [202],
    isOnce: true,
    open: async ({ hostile }, size) => {
      const customer = await create(hostile, '/customers', {})
      for (let at = 0; at < size; at += 1) {
        const location = await createLocation(hostile, { customer_id: customer })
        await create(hostile, '/tariffs', tariffOf(location, scheduleOf(24)))
      }
      return async () => {
        const { status } = await hostile.send('DELETE', `/customers/${customer}`)
        await sleep(500)
        return [status]
      }
    },
  },
]
