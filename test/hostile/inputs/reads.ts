import { allHours } from '../../support/tariffs/all-hours.ts'
import {
  create,
  createDevices,
  createLocation,
  createMarket,
  createMarketLocation,
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
import { type HostileInput, playCopies, playOf } from '../input.ts'
import { sendUnread } from '../raw-socket.ts'
import type { Caller } from '../target.ts'

const subject = 'reads'
const intervalOf = (days: number) => ({ start_time: iso(epoch), end_time: iso(epoch + days * dayMs) })
const bands = 1_440

/** Return the `open` of an input that reads prices or audits of a location with many bands. */
const openPriceReads =
  (path: string, copies = 1): HostileInput['open'] =>
  async ({ hostile }, size) => {
    const location = await createPriced(hostile, scheduleOf(bands))
    const body = JSON.stringify(intervalOf(size))
    return playCopies(copies, () => hostile.send('POST', `${path}/${location}`, body))
  }

const earlier = { 'api-version': '2024-08-24' }
const csv = { accept: 'text/csv' }
const gzip = { 'accept-encoding': 'gzip' }
const refusedAtOnce = 503

/** Store market prices of one minute each, in bodies of 10,000. */
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

/** Create a location with a tariff and `count` stored hourly records. */
const createMetered = async (hostile: Caller, count: number): Promise<string> => {
  const location = await createPriced(hostile, scheduleOf(24))
  await submitAll(hostile, hourlyRecords(location, count))
  return location
}

/** Reads of long intervals. */
export const reads: readonly HostileInput[] = [
  {
    subject,
    name: 'prices of 90 days, eight at once',
    size: 90,
    unit: 'days',
    statuses: [200, 503],
    isShort: true,
    open: openPriceReads('/prices', 8),
  },
  {
    subject,
    name: 'an audit of 60 days',
    size: 60,
    unit: 'days',
    statuses: [200],
    isShort: true,
    open: openPriceReads('/audits/prices'),
  },
  {
    subject,
    name: 'a session with many records, all listed',
    size: 5_000,
    unit: 'records',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      const session = `session ${performance.now()}`
      await submitAll(hostile, hourlyRecords(location, size, { session_reference_id: session }))
      return playOf(() => hostile.send('POST', `/costs/session/${encodeURIComponent(session)}?include_records=true`))
    },
  },
  {
    subject,
    name: 'hourly costs of a location',
    size: 160,
    unit: 'days',
    statuses: [200],
    isShort: true,
    open: async ({ hostile }, size) => {
      const location = await createMetered(hostile, size * 24)
      return playOf(() => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, intervalOf(size)))
    },
  },
  {
    subject,
    name: 'a record with many pieces',
    size: bands,
    unit: 'bands',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(size))
      await submit(hostile, '/meters/interval', [longRecord(location, 364)])
      return playOf(() => hostile.send('GET', `/meters/records?location_id=${location}`))
    },
  },
  {
    subject,
    name: 'records with many pieces as CSV, gzipped',
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
      return playOf(() =>
        hostile.send('GET', `/meters/records?location_id=${location}`, undefined, { ...csv, ...gzip }),
      )
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
      return playOf(() => hostile.send('GET', `/tariffs?location_id=${location}&limit=100`))
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
      return playOf(() => hostile.send('POST', `/prices/${location}`, intervalOf(size), gzip))
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
      const query = new URLSearchParams(intervalOf(size))
      return playOf(() => hostile.send('GET', `/tariffs/rates/${location}?${query}`, undefined, earlier))
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
      return playOf(() => hostile.send('POST', `/prices/${location}`, intervalOf(90)))
    },
  },
  {
    subject,
    name: 'prices that the client does not read, eight at once',
    size: 90,
    unit: 'days',
    growsTo: null,
    statuses: [200, refusedAtOnce],
    open: async (target, size) => {
      const location = await createPriced(target.hostile, scheduleOf(bands))
      const body = JSON.stringify(intervalOf(size))
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
      const body = JSON.stringify(intervalOf(20))
      return playCopies(size, () => hostile.send('POST', `/audits/prices/${location}`, body))
    },
  },
  {
    subject,
    name: 'market prices of a minute with surcharges',
    size: 40_000,
    unit: 'prices',
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const market = await createMarket(hostile)
      await putMinutePrices(hostile, market, size)
      const surcharges = { surcharge_fixed: 0.01, surcharge_percentage: 0.19 }
      const location = await createMarketLocation(hostile, market, surcharges)
      const interval = { start_time: iso(epoch), end_time: iso(epoch + size * 60_000) }
      return playOf(
        () => hostile.send('POST', `/prices/${location}`, interval),
        () => hostile.send('GET', `/markets/${market}/prices?${new URLSearchParams(interval)}`),
      )
    },
  },
  {
    subject,
    name: 'forecast prices after the end of a market',
    size: 10_000,
    unit: 'hours',
    statuses: [200, 422],
    endsWithinS: 60,
    open: async ({ hostile }, size) => {
      const market = await createMarket(hostile)
      const hours = Array.from({ length: size }, (_, at) => ({
        start_time: iso(epoch + at * hourMs),
        end_time: iso(epoch + (at + 1) * hourMs),
        value: (((at * 7_919) % 24) + (at % 7)) / 100,
      }))
      await hostile.ask('PUT', `/markets/${market}/prices`, hours)
      const location = await createMarketLocation(hostile, market, { surcharge_fixed: 0 })
      const end = epoch + size * hourMs
      const interval = { start_time: iso(end - dayMs), end_time: iso(end + 4 * dayMs) }
      return playOf(() => hostile.send('POST', `/prices/${location}`, interval))
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
      return playOf(() => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, intervalOf(size), csv))
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
      const interval = { start_time: '2016-11-01T00:00:00Z', end_time: '2026-11-01T00:00:00Z' }
      return playOf(() => hostile.send('POST', `/costs/interval/${customer}?aggregation=DAY`, interval))
    },
  },
  {
    subject,
    name: 'hourly costs, many times at once',
    size: 40,
    unit: 'reads',
    statuses: [200, refusedAtOnce],
    open: async ({ hostile }, size) => {
      const location = await createMetered(hostile, 2_400)
      const body = JSON.stringify(intervalOf(100))
      return playCopies(size, () => hostile.send('POST', `/costs/interval/${location}?aggregation=HOUR`, body))
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
        ...allHours([{ fixed: 0.3 }]),
      ]
      const location = await createPriced(hostile, schedule)
      return playOf(() => hostile.send('POST', `/audits/prices/${location}`, intervalOf(60)))
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
      const paths = ['/docs', '/docs/api', '/docs/search?q=tariff', '/openapi/current.json', '/openapi/earlier.json']
      return playCopies(size * paths.length, at => hostile.send('GET', paths[at % paths.length] ?? '', undefined, gzip))
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
