import type { Client } from './client.ts'

type WithId = { readonly id: string }

/** Create a tariff schedule with one price, in major units per kWh. */
export const priceSchedule = (fixed: number) => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed }] }] }],
  },
]

export const makeOne = async (client: Client, path: string, body: object): Promise<string> =>
  ((await client.ask('POST', path, body)) as WithId).id

/** Create a location with a tariff for each price, and return its id. `import` prices bought energy, `export` sold energy. */
export const makeHome = async (
  client: Client,
  prices: { readonly import?: number; readonly export?: number },
  more: object = {},
): Promise<string> => {
  const id = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR', ...more })
  for (const [direction, price] of [
    ['IMPORT', prices.import],
    ['EXPORT', prices.export],
  ] as const) {
    if (price === undefined) continue
    await makeOne(client, '/tariffs', { location_id: id, direction, type: 'COMMODITY', schedule: priceSchedule(price) })
  }
  return id
}

/** Create a record of bought energy. `more` adds or replaces members. */
export const bought = (locationId: string, kwh: number, start: string, end: string, more: object = {}) => ({
  location_id: locationId,
  units: 'KWH',
  value: kwh,
  start_time: start,
  end_time: end,
  ...more,
})
