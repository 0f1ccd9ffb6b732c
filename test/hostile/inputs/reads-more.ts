import {
  create,
  createDevices,
  createLocation,
  createPriced,
  dayMs,
  epoch,
  everyDate,
  hourlyRecords,
  hourMs,
  iso,
  longRecord,
  scheduleOf,
  submit,
  submitAll,
  tariffOf,
} from '../fixtures.ts'
import { type HostileInput, sends } from '../input.ts'
import { sendUnread } from '../raw-socket.ts'
import type { Caller } from '../target.ts'

const subject = 'reads'
const bands = 1_440
const earlier = { 'api-version': '2024-08-24' }
const csv = { accept: 'text/csv' }
const gzip = { 'accept-encoding': 'gzip' }
const refusedAtOnce = 503

const spanOf = (days: number) => ({ start_time: iso(epoch), end_time: iso(epoch + days * dayMs) })

/** Give a location market prices of a minute each, in bodies of 10,000. */
const putMinutePrices = async ({ ask }: Caller, market: string, count: number): Promise<void> => {
  for (let from = 0; from < count; from += 10_000) {
    const prices = Array.from({ length: Math.min(10_000, count - from) }, (_, at) => ({
      start_time: iso(epoch + (from + at) * 60_000),
      end_time: iso(epoch + (from + at + 1) * 60_000),
      value: ((from + at) % 997) / 1_000,
    }))
    await ask('PUT', `/markets/${market}/prices`, prices)
  }
}

/** A location whose records are there, and the path of its hourly costs. */
const createMetered = async (hostile: Caller, count: number, more: object = {}): Promise<string> => {
  const location = await createLocation(hostile, more)
  await create(hostile, '/tariffs', tariffOf(location, scheduleOf(24)))
  await submitAll(hostile, hourlyRecords(location, count))
  return location
}

