import type { ServiceClient } from '../../services/command-line/service-client.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import { marketPrices, tariffsOf } from './demo-tariffs.ts'
import { type Site, type SiteKind, siteKinds } from './fleet.ts'
import type { Period } from './reading.ts'
import { inParallel, requestWithRetries } from './retry.ts'

type CreatedObject = { readonly id: string }

/** A site with the ids that the service gave it; devices by their name at the site. */
export type CreatedSite = Site & { readonly locationId: string; readonly deviceIds: ReadonlyMap<string, string> }

/** A fleet in the service: one customer for each kind of site. */
export type CreatedFleet = {
  readonly customers: Readonly<Record<SiteKind, string>>
  readonly sites: readonly CreatedSite[]
}

type FleetInput = {
  readonly client: ServiceClient
  readonly run: string
  readonly period: Period
  readonly seed: number
}

const width = 12
const maxPrices = 10_000

const makeMarket = async ({ client, run, period, seed }: FleetInput): Promise<string> => {
  const { id } = await requestWithRetries<CreatedObject>(client, 'POST', '/markets', {
    display_name: `Demo market ${run}`,
    currency_code: 'EUR',
  })
  const prices = marketPrices(period, seed).map(({ start, end, value }) => ({
    start_time: writeInstant(start),
    end_time: writeInstant(end),
    value,
  }))
  for (let from = 0; from < prices.length; from += maxPrices) {
    await requestWithRetries(client, 'PUT', `/markets/${id}/prices`, prices.slice(from, from + maxPrices))
  }
  return id
}

const devicesOf = ({ kind, chargers }: Site): readonly string[] => [
  ...(kind === 'solar' ? ['battery'] : []),
  ...Array.from({ length: chargers }, (_, place) => `charger-${place + 1}`),
]

const makeSite = async (
  { client, run, period }: FleetInput,
  site: Site,
  customerId: string,
  marketId: string,
): Promise<CreatedSite> => {
  const location = await requestWithRetries<CreatedObject>(client, 'POST', '/locations', {
    reference_id: `${run}-${site.name}`,
    customer_id: customerId,
    postal_address: site.address,
    ...(site.kind === 'market' ? { market_sources: { import: marketId } } : {}),
  })
  for (const tariff of tariffsOf[site.kind]) {
    const contract = { location_id: location.id, contract_start_date: writeInstant(period.start) }
    await requestWithRetries<CreatedObject>(client, 'POST', '/tariffs', { ...tariff, ...contract })
  }
  const deviceIds = new Map<string, string>()
  for (const name of devicesOf(site)) {
    const device = await requestWithRetries<CreatedObject>(client, 'POST', '/devices', {
      reference_id: `${run}-${site.name}-${name}`,
    })
    deviceIds.set(name, device.id)
  }
  return { ...site, locationId: location.id, deviceIds }
}

/** Make a planned fleet in the service: a market with prices, customers, locations at their addresses, tariffs, devices. */
export const makeFleet = async (
  input: FleetInput,
  sites: readonly Site[],
  onCreated: (count: number) => void,
): Promise<CreatedFleet> => {
  const { client, run } = input
  const marketId = await makeMarket(input)
  const ids = await inParallel(siteKinds, width, kind =>
    requestWithRetries<CreatedObject>(client, 'POST', '/customers', { reference_id: `${run}-${kind}` }),
  )
  const customers = Object.fromEntries(siteKinds.map((kind, place) => [kind, ids[place]?.id ?? ''])) as Record<
    SiteKind,
    string
  >
  let count = 0
  const create = await inParallel(sites, width, async site => {
    const one = await makeSite(input, site, customers[site.kind], marketId)
    count += 1
    onCreated(count)
    return one
  })
  return { customers, sites: create }
}
