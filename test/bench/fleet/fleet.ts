import type { Client } from '../../support/system/client.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { allHours } from '../../support/tariffs/all-hours.ts'
import { endMark, startMark } from '../load.ts'

export type Fleet = { readonly locations: readonly string[]; readonly devices: readonly string[] }

const concurrency = 16

/** Kind of tariff that all locations of a fleet have. `market` is the id of a market source. */
export type Pricing = 'time of use' | 'tiers' | { readonly market: string }

const dayAndNight = (offset: number) => [
  {
    months: ['All'],
    days_and_hours: [
      {
        days: ['Weekdays'],
        hours: [
          { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: (320 + offset) / 1000 }] },
          { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: (210 + offset) / 1000 }] },
        ],
      },
      {
        days: ['Weekend'],
        hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: (190 + offset) / 1000 }] }],
      },
    ],
  },
]

const tariffOf = (pricing: Pricing, index: number): object => {
  if (pricing === 'time of use') return { schedule: dayAndNight(index % 16) }
  if (pricing !== 'tiers') return { market_rates: true, schedule: allHours([{ surcharge_fixed: 0.1 }]) }
  const price = (thousandths: number): number => (thousandths + (index % 16)) / 1000
  const bounds = [100, 250, 500]
  return {
    schedule: allHours([
      ...bounds.map((to_kwh, tier) => ({ fixed: price(200 + tier * 50), to_kwh })),
      { fixed: price(400) },
    ]),
  }
}

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${(index + 1).toString(16).padStart(24, '0')}`)

/** Return the ids of a fleet for pipelines that do not check ids. Each location has two devices. */
export const numberedFleet = (locationCount: number): Fleet => ({
  locations: idsOf('loc_', locationCount),
  devices: idsOf('dev_', locationCount * 2),
})

/** Create locations with one tariff each, and devices. */
export const createFleet = async (
  client: Client,
  locationCount: number,
  deviceCount: number,
  pricing: Pricing = 'time of use',
): Promise<Fleet> => {
  const sources = typeof pricing === 'string' ? {} : { market_sources: { import: pricing.market } }
  const create = async (path: string, body: object): Promise<string> => {
    const { id } = (await client.ask('POST', path, body)) as { readonly id: string }
    return id
  }
  const locations = await inParallel(new Array(locationCount).keys(), concurrency, async index => {
    const id = await create('/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR', ...sources })
    const tariff = { location_id: id, direction: 'IMPORT', type: 'COMMODITY', ...tariffOf(pricing, index) }
    await create('/tariffs', tariff)
    return id
  })
  const devices = await inParallel(new Array(deviceCount).keys(), concurrency, index =>
    create('/devices', { reference_id: `device-${index}` }),
  )
  return { locations, devices }
}

/** Return at most `max` bodies of one slot, with `recordsPerBody` records each and one record for each device. */
export const bodiesOf = (
  { locations, devices }: Fleet,
  recordsPerBody: number,
  max = Number.POSITIVE_INFINITY,
): readonly string[] => {
  if (devices.length < recordsPerBody)
    throw new Error(`A body has ${recordsPerBody} devices, and the fleet has ${devices.length}. Raise --locations.`)
  const records = devices.slice(0, recordsPerBody * max).map((device, index) => ({
    location_id: locations[index % locations.length],
    device_id: device,
    energy_flow_direction: 'INBOUND',
    units: 'WH',
    value: 250 + ((index * 7919) % 100_000) / 1000,
    start_time: startMark,
    end_time: endMark,
  }))
  return Array.from({ length: Math.floor(records.length / recordsPerBody) }, (_, index) =>
    JSON.stringify(records.slice(index * recordsPerBody, (index + 1) * recordsPerBody)),
  )
}
