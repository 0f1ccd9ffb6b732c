import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import type { Log } from '../../services/platform/log/log.ts'
import { laneKey, partitionOf } from '../../services/platform/log/partition.ts'
import { type Lease, releaseLease, takeLease } from '../../services/platform/postgres/leases.ts'
import { putMarketPrices } from '../../services/platform/postgres/market-prices.ts'
import { createMarket } from '../../services/platform/postgres/markets.ts'
import { newOrder, writeOrders } from '../../services/platform/postgres/outbox.ts'
import { writePriceFanOut } from '../../services/platform/postgres/price-fan-outs.ts'
import { termsToText } from '../../services/platform/postgres/tariff-row.ts'
import { type Tenant, withOperator, withTenant } from '../../services/platform/postgres/transaction.ts'
import { startOrderRelay } from '../../services/query-service/lanes/order-relay.ts'
import { type FanOutPage, fanOutPage } from '../../services/query-service/markets/price-fan-out.ts'
import { tieredSchedule } from '../support/drafts.ts'
import { openLanes } from '../support/lanes.ts'
import { makeTenants, openTestDatabase } from '../support/postgres.ts'

const at = 1_760_000_000_000
const hour = 3_600_000
const partitions = 2
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const lanes = stack.use(await openLanes(partitions))
const { operator } = database
const options = { ...lanes, database }
const tenants = await Promise.all([makeTenants(database), makeTenants(database)])

let sources = 0
const newSource = (): Promise<string> =>
  withOperator(database, async keeper => {
    const draft = { displayName: `shared ${sources++}`, currencyCode: 'EUR', area: null, resolutionMinutes: 60, importer: null }
    return (await createMarket(keeper, draft, at)).id
  })

const putPrice = (sourceId: string, from: number, value: bigint) =>
  withOperator(database, keeper => putMarketPrices(keeper, sourceId, [{ start: at + from * hour, end: at + (from + 1) * hour, value }], at))

let seeded = 0
/** Make locations on a source, each with one tariff, which the change can make an unlike one. Gives their ids. */
const seed = async ({ accountId, liveMode }: Tenant, sourceId: string, count: number, tariff: object = {}): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, () => `loc_${(seeded++).toString(16).padStart(24, '0')}`)
  const { direction, marketRates, closedAt, voidedAt } = {
    ...{ direction: 'IMPORT', marketRates: true, closedAt: null, voidedAt: null },
    ...tariff,
  }
  await sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id, export_market_source_id, time_created)
    select ${accountId}, ${liveMode}, id, 'Europe/Berlin', 'EUR', ${sourceId}, ${sourceId}, now() from unnest(${ids}::text[]) as l(id)`.execute(
    operator,
  )
  await sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, market_rates, closed_at, voided_at,
      terms, time_created)
    select ${accountId}, ${liveMode}, replace(id, 'loc_', 'trf_'), id, ${direction}, 'COMMODITY', 'MANUAL', 'CONNECTED', ${marketRates},
      ${closedAt}::timestamptz, ${voidedAt}::timestamptz, ${termsToText(tieredSchedule(0n))}, now() from unnest(${ids}::text[]) as l(id)`.execute(
    operator,
  )
  return ids
}

let leases = 0
const newLease = async (): Promise<Lease> => {
  const lease = await takeLease(operator, `lease ${leases++}`, 'this', 10_000)
  if (lease === null) throw new Error('no lease')
  return lease
}

/** Work pages until none is left. */
const workAll = async (pageSize: number, using = options): Promise<readonly FanOutPage[]> => {
  const lease = await newLease()
  const pages: FanOutPage[] = []
  for (;;) {
    const page = await fanOutPage(using, lease, pageSize)
    if (page === null) return pages
    pages.push(page)
  }
}

const eventsOf = async (ids: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await sql<{ id: string }>`
    select object_id as id from events where type = 'location.update' and object_id = any(${ids}) order by object_id`.execute(operator)
  return rows.map(({ id }) => id)
}

const told = async () => {
  const orders = await lanes.orders()
  for (const { lane, order } of orders) {
    for (const id of order.locationIds) expect(partitionOf(laneKey(order.accountId ?? '', id), partitions)).toBe(lane)
    expect(order.locationIds.length).toBeLessThanOrEqual(500)
  }
  return orders
}

