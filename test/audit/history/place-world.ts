import type { MarketSeries, PricingInput, Tariff } from '../../../services/domain/tariff/tariff.ts'
import type { Client } from '../../support/client.ts'
import { exactBody, exactNumber } from '../../support/exact-json.ts'
import { zoneOf } from '../../support/oracle/zone.ts'
import { tariffBody } from '../../support/scenario-over-http.ts'
import type { PlannedLocation, PlannedMarket, PlannedWorld } from './plan-world.ts'

/** A market source with the prices that it has in the end, and those of them that it does not have yet. */
export type PlacedMarket = { readonly marketId: string } & Pick<PlannedMarket, 'series' | 'later'>

/** A location as it stands in the service. Tariffs are as they are by now: changes that are known to be done are written here. */
export type PlacedLocation = {
  readonly locationId: string
  readonly deviceIds: readonly string[]
  readonly planned: PlannedLocation
  readonly importMarket: PlacedMarket | null
  readonly exportMarket: PlacedMarket | null
  tariffs: readonly Tariff[]
}

export type World = { readonly markets: readonly PlacedMarket[]; readonly locations: readonly PlacedLocation[] }

const mostPrices = 10_000

/** Prices as bodies of submissions. */
export const pricesOf = ({ starts, ends, prices }: Pick<MarketSeries, 'starts' | 'ends' | 'prices'>): readonly string[] => {
  const all = starts.map((start, index) => ({
    start_time: new Date(start).toISOString(),
    end_time: new Date(ends[index] ?? start).toISOString(),
    value: exactNumber(prices[index] ?? 0n, 9),
  }))
  const count = Math.ceil(all.length / mostPrices)
  return Array.from({ length: count }, (_, part) => exactBody(all.slice(part * mostPrices, (part + 1) * mostPrices)))
}

const made = async (client: Client, path: string, body: object | string): Promise<string> =>
  ((await client.ask('POST', path, body)) as { id: string }).id

const placeMarket = async (client: Client, { series, atFirst, later }: PlannedMarket): Promise<PlacedMarket> => {
  const marketId = await made(client, '/markets', { display_name: series.sourceId, currency_code: 'EUR' })
  for (const body of pricesOf(atFirst)) await client.ask('PUT', `/markets/${marketId}/prices`, body)
  return { marketId, series, later }
}

const placeLocation = async (client: Client, planned: PlannedLocation, markets: readonly PlacedMarket[]): Promise<PlacedLocation> => {
  const marketOf = (index: number | null) => (index === null ? null : (markets[index] ?? null))
  const [importMarket, exportMarket] = [marketOf(planned.importMarket), marketOf(planned.exportMarket)]
  const sources = {
    import: importMarket?.marketId ?? null,
    export: exportMarket === importMarket ? null : (exportMarket?.marketId ?? null),
  }
  const locationId = await made(client, '/locations', { timezone: planned.zone, currency_code: 'EUR', market_sources: sources })
  const deviceIds: string[] = []
  for (let index = 0; index < planned.devices; index += 1) {
    deviceIds.push(await made(client, '/devices', { reference_id: `${index} of ${locationId}` }))
  }
  const tariffs: Tariff[] = []
  for (const tariff of planned.tariffs) {
    tariffs.push({ ...tariff, id: await made(client, '/tariffs', exactBody(tariffBody(tariff, locationId))) })
  }
  return { locationId, deviceIds, planned, importMarket, exportMarket, tariffs }
}

/** Bring a world about over HTTP. */
export const placeWorld = async (client: Client, planned: PlannedWorld, progress: (locations: number) => void): Promise<World> => {
  const markets: PlacedMarket[] = []
  for (const series of planned.markets) markets.push(await placeMarket(client, series))
  const locations: PlacedLocation[] = []
  for (const location of planned.locations) progress(locations.push(await placeLocation(client, location, markets)))
  return { markets, locations }
}

/** What prices a location in the end. */
export const pricingOf = ({ locationId, planned, tariffs, importMarket, exportMarket }: PlacedLocation): PricingInput => ({
  ...{ locationId, currencyCode: 'EUR', timeZone: zoneOf(planned.zone), tariffs },
  importMarket: importMarket?.series ?? null,
  exportMarket: exportMarket?.series ?? null,
})
