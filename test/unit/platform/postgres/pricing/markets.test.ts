import fc from 'fast-check'
import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { storeForecasts } from '../../../../../services/platform/postgres/pricing/forecasts.ts'
import { putMarketPrices, readMarketPrices } from '../../../../../services/platform/postgres/pricing/market-prices.ts'
import {
  createMarket,
  deleteMarket,
  listMarkets,
  marketOfArea,
  retrieveMarket,
} from '../../../../../services/platform/postgres/pricing/markets.ts'
import { pricesFrom, pricesPerBlock } from '../../../../../services/platform/postgres/pricing/price-block.ts'
import { type PriceInterval, replacePrices } from '../../../../../services/platform/postgres/pricing/price-overlap.ts'
import {
  countLocationsPricedBy,
  loadLocationPricing,
  loadSourcePrices,
  locationsPricedBy,
  readPricingRevisions,
} from '../../../../../services/platform/postgres/pricing/pricing-input.ts'
import { createTariff } from '../../../../../services/platform/postgres/pricing/tariffs.ts'
import { createLocation, deleteLocation } from '../../../../../services/platform/postgres/registry/locations.ts'
import {
  type TenantTransaction,
  withOperator,
  withTenant,
} from '../../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { locationDraft, tariffDraft, tieredSchedule } from '../../../../support/registry/drafts.ts'
import { useTenants } from '../../../../support/registry/use-database.ts'

const at = 1_760_000_000_000
const hourMs = 3_600_000
const { database, live, test, inLive, change } = await useTenants()

const pricesOf = async (
  read: (transaction: TenantTransaction) => Promise<{ readonly blocks: readonly string[] } | null>,
) => pricesFrom((await inLive(read))?.blocks ?? [])
const draft = { displayName: 'Own', currencyCode: 'EUR', area: null, resolutionMinutes: 60, importer: null }
const hours = (from: number, ...values: bigint[]): PriceInterval[] =>
  values.map((value, index) => ({ start: at + (from + index) * hourMs, end: at + (from + index + 1) * hourMs, value }))
const span = { from: at - 100 * hourMs, to: at + 100 * hourMs }

