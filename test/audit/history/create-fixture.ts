import { registerRuleOf } from '../../../services/domain/record/reading-rules.ts'
import type { MarketSeries, PricingInput, Tariff } from '../../../services/domain/tariff/tariff.ts'
import { exactBody, exactNumber } from '../../support/exact/exact-json.ts'
import { registerBody } from '../../support/history/register-rules.ts'
import { zoneOf } from '../../support/oracle/zone.ts'
import { tariffBody } from '../../support/scenarios/scenario-over-http.ts'
import type { Client } from '../../support/system/client.ts'
import type { PlannedFixture, PlannedLocation, PlannedMarket } from './plan-fixture.ts'

/** Market source with its final prices, and with the prices that are sent later. */
export type CreatedMarket = { readonly marketId: string } & Pick<PlannedMarket, 'series' | 'later'>

/** Location in the service. `tariffs` is updated after each change that the service has accepted. */
export type CreatedLocation = {
  readonly locationId: string
  readonly deviceIds: readonly string[]
  /** Device or location (null) that sends readings. */
  readonly meterId: string | null
  readonly planned: PlannedLocation
  readonly importMarket: CreatedMarket | null
  readonly exportMarket: CreatedMarket | null
  tariffs: readonly Tariff[]
}

export type AuditFixture = {
  readonly markets: readonly CreatedMarket[]
  readonly locations: readonly CreatedLocation[]
}

const maxPrices = 10_000

/** Return the bodies of submissions of prices, with at most 10,000 prices each. */
export const priceBodies = ({
  starts,
  ends,
  prices,
}: Pick<MarketSeries, 'starts' | 'ends' | 'prices'>): readonly string[] => {
  const all = starts.map((start, index) => ({
    start_time: new Date(start).toISOString(),
    end_time: new Date(ends[index] ?? start).toISOString(),
    value: exactNumber(prices[index] ?? 0n, 9),
  }))
  const count = Math.ceil(all.length / maxPrices)
  return Array.from({ length: count }, (_, part) => exactBody(all.slice(part * maxPrices, (part + 1) * maxPrices)))
}

const create = async (client: Client, path: string, body: object | string): Promise<string> =>
  ((await client.ask('POST', path, body)) as { id: string }).id

const createMarket = async (client: Client, { series, atFirst, later }: PlannedMarket): Promise<CreatedMarket> => {
  const marketId = await create(client, '/markets', { display_name: series.sourceId, currency_code: 'EUR' })
  for (const body of priceBodies(atFirst)) await client.ask('PUT', `/markets/${marketId}/prices`, body)
  return { marketId, series, later }
}

const createLocation = async (
  client: Client,
  planned: PlannedLocation,
  markets: readonly CreatedMarket[],
): Promise<CreatedLocation> => {
  const marketOf = (index: number | null) => (index === null ? null : (markets[index] ?? null))
  const [importMarket, exportMarket] = [marketOf(planned.importMarket), marketOf(planned.exportMarket)]
  const sources = {
    import: importMarket?.marketId ?? null,
    export: exportMarket === importMarket ? null : (exportMarket?.marketId ?? null),
  }
  const locationId = await create(client, '/locations', {
    timezone: planned.zone,
    currency_code: 'EUR',
    market_sources: sources,
  })
  const deviceIds: string[] = []
  for (let index = 0; index < planned.devices; index += 1) {
    deviceIds.push(await create(client, '/devices', { reference_id: `${index} of ${locationId}` }))
  }
  const { registerRule: rule } = planned
  const meter = { reference_id: `meter of ${locationId}`, ...registerBody(rule === null ? null : registerRuleOf(rule)) }
  const meterId = rule === null ? (deviceIds[0] ?? null) : await create(client, '/devices', meter)
  const tariffs: Tariff[] = []
  for (const tariff of planned.tariffs) {
    tariffs.push({ ...tariff, id: await create(client, '/tariffs', exactBody(tariffBody(tariff, locationId))) })
  }
  return { locationId, deviceIds, meterId, planned, importMarket, exportMarket, tariffs }
}

/** Create markets, locations, devices and tariffs over HTTP. */
export const createFixture = async (
  client: Client,
  planned: PlannedFixture,
  progress: (locations: number) => void,
): Promise<AuditFixture> => {
  const markets: CreatedMarket[] = []
  for (const series of planned.markets) markets.push(await createMarket(client, series))
  const locations: CreatedLocation[] = []
  for (const location of planned.locations) progress(locations.push(await createLocation(client, location, markets)))
  return { markets, locations }
}

/** Return the final pricing of a location. */
export const pricingInputOf = ({
  locationId,
  planned,
  tariffs,
  importMarket,
  exportMarket,
}: CreatedLocation): PricingInput => ({
  locationId,
  currencyCode: 'EUR',
  timeZone: zoneOf(planned.zone),
  calendar: null,
  tariffs,
  importMarket: importMarket?.series ?? null,
  exportMarket: exportMarket?.series ?? null,
})
