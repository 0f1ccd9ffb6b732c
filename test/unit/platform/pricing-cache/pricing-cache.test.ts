import type { Sql } from 'sql-template-tag'
import { expect, it } from 'vitest'
import { evaluate } from '../../../../services/domain/tariff/evaluate.ts'
import type { Database, Query } from '../../../../services/platform/postgres/database.ts'
import { putMarketPrices } from '../../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../../services/platform/postgres/pricing/markets.ts'
import { createTariff } from '../../../../services/platform/postgres/pricing/tariffs.ts'
import { createLocation } from '../../../../services/platform/postgres/registry/locations.ts'
import { type TenantTransaction, withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { type PricingCache, pricingCache } from '../../../../services/platform/pricing-cache/pricing-cache.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { locationDraft, tariffDraft } from '../../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../../../support/stores/postgres.ts'

const at = 1_760_000_000_000
const hourMs = 3_600_000

/** Two sources; one location buys from the first alone, another buys from the first and sells to the second. */
const makeFixture = (transaction: TenantTransaction) => {
  const source = async (): Promise<string> => {
    const draft = { displayName: 'Own', currencyCode: 'EUR', area: null, resolutionMinutes: 60, importer: null }
    return (await createMarket(transaction, draft, at)).id
  }
  const location = async (importSourceId: string, exportSourceId: string | null): Promise<string> => {
    const { id } = acceptedValue(
      await createLocation(transaction, locationDraft({ importSourceId, exportSourceId }), at),
    )
    for (const direction of exportSourceId === null ? (['IMPORT'] as const) : (['IMPORT', 'EXPORT'] as const)) {
      const schedule = [{ ...open, daysAndHours: [{ days: ['All'] as const, hours: [band] }] }]
      acceptedValue(await createTariff(transaction, tariffDraft(id, { direction, marketRates: true, schedule }), at))
    }
    return id
  }
  return { source, location }
}
const open = { months: ['All'] as const, dates: [] }
const band = {
  validFrom: 0,
  validTo: 86_400,
  rate: [{ fixed: 0n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
}

/** The database, with something done after its `nth` statement from now on, before the answer is given. */
const interrupted = (database: Database, interruption: { nth: number; what: () => Promise<void> }): Database => {
  const operator: Query = async <Row>(statement: Sql) => {
    const result = await database.operator<Row>(statement)
    interruption.nth -= 1
    if (interruption.nth === 0) await interruption.what()
    return result
  }
  return { ...database, operator }
}

it('prices a location from all its sources, also if one changes while another is read', async () => {
  await using opened = await openTestDatabase()
  const { live } = await makeTenants(opened.database)
  const inLive = <T>(work: (transaction: TenantTransaction) => Promise<T>): Promise<T> =>
    withTenant(opened.database, live, work)
  const made = await inLive(async transaction => {
    const { source, location } = makeFixture(transaction)
    const [bought, sold] = [await source(), await source()]
    for (const id of [bought, sold])
      acceptedValue(await putMarketPrices(transaction, id, [{ start: at, end: at + hourMs, value: 7n }]))
    return { bought, sold, buyer: await location(bought, null), both: await location(bought, sold) }
  })
  const interruption = { nth: 0, what: async (): Promise<void> => undefined }
  const cache: PricingCache = pricingCache(interrupted(opened.database, interruption), timeZone)
  const gather = async (locationId: string) => (await cache.gather([{ ...live, locationId, from: at }])).get(locationId)
  expect(await gather(made.buyer)).toBeDefined()

  // Statements: the location, then the prices of the missing source. During the second one, the cached source changes.
  interruption.nth = 2
  interruption.what = async () => {
    await inLive(transaction => putMarketPrices(transaction, made.bought, [{ start: at, end: at + hourMs, value: 9n }]))
    cache.invalidateSource(made.bought, 2)
  }
  const gathered = await gather(made.both)
  expect(interruption.nth).toBeLessThanOrEqual(0)
  for (const cachedPricing of [gathered, cache.cached(made.both, at)]) {
    if (cachedPricing === undefined) throw new Error('The location is not cached')
    const priceOf = (direction: 'IMPORT' | 'EXPORT') =>
      evaluate(cachedPricing.snapshot, direction, at, at + hourMs).map(({ price }) => price)
    expect([priceOf('IMPORT'), priceOf('EXPORT')]).toEqual([[9n], [7n]])
    expect(cachedPricing.priceRevision).toBe(2n)
  }
})