const locationsIn = (orders: Awaited<ReturnType<typeof told>>): readonly string[] =>
  orders.flatMap(({ order }) => order.locationIds).toSorted()

/** The log, with a say before and after each append. */
const logThat = (
  before: (count: number) => void,
  after: () => Promise<void> = async () => undefined,
): Pick<Log, 'append' | 'partitions'> => {
  let count = 0
  const append: Log['append'] = async (...message) => {
    before(++count)
    const offset = await lanes.log.append(...message)
    await after()
    return offset
  }
  return { append, partitions: lanes.log.partitions }
}

describe('a change of market prices', () => {
  it('reaches every location whose tariffs use the source, of all accounts and both modes, once', async () => {
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
    const orders = await told()
    expect(locationsIn(orders)).toEqual(ids)
    for (const { order } of orders) {
      const span = { locationRevision: null, sourceId: source, priceRevision: 1, from: at, to: at + hour }
      expect(order).toMatchObject({ orderKind: 'RE_PRICE', ...span })
    }
    const modes = new Map(orders.flatMap(({ order }) => order.locationIds.map(id => [id, `${order.accountId}/${order.liveMode}`])))
    expect(ids.map(id => modes.get(id))).toEqual(
      [a.live, a.live, a.live, a.test, a.test, b.live, b.live].map(tenant => `${tenant.accountId}/${tenant.liveMode}`),
    )
    expect(await eventsOf(ids)).toEqual(ids)
    const { rows } = await sql<{ account_id: string; live_mode: boolean; data: string }>`
      select account_id, live_mode, data from events where object_id = ${ids[3]}`.execute(operator)
    expect(rows).toMatchObject([{ account_id: a.test.accountId, live_mode: false }])
    expect(JSON.parse(rows[0]?.data ?? '')).toMatchObject({
      id: ids[3],
      object: 'location',
      tariff_status: { commodity_export: 'CONNECTED' },
    })

    await putPrice(source, 0, 5n)
    expect(await workAll(4)).toEqual([])
  })

  it('is repeated from its page after a crash at any step: no location is lost, no event doubled', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 25)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    for (let crash = 0; crash < 12; crash += 1) {
      // Either before an append, or after all appends of the page and before its transaction.
      const log = logThat(
        count => {
          if (crash % 3 === 0 || (crash % 3 === 1 && count === 2)) throw new Error('crash')
        },
        async () => {
          if (crash % 6 === 5) throw new Error('crash')
        },
      )
      await fanOutPage({ ...options, log }, lease, 4).catch(error => expect(error.message).toBe('crash'))
    }
    await workAll(4)
    const orders = locationsIn(await told())
    expect(orders.length).toBeGreaterThan(ids.length)
    expect([...new Set(orders)]).toEqual(ids)
    expect(await eventsOf(ids)).toEqual(ids)
  })

  it('is not moved on by who lost the lease between the orders and the events', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 5)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    let next: Lease | null = null
    const log = logThat(
      () => undefined,
      async () => {
        await releaseLease(operator, lease)
        next ??= await takeLease(operator, lease.name, 'another', 10_000)
      },
    )
    await expect(fanOutPage({ ...options, log }, lease, 10)).rejects.toMatchObject({ code: 'lease_lost', retriable: true })
    expect(await eventsOf(ids)).toEqual([])
    expect(next).not.toBeNull()
    expect(next && (await fanOutPage(options, next, 10))).toMatchObject({ done: 5, isLast: true })
    expect(await eventsOf(ids)).toEqual(ids)
    await told()
  })

  it('goes on by one where two work the same page at once, and the other undoes what it did', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 30)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    const { promise: bothAreThere, resolve } = Promise.withResolvers<void>()
    let runners = 0
    const runner = () => {
      let isThere = false
      const log = logThat(
        () => {
          if (isThere) return
          isThere = true
          runners += 1
          if (runners === 2) resolve()
        },
        () => bothAreThere,
      )
      return fanOutPage({ ...options, log }, lease, 7)
    }
    const pages = await Promise.allSettled([runner(), runner()])
    const outcomes = pages.map(page => (page.status === 'rejected' ? page.reason.code : page.value?.done))
    expect(outcomes.toSorted()).toEqual([7, 'lease_lost'])
    expect(await eventsOf(ids)).toEqual(ids.slice(0, 7))
    expect((await workAll(7)).map(({ done }) => done)).toEqual([14, 21, 28, 30])
    expect(await eventsOf(ids)).toEqual(ids)
    expect([...new Set(locationsIn(await told()))]).toEqual(ids)
  })

  it('follows the one before it of its source, and takes turns with other sources', async () => {
    const [large, small] = [await newSource(), await newSource()]
    const ids = await seed(tenants[0].live, large, 9)
    const others = await seed(tenants[1].live, small, 2)
    await putPrice(large, 0, 5n)
    await putPrice(large, 7, 6n)
    await putPrice(small, 0, 5n)
    const pages = (await workAll(3)).map(({ sourceId, revision, page }) => [sourceId === large ? 'large' : 'small', revision, page])
    expect(pages.filter(([source]) => source === 'large')).toEqual(
      [1, 2].flatMap(revision => [1, 2, 3, 4].map(page => ['large', revision, page])),
    )
    expect(pages.findIndex(([source]) => source === 'small')).toBeLessThan(2)
    expect(await eventsOf(ids)).toEqual(ids.flatMap(id => [id, id]))
    expect(await eventsOf(others)).toEqual(others)
    const spans = (await told())
      .filter(({ order }) => order.sourceId === large)
      .map(({ order }) => [order.priceRevision, order.from, order.to])
    expect(new Set(spans.map(String))).toEqual(
      new Set(
        [
          [1, at, at + hour],
          [2, at + 7 * hour, at + 8 * hour],
        ].map(String),
      ),
    )
  })

  it('of a shared source is no account’s to write, nor to see', async () => {
    const source = await newSource()
    const forged = withTenant(database, tenants[0].live, ({ query }) =>
      writePriceFanOut(query, { sourceId: source, revision: 9, from: at, to: at + hour }, at),
    )
    await expect(forged).rejects.toMatchObject({ code: 'postgres_refused' })
    const seen = withTenant(database, tenants[0].live, ({ query }) => query.selectFrom('price_fan_outs').selectAll().execute())
    await expect(seen).rejects.toMatchObject({ code: 'postgres_refused' })
  })

  it('that is undone leaves no location to be told', async () => {
    const source = await newSource()
    await seed(tenants[0].live, source, 1)
    const undone = withOperator(database, async keeper => {
      await putMarketPrices(keeper, source, [{ start: at, end: at + hour, value: 5n }], at)
      throw new Error('undo')
    })
    await expect(undone).rejects.toThrow('undo')
    expect(await workAll(10)).toEqual([])
  })
})

