import type { Client } from '../system/client.ts'
import { makeHome, makeOne } from '../system/home.ts'
import { allHours } from './all-hours.ts'

/** Price of a tier in major units per kWh, and its limit in kWh per month. The last tier has no limit. */
export type TierRate = { readonly fixed: number; readonly to_kwh?: number }

/** 0.1 per kWh up to 10 kWh per month, 0.5 above. */
export const tenThenFive: readonly TierRate[] = [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.5 }]

/** Add an import tariff with tiers that apply at all hours. Return its id. */
export const addTiers = (
  client: Client,
  locationId: string,
  rate: readonly TierRate[] = tenThenFive,
  more: object = {},
): Promise<string> =>
  makeOne(client, '/tariffs', {
    location_id: locationId,
    direction: 'IMPORT',
    type: 'COMMODITY',
    ...more,
    schedule: allHours(rate),
  })

/** Create a location with a tiered import tariff. Return its id. */
export const makeTieredHome = async (client: Client, rate: readonly TierRate[] = tenThenFive): Promise<string> => {
  const home = await makeHome(client, {})
  await addTiers(client, home, rate)
  return home
}
