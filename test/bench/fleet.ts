import type { Client } from '../support/system/client.ts'
import { endMark, startMark } from './load.ts'

export type Fleet = { readonly locations: readonly string[]; readonly devices: readonly string[] }

/** Kind of tariff that all locations of a fleet have. `market` is the id of a market source. */
export type Pricing = 'time of use' | 'tiers' | { readonly market: string }

/** Return a schedule with the same tiers of prices at all times. */
export const allDay = (rate: readonly object[]) => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }] }],
  },
]

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

/** Run some work for each item, with `width` items at a time. */
export const each = async <T>(
  items: readonly T[],
  width: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> => {
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index)
    }),
  )
}

const tariffOf = (pricing: Pricing, index: number): object => {
  if (pricing === 'time of use') return { schedule: dayAndNight(index % 16) }
  if (pricing !== 'tiers') return { market_rates: true, schedule: allDay([{ surcharge_fixed: 0.1 }]) }
  const price = (thousandths: number): number => (thousandths + (index % 16)) / 1000
  const bounds = [100, 250, 500]
  return {
    schedule: allDay([
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
  const locations: string[] = new Array(locationCount).fill('')
  const devices: string[] = new Array(deviceCount).fill('')
  await each(locations, 16, async (_, index) => {
    const { id } = (await client.ask('POST', '/locations', {
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
      ...sources,
    })) as {
      id: string
    }
    locations[index] = id
    await client.ask('POST', '/tariffs', {
      location_id: id,
      direction: 'IMPORT',
      type: 'COMMODITY',
      ...tariffOf(pricing, index),
    })
  })
  await each(devices, 16, async (_, index) => {
    const { id } = (await client.ask('POST', '/devices', { reference_id: `device-${index}` })) as { id: string }
    devices[index] = id
  })
  return { locations, devices }
}

/** Return the bodies of one slot, with `recordsPerBody` records each and one record for each device. */
export const bodiesOf = ({ locations, devices }: Fleet, recordsPerBody: number): readonly string[] => {
  const records = devices.map((device, index) => ({
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
