import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { writePriceFanOut } from '../../../services/platform/postgres/pricing/price-fan-outs.ts'
import { withOperator, withTenant } from '../../../services/platform/postgres/transaction.ts'
import {
  at,
  database,
  eventsOf,
  hourMs,
  locationsIn,
  newSource,
  operator,
  putPrice,
  seed,
  stack,
  takeRequests,
  tenants,
  workAll,
} from './price-fan-out-fixture.ts'

afterAll(() => stack.disposeAsync())

/** Direction, start and end of the `price.update` events of some locations, by location. */
const priceUpdatesOf = async (ids: readonly string[]) => {
  const { rows } = await operator<{ id: string; data: string }>(sql`
    select object_id as id, data::text as data from events where type = 'price.update' and object_id = any(${ids})
    order by object_id, id`)
  return rows.map(({ id, data }) => {
    const { tariff_direction: direction, start_time: start, end_time: end } = JSON.parse(data)
    return [id, direction, Date.parse(start), Date.parse(end)]
  })
}

describe('a change of market prices', () => {
  it('reaches every location whose tariffs use the source once, of all accounts and both modes', async () => {
    const source = await newSource()
    const other = await newSource()
    const [a, b] = tenants
    const ids = [
      ...(await seed(a.live, source, 3)),
      ...(await seed(a.test, source, 2, { direction: 'EXPORT' })),
      ...(await seed(b.live, source, 2, { closedAt: '2025-01-01' })),
    ]
    await seed(a.live, source, 2, { marketRates: false })
    await seed(a.live, source, 1, { voidedAt: '2025-01-01' })
    await seed(a.live, other, 1)
    await putPrice(source, 0, 5n)
    expect(await workAll(4)).toEqual([
      { sourceId: source, revision: 1, page: 1, done: 4, total: 7, isLast: false },
      { sourceId: source, revision: 1, page: 2, done: 7, total: 7, isLast: false },
      { sourceId: source, revision: 1, page: 3, done: 7, total: 7, isLast: true },
    ])
    const requests = await takeRequests()
    expect(locationsIn(requests)).toEqual(ids)
    for (const { request } of requests) {
      const span = { locationRevision: null, sourceId: source, priceRevision: 1, from: at, to: at + hourMs }
      expect(request).toMatchObject({ orderKind: 'RE_PRICE', ...span })
    }
    const modes = new Map(
      requests.flatMap(({ request }) =>
        request.locationIds.map(id => [id, `${request.accountId}/${request.liveMode}`]),
      ),
    )
    expect(ids.map(id => modes.get(id))).toEqual(
      [a.live, a.live, a.live, a.test, a.test, b.live, b.live].map(tenant => `${tenant.accountId}/${tenant.liveMode}`),
    )
    expect(await eventsOf(ids)).toEqual(ids)
    const { rows } = await operator<{ account_id: string; live_mode: boolean; data: string }>(sql`
      select account_id, live_mode, data from events where type = 'location.update' and object_id = ${ids[3]}`)
    expect(rows).toMatchObject([{ account_id: a.test.accountId, live_mode: false }])
    expect(JSON.parse(rows[0]?.data ?? '')).toMatchObject({
      id: ids[3],
      object: 'location',
      tariff_status: { commodity_export: 'CONNECTED' },
    })

    await putPrice(source, 0, 5n)
    expect(await workAll(4)).toEqual([])
  })

  it('waits for the earlier change of its source, and alternates with other sources', async () => {
    const [large, small] = [await newSource(), await newSource()]
    const ids = await seed(tenants[0].live, large, 9)
    const others = await seed(tenants[1].live, small, 2)
    await putPrice(large, 0, 5n)
    await putPrice(large, 7, 6n)
    await putPrice(small, 0, 5n)
    const pages = (await workAll(3)).map(({ sourceId, revision, page }) => [
      sourceId === large ? 'large' : 'small',
      revision,
      page,
    ])
    expect(pages.filter(([source]) => source === 'large')).toEqual(
      [1, 2].flatMap(revision => [1, 2, 3, 4].map(page => ['large', revision, page])),
    )
    expect(pages.findIndex(([source]) => source === 'small')).toBeLessThan(2)
    expect(await eventsOf(ids)).toEqual(ids.flatMap(id => [id, id]))
    expect(await eventsOf(others)).toEqual(others)
    const spans = (await takeRequests())
      .filter(({ request }) => request.sourceId === large)
      .map(({ request }) => [request.priceRevision, request.from, request.to])
    expect(new Set(spans.map(String))).toEqual(
      new Set(
        [
          [1, at, at + hourMs],
          [2, at + 7 * hourMs, at + 8 * hourMs],
        ].map(String),
      ),
    )
  })

  it('of a shared source cannot be written or read by an account', async () => {
    const source = await newSource()
    const forged = withTenant(database, tenants[0].live, ({ query }) =>
      writePriceFanOut(query, { sourceId: source, revision: 9, from: at, to: at + hourMs }),
    )
    await expect(forged).rejects.toMatchObject({ code: 'postgres_refused' })
    const seen = withTenant(database, tenants[0].live, ({ query }) => query(sql`select * from price_fan_outs`))
    await expect(seen).rejects.toMatchObject({ code: 'postgres_refused' })
  })

  it('that is undone leaves no fan-out', async () => {
    const source = await newSource()
    await seed(tenants[0].live, source, 1)
    const undone = withOperator(database, async keeper => {
      await putMarketPrices(keeper, source, [{ start: at, end: at + hourMs, value: 5n }])
      throw new Error('undo')
    })
    await expect(undone).rejects.toThrow('undo')
    expect(await workAll(10)).toEqual([])
  })

  it('writes price.update once for each direction that follows the source', async () => {
    const source = await newSource()
    const [{ live, test }] = tenants
    const ids = [
      ...(await seed(live, source, 2)),
      ...(await seed(test, source, 1, { direction: 'EXPORT' })),
      ...(await seed(live, source, 1, { closedAt: '2025-01-01' })),
    ]
    const [a, b, c, d] = ids
    await putPrice(source, 3, 5n)
    await workAll(2)
    const span = [at + 3 * hourMs, at + 4 * hourMs]
    expect(await priceUpdatesOf(ids)).toEqual([
      [a, 'IMPORT', ...span],
      [b, 'IMPORT', ...span],
      [c, 'EXPORT', ...span],
      [d, 'IMPORT', ...span],
      [d, 'EXPORT', ...span],
    ])
    await putPrice(source, 3, 5n)
    await workAll(2)
    expect(await priceUpdatesOf(ids)).toHaveLength(5)
    expect(await eventsOf(ids)).toEqual(ids.toSorted())
  })
})
