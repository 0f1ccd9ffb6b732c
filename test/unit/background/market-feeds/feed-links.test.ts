import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { linkSources } from '../../../../services/background/market-feeds/feed-links.ts'
import { sharedSources } from '../../../../services/domain/market-feed/shared-sources.ts'
import type { LocationDraft } from '../../../../services/domain/registry/location.ts'
import { marketAreasOf } from '../../../../services/platform/geocoding/geocode.ts'
import type { OutboxMessage } from '../../../../services/platform/postgres/events/outbox.ts'
import {
  seedSharedSources,
  sharedSourceId,
  unlinkedSources,
} from '../../../../services/platform/postgres/pricing/market-sources.ts'
import {
  createMarket,
  deleteMarket,
  listMarkets,
  marketOfArea,
} from '../../../../services/platform/postgres/pricing/markets.ts'
import { createLocation, retrieveLocation } from '../../../../services/platform/postgres/registry/locations.ts'
import { withOperator, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { locationDraft } from '../../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../../../support/stores/postgres.ts'

const at = Date.parse('2026-03-10T12:30:00Z')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const { operator } = database
const { live, test } = await makeTenants(database)

let now = at
const published: OutboxMessage[] = []
const link = () =>
  linkSources({
    database,
    areasOf: marketAreasOf,
    publishRecosts: async orders => {
      published.push(...orders)
    },
    at: () => now,
  })

const make = async (change: Partial<LocationDraft> = {}, tenant = live): Promise<string> => {
  return acceptedValue(
    await withTenant(database, tenant, transaction => createLocation(transaction, locationDraft(change), at)),
  ).id
}
const read = async (id: string, tenant = live) => {
  const location = await withTenant(database, tenant, transaction => retrieveLocation(transaction, id))
  if (location === null) throw new Error(`no location ${id}`)
  return location
}

const dublin = { ...locationDraft().postalAddress, city: 'Dublin', country_code: 'IE' }
const newMarket = (area: string | null, currencyCode: string, createdAt = at) =>
  withOperator(database, keeper =>
    createMarket(
      keeper,
      { displayName: 'made', currencyCode, area, resolutionMinutes: null, importer: null },
      createdAt,
    ),
  )

describe('shared sources', () => {
  it('are created once, with the same ids in every installation, and found by area and currency', async () => {
    const made = await Promise.all([
      seedSharedSources(operator, sharedSources.slice(0, 3)),
      seedSharedSources(operator, sharedSources.slice(0, 3)),
    ])
    expect(made[0] + made[1]).toBe(3)
    const [first] = sharedSources
    if (first === undefined) throw new Error('there are no shared sources')
    const found = await withOperator(database, keeper => marketOfArea(keeper, first.area, first.currencyCode))
    expect(found).toMatchObject({
      id: sharedSourceId(first.area, first.currencyCode),
      displayName: first.displayName,
      accountId: null,
    })
    expect(sharedSourceId('DE-LU', 'EUR')).toBe('mrs_01941f297c001d6e685a350e')
  })

  it('stay deleted, and are not created in an area that has a source of the operator', async () => {
    const gone = sharedSources[1]
    if (gone === undefined) throw new Error('there are no shared sources')
    await withOperator(database, keeper => deleteMarket(keeper, sharedSourceId(gone.area, gone.currencyCode), at))
    const own = await newMarket('IE', 'EUR')
    await seedSharedSources(operator, sharedSources)
    expect(await withOperator(database, keeper => marketOfArea(keeper, gone.area, gone.currencyCode))).toBeNull()
    expect(await withOperator(database, keeper => marketOfArea(keeper, 'IE', 'EUR'))).toMatchObject({ id: own.id })
    expect(await seedSharedSources(operator, sharedSources)).toBe(0)
    const { rows } = await operator<{ count: number }>(sql`select count(*) as count from market_sources`)
    expect(rows[0]?.count).toBe(sharedSources.length)
  })

  it('are listed for accounts together with their own', async () => {
    const page = await withTenant(database, test, keeper =>
      listMarkets(keeper, null, { limit: 100, startingAfter: null, endingBefore: null }),
    )
    const { items } = acceptedValue(page)
    expect(items.length).toBe(sharedSources.length - 1)
    expect(new Set(items.map(({ accountId }) => accountId))).toEqual(new Set([null]))
  })
})

describe('a location from before its source', () => {
  it('is linked in both modes with a recost request and an event, and keeps the choice of its caller', async () => {
    await operator(sql`update market_sources set linked_at = null`)
    const own = await newMarket(null, 'EUR')
    const berlin = await make()
    const tested = await make({}, test)
    const irish = await make({ postalAddress: dublin })
    const untouched = [
      await make({
        importSourceId: own.id,
        exportSourceId: own.id,
        overrides: { ...locationDraft().overrides, importSourceId: own.id },
      }),
      await make({ currencyCode: 'USD' }),
      await make({ postalAddress: null }),
      await make({ postalAddress: { ...dublin, city: 'Tokyo', country_code: 'JP' } }),
    ]
    const before = await Promise.all(untouched.map(id => read(id)))
    const exporting = await make({
      exportSourceId: own.id,
      overrides: { ...locationDraft().overrides, exportSourceId: own.id },
    })
    expect(await link()).toMatchObject({ linked: 4 })
    const german = sharedSourceId('DE-LU', 'EUR')
    expect(await read(berlin)).toMatchObject({
      importSourceId: german,
      exportSourceId: german,
      pricingRevision: 1,
      overrides: { importSourceId: null },
    })
    expect(await read(tested, test)).toMatchObject({ importSourceId: german })
    expect((await read(irish)).importSourceId).not.toBe(sharedSourceId('IE', 'EUR'))
    expect(await read(exporting)).toMatchObject({ importSourceId: german, exportSourceId: own.id })
    expect(await Promise.all(untouched.map(id => read(id)))).toEqual(before)
    expect(published.map(({ payload }) => JSON.parse(payload).locations[0]).toSorted()).toEqual(
      [berlin, tested, irish, exporting].toSorted(),
    )
    expect(JSON.parse(published[0]?.payload ?? '')).toMatchObject({ revision: 1, from: null, to: null })
    const { rows } = await operator<{ id: string; data: string }>(sql`
      select object_id as id, data from events where type = 'location.update' order by object_id`)
    expect(rows.map(({ id }) => id)).toEqual([berlin, tested, irish, exporting].toSorted())
    expect(JSON.parse(rows.find(({ id }) => id === berlin)?.data ?? '')).toMatchObject({
      id: berlin,
      market_sources: { import: german, export: german },
    })
  })

  it('is looked up once, and again until the requests from before the source have ended', async () => {
    now = at + 3_600_000
    await link()
    expect(await unlinkedSources(operator)).toEqual([])
    const polish = { ...dublin, city: 'Warsaw', country_code: 'PL' }
    const source = await newMarket('PL', 'PLN', now)
    expect(await link()).toEqual({ linked: 0, isDone: false })
    const late = await make({ postalAddress: polish, currencyCode: 'PLN', timezone: 'Europe/Warsaw' })
    now += 60_000
    expect(await link()).toEqual({ linked: 1, isDone: true })
    expect(await read(late)).toMatchObject({ importSourceId: source.id })
    expect(await unlinkedSources(operator)).toEqual([])
  })
})