describe('market prices', () => {
  it('are read in blocks in order of time, each price in one block', async () => {
    const { id } = await inLive(tx => createMarket(tx, draft, at))
    const minutes = Array.from({ length: 2 * pricesPerBlock + 1 }, (_, index) => ({
      start: at + index * 60_000,
      end: at + (index + 1) * 60_000,
      value: BigInt(index - 7) * 999_999_999_999n,
    }))
    await change(tx => putMarketPrices(tx, id, minutes))
    const day = { from: at, to: at + minutes.length * 60_000 }
    expect((await inLive(tx => readMarketPrices(tx, id, day)))?.blocks).toHaveLength(3)
    expect(await pricesOf(tx => readMarketPrices(tx, id, day))).toEqual(minutes)
    const [loaded] = await loadSourcePrices(database.operator, [{ sourceId: id, ...day }])
    expect(loaded?.published).toEqual({
      starts: minutes.map(({ start }) => start),
      ends: minutes.map(({ end }) => end),
      values: minutes.map(({ value }) => value),
    })
  })

  it('replace overlapping prices, count once each, and have a fan-out over the changed interval', async () => {
    const { id } = await inLive(tx => createMarket(tx, draft, at))
    const put = async (prices: readonly PriceInterval[]) =>
      acceptedValue(await change(tx => putMarketPrices(tx, id, prices)))
    const first = await put(hours(0, 1n, 2n, 3n))
    expect(first).toMatchObject({ stored: 3, replaced: 0, unchanged: 0, market: { priceRevision: 1 } })
    expect(first.fanOut).toEqual({ sourceId: id, revision: 1, from: at, to: at + 3 * hourMs })
    const again = await put(hours(0, 1n, 2n, 3n))
    expect(again).toMatchObject({ stored: 0, replaced: 0, unchanged: 3, fanOut: null, market: { priceRevision: 1 } })
    const mixed = await put(hours(1, 2n, -7n, 4n))
    expect(mixed).toMatchObject({ stored: 1, replaced: 1, unchanged: 1, market: { priceRevision: 2 } })
    expect(mixed.fanOut).toMatchObject({ revision: 2, from: at + 2 * hourMs, to: at + 4 * hourMs })
    // A quarter of an hour inside an hour leaves the rest of the hour on both sides.
    const quarter = await put([{ start: at + hourMs / 4, end: at + hourMs / 2, value: 9n }])
    expect(quarter).toMatchObject({ stored: 0, replaced: 1, unchanged: 0 })
    expect(await pricesOf(tx => readMarketPrices(tx, id, { from: at, to: at + 2 * hourMs }))).toEqual([
      { start: at, end: at + hourMs / 4, value: 1n },
      { start: at + hourMs / 4, end: at + hourMs / 2, value: 9n },
      { start: at + hourMs / 2, end: at + hourMs, value: 1n },
      ...hours(1, 2n),
    ])
  })

  it('equal the result of applying all bodies minute by minute, for random bodies', async () => {
    const body = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 2, maxLength: 8 }).chain(edges =>
      fc
        .array(fc.record({ used: fc.boolean(), value: fc.bigInt({ min: -2n, max: 2n }) }), {
          minLength: edges.length - 1,
          maxLength: edges.length - 1,
        })
        .map(cells => {
          const sorted = edges.toSorted((a, b) => a - b)
          return cells.flatMap(({ used, value }, i) =>
            used ? [{ start: sorted[i] ?? 0, end: sorted[i + 1] ?? 0, value }] : [],
          )
        }),
    )
    fc.assert(
      fc.property(fc.array(body, { minLength: 1, maxLength: 5 }), bodies => {
        let stored: readonly PriceInterval[] = []
        const minutes = new Map<number, bigint>()
        for (const news of bodies) {
          const before = new Map(minutes)
          const result = replacePrices(stored, news)
          for (const { start, end, value } of news)
            for (let minute = start; minute < end; minute += 1) minutes.set(minute, value)
          stored = [...stored.filter(({ start }) => !result.removed.includes(start)), ...result.added].toSorted(
            (a, b) => a.start - b.start,
          )
          const laid = new Map(
            stored.flatMap(({ start, end, value }) =>
              Array.from({ length: end - start }, (_, i) => [start + i, value] as const),
            ),
          )
          expect([...laid].toSorted()).toEqual([...minutes].toSorted())
          expect(stored.every(({ end }, i) => end <= (stored[i + 1]?.start ?? Number.POSITIVE_INFINITY))).toBe(true)
          expect(result.stored + result.replaced + result.unchanged).toBe(news.length)
          const differing = [...minutes]
            .filter(([minute, value]) => before.get(minute) !== value)
            .map(([minute]) => minute)
          expect(result.changed === null).toBe(differing.length === 0)
          for (const minute of differing)
            expect(minute >= (result.changed?.from ?? 0) && minute < (result.changed?.to ?? 0)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('keep nine decimals and every sign, and 10,000 in one body', async () => {
    const { id } = await inLive(tx => createMarket(tx, draft, at))
    const edge = hours(0, 1_000_000_000_000_000n, -1_000_000_000_000_000n, 1n, -1n, 0n, 123_456_789n)
    const body = [...edge, ...hours(10, ...Array.from({ length: 9_994 }, (_, i) => BigInt(i)))]
    expect(acceptedValue(await change(tx => putMarketPrices(tx, id, body)))).toMatchObject({ stored: 10_000 })
    expect(await pricesOf(tx => readMarketPrices(tx, id, { from: at, to: at + 6 * hourMs }))).toEqual(edge)
    const [loaded] = await loadSourcePrices(database.operator, [{ sourceId: id, from: at, to: at + 6 * hourMs }])
    expect(loaded?.published).toEqual({
      starts: edge.map(p => p.start),
      ends: edge.map(p => p.end),
      values: edge.map(p => p.value),
    })
  })

  it('are written once by concurrent duplicates', async () => {
    const { id } = await inLive(tx => createMarket(tx, draft, at))
    const duplicates = await Promise.all(
      [1n, 2n, 3n, 4n].map(value => change(tx => putMarketPrices(tx, id, hours(0, value, value)))),
    )
    expect(duplicates.map(duplicate => acceptedValue(duplicate).market.priceRevision).toSorted()).toEqual([1, 2, 3, 4])
    expect(await pricesOf(tx => readMarketPrices(tx, id, span))).toHaveLength(2)
  })
})

describe('market sources', () => {
  it('of an account are private; all accounts use shared ones, and only the operator changes them', async () => {
    const own = await inLive(tx => createMarket(tx, draft, at))
    const shared = await withOperator(database, tx => createMarket(tx, { ...draft, area: 'DE-LU' }, at))
    await withOperator(database, tx => putMarketPrices(tx, shared.id, hours(0, 5n)))
    await change(tx => putMarketPrices(tx, own.id, hours(0, 6n)))

    const others = await withTenant(database, test, async tx => ({
      own: await retrieveMarket(tx, own.id),
      shared: await retrieveMarket(tx, shared.id),
      ofArea: await marketOfArea(tx, 'DE-LU', 'EUR'),
      listed: await listMarkets(tx, null, { limit: 100, startingAfter: null, endingBefore: null }),
      prices: (await tx.query(sql`select source_id, value from market_prices`)).rows,
    }))
    expect(others.own).toBeNull()
    expect(others.shared).toMatchObject({ id: shared.id, accountId: null, priceRevision: 1 })
    expect(others.ofArea?.id).toBe(shared.id)
    expect(acceptedValue(others.listed).items.map(({ id }) => id)).toEqual([shared.id])
    expect(others.prices).toEqual([{ source_id: shared.id, value: '0.000000005' }])

    expect(await change(tx => putMarketPrices(tx, shared.id, hours(0, 1n)))).toMatchObject({
      refusal: { code: 'not_found' },
    })
    expect(await change(tx => deleteMarket(tx, shared.id, at))).toMatchObject({ refusal: { code: 'not_found' } })
    const forced = await inLive(({ query }) =>
      query(sql`update market_prices set value = 1 where source_id = ${shared.id}`),
    )
    expect(forced.rowCount).toBe(0)
  })

  it('cannot be deleted while a location uses them', async () => {
    const own = await inLive(tx => createMarket(tx, draft, at))
    const location = acceptedValue(
      await change(tx => createLocation(tx, locationDraft({ exportSourceId: own.id }), at)),
    )
    expect(await change(tx => deleteMarket(tx, own.id, at))).toMatchObject({ refusal: { code: 'market_in_use' } })
    acceptedValue(await change(tx => deleteLocation(tx, location.id, at)))
    expect(acceptedValue(await change(tx => deleteMarket(tx, own.id, at)))).toEqual(own)
    expect(await inLive(tx => retrieveMarket(tx, own.id))).toBeNull()
    const made = await change(tx => createLocation(tx, locationDraft({ exportSourceId: own.id }), at))
    expect(made).toMatchObject({ refusal: { code: 'market_source_not_found' } })
  })
})

describe('the pricing of a location', () => {
  it('is read at one instant: revision, tariffs, sources and their revisions', async () => {
    const own = await inLive(tx => createMarket(tx, draft, at))
    const priced = acceptedValue(await change(tx => createLocation(tx, locationDraft({ importSourceId: own.id }), at)))
    const plain = acceptedValue(await change(tx => createLocation(tx, locationDraft({ importSourceId: own.id }), at)))
    const schedule = tieredSchedule(0n)
    const { tariff } = acceptedValue(
      await change(tx =>
        createTariff(tx, tariffDraft(priced.id, { marketRates: true, schedule, contractStart: at }), at),
      ),
    )
    acceptedValue(await change(tx => putMarketPrices(tx, own.id, hours(0, 5n))))

    const keys = [priced.id, plain.id, 'loc_none'].map(locationId => ({ ...live, locationId }))
    const importSource = { sourceId: own.id, revision: 1 }
    const loaded = await loadLocationPricing(database.operator, keys)
    expect(loaded.toSorted((a, b) => (a.locationId < b.locationId ? -1 : 1))).toEqual([
      {
        ...live,
        locationId: priced.id,
        revision: 1,
        currencyCode: 'EUR',
        timezone: 'Europe/Berlin',
        deletedAt: null,
        calendar: null,
        tariffs: [
          {
            id: tariff.id,
            direction: 'IMPORT',
            type: 'COMMODITY',
            marketRates: true,
            contractStart: at,
            contractEnd: null,
            closedAt: null,
            component: 'energy',
            planId: null,
            schedule,
          },
        ],
        importSource,
        exportSource: null,
      },
      {
        ...live,
        locationId: plain.id,
        revision: 0,
        currencyCode: 'EUR',
        timezone: 'Europe/Berlin',
        deletedAt: null,
        calendar: null,
        tariffs: [],
        importSource,
        exportSource: null,
      },
    ])
    expect(await inLive(tx => loadLocationPricing(tx.query, keys))).toHaveLength(2)
    expect(await withTenant(database, test, tx => loadLocationPricing(tx.query, keys))).toEqual([])
    const revisions = await readPricingRevisions(database.operator, keys)
    expect(revisions).toContainEqual({ ...live, locationId: priced.id, revision: 1, importSource, exportSource: null })
    expect(await locationsPricedBy(database.operator, own.id, '', 10)).toEqual({
      locations: [{ ...live, locationId: priced.id }],
      cursor: plain.id,
      isLast: true,
    })
    expect(await countLocationsPricedBy(database.operator, own.id)).toBe(1)
    expect(await locationsPricedBy(database.operator, own.id, priced.id, 1)).toEqual({
      locations: [],
      cursor: plain.id,
      isLast: false,
    })
  })

  it('has the published and forecast prices that overlap an interval, and the end of known prices', async () => {
    const own = await inLive(tx => createMarket(tx, draft, at))
    await change(tx => putMarketPrices(tx, own.id, hours(0, 1n, 2n, 3n)))
    const clock = { area: null, timezone: null, locationTimezone: null }
    const due = { sourceId: own.id, revision: 1, from: at, ...clock }
    const forecasts = hours(2, 30n, 40n).map(one => ({ ...one, confidence: 8_500 }))
    await withOperator(database, tx =>
      storeForecasts(tx, { due, timezone: 'UTC', forecasts, firstGap: at + 3 * hourMs, next: null }),
    )
    const [loaded] = await loadSourcePrices(database.operator, [
      { sourceId: own.id, from: at + hourMs / 2, to: at + 2.5 * hourMs },
    ])
    expect(loaded).toEqual({
      sourceId: own.id,
      revision: 2,
      currencyCode: 'EUR',
      knownUntil: at + 3 * hourMs,
      published: {
        starts: [at, at + hourMs, at + 2 * hourMs],
        ends: [at + hourMs, at + 2 * hourMs, at + 3 * hourMs],
        values: [1n, 2n, 3n],
      },
      forecast: { starts: [at + 2 * hourMs], ends: [at + 3 * hourMs], values: [30n], confidences: [0.85] },
    })
    const [beyond] = await loadSourcePrices(database.operator, [
      { sourceId: own.id, from: at + 3 * hourMs, to: at + 9 * hourMs },
    ])
    expect(beyond).toMatchObject({
      published: { starts: [] },
      forecast: { starts: [at + 3 * hourMs] },
      knownUntil: at + 3 * hourMs,
    })
  })
})
