import { setTimeout as sleep } from 'node:timers/promises'
import { allHours } from '../support/tariffs/all-hours.ts'
import type { Caller, Target } from './target.ts'

type WithId = { readonly id: string }

export const dayMs = 86_400_000
export const hourMs = 3_600_000
/** Start of most records: a local midnight in Berlin. */
export const epoch = Date.UTC(2025, 0, 1) - hourMs

export const iso = (at: number): string => new Date(at).toISOString()

/** Create an object and return its id. */
export const create = async (
  caller: Caller,
  path: string,
  body: object,
  headers?: Readonly<Record<string, string>>,
): Promise<string> => (await caller.ask<WithId>('POST', path, body, headers)).id

/** Create a location in the time zone of Berlin with the currency EUR. */
export const createLocation = (caller: Caller, more: object = {}): Promise<string> =>
  create(caller, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR', ...more })

const clock = (second: number): string => {
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(Math.floor(second / 3_600) % 24)}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`
}

/** Return the tiers of a time band. Neighbouring bands have different prices, so that their pieces do not merge. */
const ratesOf = (band: number, tiers: number): readonly object[] =>
  Array.from({ length: tiers }, (_, tier) => ({
    fixed: Number((0.1 + (band % 97) / 1_000 + tier / 10_000).toFixed(4)),
    ...(tier + 1 < tiers ? { to_kwh: 100 * (tier + 1) } : {}),
  }))

/**
 * Cut a day into time bands of equal length. Each starts `shiftS` seconds later, so that the last band includes
 * midnight.
 */
export const hoursOf = (bands: number, { tiers = 1, shiftS = 0 } = {}): readonly object[] =>
  Array.from({ length: bands }, (_, band) => ({
    valid_from: clock(Math.floor((band * 86_400) / bands) + shiftS),
    valid_to: clock(Math.floor(((band + 1) * 86_400) / bands) + shiftS),
    rate: ratesOf(band, tiers),
  }))

type ScheduleOptions = { readonly tiers?: number; readonly shiftS?: number; readonly dates?: readonly number[] }

/** Return a schedule with one entry for all months and `bands` time bands. */
export const scheduleOf = (bands: number, { dates, ...options }: ScheduleOptions = {}): readonly object[] => [
  {
    months: ['All'],
    ...(dates === undefined ? {} : { dates }),
    days_and_hours: [{ days: ['All'], hours: hoursOf(bands, options) }],
  },
]

export const everyDate: readonly number[] = Array.from({ length: 31 }, (_, at) => at + 1)

/** Return the body of an IMPORT tariff of a location. */
export const tariffOf = (locationId: string, schedule: readonly object[], more: object = {}): object => ({
  location_id: locationId,
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule,
  ...more,
})

/** Create a location with a tariff. */
export const createPriced = async (caller: Caller, schedule: readonly object[]): Promise<string> => {
  const location = await createLocation(caller)
  await create(caller, '/tariffs', tariffOf(location, schedule))
  return location
}

/** Create a market source with prices in EUR. */
export const createMarket = (caller: Caller): Promise<string> =>
  create(caller, '/markets', { display_name: 'Own', currency_code: 'EUR' })

/** Create a location with a tariff of market prices. */
export const createMarketLocation = async (caller: Caller, market: string, surcharges: object): Promise<string> => {
  const location = await createLocation(caller, { market_sources: { import: market } })
  await create(caller, '/tariffs', tariffOf(location, allHours([surcharges]), { market_rates: true }))
  return location
}

/** Return a record of a location over some days from `epoch` on. */
export const longRecord = (locationId: string, days: number, more: object = {}): object => ({
  location_id: locationId,
  units: 'KWH',
  value: 100,
  start_time: iso(epoch),
  end_time: iso(epoch + days * dayMs),
  ...more,
})

type Receipt = { readonly id: string; readonly records_accepted: number }
type Progress = { readonly status: string }

/** Submit records and wait until each is processed or failed. Returns the status of the submission. */
export const submit = async (
  { send, ask }: Caller,
  path: string,
  body: unknown,
  headers?: Readonly<Record<string, string>>,
) => {
  const reply = await send('PUT', path, body, headers)
  if (reply.status !== 200) return reply.status
  const { id, records_accepted: accepted } = JSON.parse(reply.text) as Receipt
  for (; accepted > 0; await sleep(25)) {
    const { status } = await ask<Progress>('GET', `/meters/batch?batch_id=${id}`)
    if (status !== 'PENDING') break
  }
  return reply.status
}

/** Return `count` hourly records of a location from `epoch` on. */
export const hourlyRecords = (locationId: string, count: number, more: object = {}): readonly object[] =>
  Array.from({ length: count }, (_, at) => ({
    location_id: locationId,
    units: 'KWH',
    value: 1,
    start_time: iso(epoch + at * hourMs),
    end_time: iso(epoch + (at + 1) * hourMs),
    ...more,
  }))

/** Submit records in bodies of 5,000, and wait until all are stored. */
export const submitAll = async (caller: Caller, records: readonly object[]): Promise<void> => {
  for (let at = 0; at < records.length; at += 5_000)
    await submit(caller, '/meters/interval', records.slice(at, at + 5_000))
}

type Costs = { readonly data: readonly { readonly tariff: { readonly cost: { readonly value: number } } }[] }

/** Wait until the cost of a location over some days from `epoch` on has a value. */
export const waitForCost = async (
  caller: Caller,
  locationId: string,
  days: number,
  expected: number,
): Promise<void> => {
  for (;;) {
    const interval = { start_time: iso(epoch), end_time: iso(epoch + days * dayMs) }
    const { data } = await caller.ask<Costs>('POST', `/costs/interval/${locationId}`, interval)
    if (Math.abs((data[0]?.tariff.cost.value ?? 0) - expected) < 0.01) return
    await sleep(50)
  }
}

/** Create devices of the hostile account. */
export const createDevices = async ({ hostile }: Target, count: number): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1)
    ids.push(await create(hostile, '/devices', { reference_id: `device ${performance.now()}` }))
  return ids
}
