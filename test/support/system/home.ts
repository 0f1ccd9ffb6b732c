import type { Client } from './client.ts'

type WithId = { readonly id: string }

/** A tariff's schedule with one price, in major units per kWh. */
export const priceSchedule = (fixed: number) => [
  {
    months: ['All'],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed }] }] }],
  },
]

export const makeOne = async (client: Client, path: string, body: object): Promise<string> =>
  ((await client.ask('POST', path, body)) as WithId).id

/** Make a location with prices: `import` for what is bought, `export` for what is sold; without them it has no tariff. */
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

/** A record of some kWh that was bought, `more` sets it apart. */
export const bought = (locationId: string, kwh: number, start: string, end: string, more: object = {}) => ({
  location_id: locationId,
  units: 'KWH',
  value: kwh,
  start_time: start,
  end_time: end,
  ...more,
})