/** Reads whose answers are long, in each form that an answer can have. */
export const moreReads: readonly HostileInput[] = [
  {
    subject,
    name: 'a record of many pieces, shown',
    size: bands,
    unit: 'bands',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      await submit(hostile, '/meters/interval', [longRecord(location, 364)])
      return sends(() => hostile.send('GET', `/meters/records?location_id=${location}`))
    },
  },
  {
    subject,
    name: 'records of many pieces as CSV, gzipped',
    size: 720,
    unit: 'bands',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      const records = Array.from({ length: 10 }, (_, at) =>
        longRecord(location, 30, { record_reference_id: `csv ${at}` }),
      )
      await submit(hostile, '/meters/interval', records)
      return sends(() => hostile.send('GET', `/meters/records?location_id=${location}`, undefined, { ...csv, ...gzip }))
    },
  },
  {
    subject,
    name: 'a list of large tariffs',
    size: 20,
    unit: 'tariffs',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createLocation(hostile)
      for (let at = 0; at < size; at += 1) {
        const term = { contract_start_date: iso(epoch + at * dayMs), contract_end_date: iso(epoch + (at + 1) * dayMs) }
        await create(hostile, '/tariffs', tariffOf(location, scheduleOf(bands, { tiers: 4 }), term))
      }
      return sends(() => hostile.send('GET', `/tariffs?location_id=${location}&limit=100`))
    },
  },
  {
    subject,
    name: 'prices of 90 days, gzipped',
    size: 90,
    unit: 'days',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(bands))
      return sends(() => hostile.send('POST', `/prices/${location}`, spanOf(size), gzip))
    },
  },
  {
    subject,
    name: 'prices of 90 days in the earlier version, by GET',
    size: 90,
    unit: 'days',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(bands))
      const query = new URLSearchParams(spanOf(size))
      return sends(() => hostile.send('GET', `/tariffs/rates/${location}?${query}`, undefined, earlier))
    },
  },
  {
    subject,
    name: 'prices of 90 days at many tiers',
    size: 32,
    unit: 'tiers',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(240, { tiers: size }))
      return sends(() => hostile.send('POST', `/prices/${location}`, spanOf(90)))
    },
  },
  {
    subject,
    name: 'prices that nobody takes off the connection, eight at once',
    size: 90,
    unit: 'days',
    growsTo: null,
    statuses: [200, refusedAtOnce],
    open: async (target, size) => {
      const location = await createPriced(target.hostile, scheduleOf(bands))
      const body = JSON.stringify(spanOf(size))
      return () =>
        Promise.all(Array.from({ length: 8 }, () => sendUnread(target, `POST /prices/${location}`, body, 1_500)))
    },
  },
  {
    subject,
    name: 'audits at once',
    size: 8,
    unit: 'audits',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(bands))
      const body = JSON.stringify(spanOf(20))
      return sends(
        ...Array.from({ length: size }, () => () => hostile.send('POST', `/audits/prices/${location}`, body)),
      )
    },
  },
  {
    subject,
    name: 'minutes of a market, priced with surcharges',
    size: 40_000,
    unit: 'prices',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const market = await create(hostile, '/markets', { display_name: 'Minutes', currency_code: 'EUR' })
      await putMinutePrices(hostile, market, size)
      const location = await createLocation(hostile, { market_sources: { import: market } })
      const rate = [{ surcharge_fixed: 0.01, surcharge_percentage: 0.19 }]
      const schedule = [{ days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }] }]
      await create(hostile, '/tariffs', tariffOf(location, schedule, { market_rates: true }))
      const span = { start_time: iso(epoch), end_time: iso(epoch + size * 60_000) }
      return sends(
        () => hostile.send('POST', `/prices/${location}`, span),
        () => hostile.send('GET', `/markets/${market}/prices?${new URLSearchParams(span)}`),
      )
    },
  },
  {
    subject,
    name: 'prices behind a market that ends: a forecast',
    size: 10_000,
    unit: 'hours',
    statuses: [200, 422],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const market = await create(hostile, '/markets', { display_name: 'Hours', currency_code: 'EUR' })
      const hours = Array.from({ length: size }, (_, at) => ({
        start_time: iso(epoch + at * hourMs),
        end_time: iso(epoch + (at + 1) * hourMs),
        value: (((at * 7_919) % 24) + (at % 7)) / 100,
      }))
      await hostile.ask('PUT', `/markets/${market}/prices`, hours)
      const location = await createLocation(hostile, { market_sources: { import: market } })
      const schedule = [
        {
          days_and_hours: [
            { hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ surcharge_fixed: 0 }] }] },
          ],
        },
      ]
      await create(hostile, '/tariffs', tariffOf(location, schedule, { market_rates: true }))
      const end = epoch + size * hourMs
      const span = { start_time: iso(end - dayMs), end_time: iso(end + 4 * dayMs) }
      return sends(() => hostile.send('POST', `/prices/${location}`, span))
    },
  },
  {
    subject,
    name: 'hourly costs of a location as CSV',
    size: 160,
    unit: 'days',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const location = await createMetered(hostile, size * 24)
      return sends(() => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, spanOf(size), csv))
    },
  },
  {
    subject,
    name: 'daily costs of ten years of a customer',
    size: 30,
    unit: 'locations',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const customer = await create(hostile, '/customers', {})
      const locations: string[] = []
      for (let at = 0; at < size; at += 1) locations.push(await createLocation(hostile, { customer_id: customer }))
      for (const location of locations) await create(hostile, '/tariffs', tariffOf(location, scheduleOf(24)))
      await submitAll(
        hostile,
        locations.flatMap(location => hourlyRecords(location, 100)),
      )
      const span = { start_time: '2016-11-01T00:00:00Z', end_time: '2026-11-01T00:00:00Z' }
      return sends(() => hostile.send('POST', `/costs/interval/${customer}?aggregation=DAY`, span))
    },
  },
  {
    subject,
    name: 'hourly costs, again and again at once',
    size: 40,
    unit: 'reads',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createMetered(hostile, 2_400)
      const body = JSON.stringify(spanOf(100))
      return sends(
        ...Array.from(
          { length: size },
          () => () => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, body),
        ),
      )
    },
  },
  {
    subject,
    name: 'a tariff for each date, audited',
    size: 31,
    unit: 'dates',
    statuses: [200],
    open: async ({ hostile }, size) => {
      const schedule = [
        ...everyDate.slice(0, size).map(date => ({ dates: [date], ...scheduleOf(360)[0] })),
        { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.3 }] }] }] },
      ]
      const location = await createPriced(hostile, schedule)
      return sends(() => hostile.send('POST', `/audits/prices/${location}`, spanOf(60)))
    },
  },
  {
    subject,
    name: 'the reference page and the OpenAPI document',
    size: 10,
    unit: 'reads of each',
    growsTo: null,
    statuses: [200],
    open: async ({ hostile }, size) => {
      const paths = ['/docs', '/openapi/current.json', '/openapi/earlier.json']
      return sends(
        ...Array.from(
          { length: size * paths.length },
          (_, at) => () => hostile.send('GET', paths[at % paths.length] ?? '', undefined, gzip),
        ),
      )
    },
  },
  {
    subject,
    name: 'devices created at once',
    size: 200,
    unit: 'devices',
    growsTo: null,
    statuses: [200],
    isOnce: true,
    open: async (target, size) => async () => {
      await createDevices(target, size)
      return [200]
    },
  },
]
