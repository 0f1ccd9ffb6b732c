import type { ServiceClient } from '../../services/command-line/service-client.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import { inParallel } from '../support/system/in-parallel.ts'
import { marketPrices, tariffsOf } from './demo-tariffs.ts'
import { type Site, type SiteKind, siteKinds } from './fleet.ts'
import type { Period } from './reading.ts'
import { requestWithRetries } from './retry.ts'

type CreatedObject = { readonly id: string }

/** Site with its ids in the service. Devices are listed by their name at the site. */
export type CreatedSite = Site & { readonly locationId: string; readonly deviceIds: ReadonlyMap<string, string> }

/** Fleet in the service, with one customer for each kind of site. */
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

const createMarket = async ({ client, run, period, seed }: FleetInput): Promise<string> => {
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
  ...Array.from({ length: chargers }, (_, index) => `charger-${index + 1}`),
]

const createSite = async (
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

/** Create a planned fleet: a market with prices, customers, locations with addresses, tariffs, devices. */
export const createFleet = async (
  input: FleetInput,
  sites: readonly Site[],
  onCreated: (count: number) => void,
): Promise<CreatedFleet> => {
  const { client, run } = input
  const marketId = await createMarket(input)
  const ids = await inParallel(siteKinds, width, kind =>
    requestWithRetries<CreatedObject>(client, 'POST', '/customers', { reference_id: `${run}-${kind}` }),
  )
  const customers = Object.fromEntries(siteKinds.map((kind, index) => [kind, ids[index]?.id ?? ''])) as Record<
    SiteKind,
    string
  >
  let count = 0
  const createdSites = await inParallel(sites, width, async site => {
    const created = await createSite(input, site, customers[site.kind], marketId)
    count += 1
    onCreated(count)
    return created
  })
  return { customers, sites: createdSites }
}