describe('two relays', () => {
  it('bring 3,000 locations into 2 lanes by the one that holds the lease, other orders between the pages', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 3_000)
    const order = newOrder({ ...tenants[1].live, locations: ['loc_between'], revision: 1, from: null, to: null })
    const keys: string[] = []
    const append: Log['append'] = async (topic, lane, message) => {
      keys.push(message.key)
      return lanes.log.append(topic, lane, message)
    }
    const log = { append, partitions: lanes.log.partitions }
    const lines: object[] = []
    const info = (fields: object): void => {
      if (lines.push(fields) === 1) void writeOrders(operator, [order], at)
    }
    const warn = (fields: object): void => void lines.push(fields)
    {
      await using relays = new AsyncDisposableStack()
      for (let i = 0; i < 2; i += 1) relays.use(startOrderRelay({ ...options, log, logger: { info, warn } }))
      await putPrice(source, 0, 5n)
      await expect.poll(() => eventsOf(ids).then(({ length }) => length), { timeout: 15_000 }).toBe(3_000)
      await expect.poll(() => lines.length).toBe(4)
    }
    expect(lines).toEqual(
      [1_000, 2_000, 3_000, 3_000].map((locations, index) => ({ source, revision: 1, page: index + 1, locations, of: 3_000 })),
    )
    expect(keys.filter(key => key === order.id)).toHaveLength(1)
    expect(keys.at(-1)).not.toBe(order.id)
    expect(locationsIn(await told())).toEqual([...ids, 'loc_between'])
    // A relay that stops gives its lease back: the next one need not wait for it to run out.
    expect(await takeLease(operator, 'order-relay', 'the next', 1_000)).not.toBeNull()
  })
})
