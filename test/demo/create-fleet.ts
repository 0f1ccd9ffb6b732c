import type { ServiceClient } from '../../services/command-line/service-client.ts'
import { writeInstant } from '../../services/domain/instant.ts'
import { inParallel } from '../support/system/in-parallel.ts'
import { chargesOf, economySeven, flatRate, marketPrices, tariffsOf } from './demo-tariffs.ts'
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

/** `suffix` is the end of all references, such as " (2)" for the second fleet of an account. */
type FleetInput = {
  readonly client: ServiceClient
  readonly suffix: string
  readonly period: Period
  readonly seed: number
}

const width = 12
const maxPrices = 10_000
/** Days after the period whose market prices are published already. */
const publishedDays = 2

/** Find the end of references that no location has: empty, then " (2)". */
export const freeSuffix = async (client: ServiceClient, sites: readonly Site[]): Promise<string> => {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : ` (${number})`
    const query = new URLSearchParams({ reference_id: `${sites[0]?.name}${suffix}` })
    const found = await requestWithRetries<{ readonly data: readonly unknown[] }>(client, 'GET', `/locations?${query}`)
    if (found.data.length === 0) return suffix
  }
}

const createMarket = async ({ client, suffix, period, seed }: FleetInput): Promise<string> => {
  const { id } = await requestWithRetries<CreatedObject>(client, 'POST', '/markets', {
    display_name: `Demo market${suffix}`,
    currency_code: 'EUR',
  })
  const days = { start: period.start, days: period.days + publishedDays }
  const prices = marketPrices(days, seed).map(({ start, end, value }) => ({
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
  { client, suffix, period }: FleetInput,
  site: Site,
  customerId: string,
  marketId: string,
): Promise<CreatedSite> => {
  const location = await requestWithRetries<CreatedObject>(client, 'POST', '/locations', {
    reference_id: `${site.name}${suffix}`,
    customer_id: customerId,
    postal_address: site.address,
    ...(site.kind === 'market' ? { market_sources: { import: marketId } } : {}),
  })
  for (const tariff of tariffsOf[site.kind]) {
    const contract = { location_id: location.id, contract_start_date: writeInstant(period.start) }
    await requestWithRetries<CreatedObject>(client, 'POST', '/tariffs', { ...tariff, ...contract })
  }
  for (const charge of chargesOf[site.kind])
    await requestWithRetries<CreatedObject>(client, 'POST', '/charges', { location_id: location.id, ...charge })
  const deviceIds = new Map<string, string>()
  for (const name of devicesOf(site)) {
    const device = await requestWithRetries<CreatedObject>(client, 'POST', '/devices', {
      reference_id: `${site.name} ${name}${suffix}`,
    })
    deviceIds.set(name, device.id)
  }
  return { ...site, locationId: location.id, deviceIds }
}

/** Create the plans, and assign the first one to the British homes for all days of the period. */
const assignPlan = async ({ client, suffix, period }: FleetInput, sites: readonly CreatedSite[]): Promise<void> => {
  await requestWithRetries(client, 'POST', '/plans', { ...flatRate, name: `${flatRate.name}${suffix}` })
  const plan = await requestWithRetries<CreatedObject>(client, 'POST', '/plans', {
    ...economySeven,
    name: `${economySeven.name}${suffix}`,
  })
  const start_date = writeInstant(period.start).slice(0, 10)
  const homes = sites.filter(({ kind }) => kind === 'household')
  const assigned = await requestWithRetries<{ readonly failed: readonly { readonly error: string }[] }>(
    client,
    'POST',
    `/plans/${plan.id}/assignments`,
    homes.map(({ locationId }) => ({ location_id: locationId, start_date })),
  )
  const [failed] = assigned.failed
  if (failed !== undefined) throw new Error(`A home was not assigned to the plan: ${JSON.stringify(failed)}`)
}

/** Create a planned fleet: a market with prices, customers, locations with addresses, tariffs, charges, plans, devices. */
export const createFleet = async (
  input: FleetInput,
  sites: readonly Site[],
  onCreated: (count: number) => void,
): Promise<CreatedFleet> => {
  const { client, suffix } = input
  const marketId = await createMarket(input)
  const ids = await inParallel(siteKinds, width, kind =>
    requestWithRetries<CreatedObject>(client, 'POST', '/customers', { reference_id: `Demo ${kind}${suffix}` }),
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
  await assignPlan(input, createdSites)
  return { customers, sites: createdSites }
}
