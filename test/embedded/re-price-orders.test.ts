import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { laneKey, partitionOf } from '../../services/platform/log/partition.ts'
import { startOrderRelay } from '../../services/query-service/lanes/order-relay.ts'
import { openLanes } from '../support/lanes.ts'
import { openTestDatabase } from '../support/postgres.ts'
import { contractYear, flatTariff, listed, make, makeAccount, makeLocation, openService } from '../support/service.ts'

const partitions = 4
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const lanes = stack.use(await openLanes(partitions))
const logger = { info: () => undefined, warn: () => undefined }
let gate: Promise<void> = Promise.resolve()
const append: typeof lanes.log.append = async (...message) => {
  await gate
  return lanes.log.append(...message)
}
const log = { append, partitions: lanes.log.partitions }
const relay = stack.use(startOrderRelay({ ...lanes, log, database, logger, at: () => at }))
const at = Date.UTC(2026, 0, 15, 12)
const service = openService(database, () => at, relay.publish)
const { live } = await makeAccount(service)
const seen = new Set<string>()
/** Orders that were not in the lanes before. The sweep may bring one again that its own process is just publishing: a repeat does no harm. */
const newOrders = async () => {
  const orders = (await lanes.orders()).filter(({ order }, index, all) => {
    const isFirst = all.findIndex(other => other.order.orderId === order.orderId) === index
    return isFirst && !seen.has(order.orderId)
  })
  for (const { order } of orders) seen.add(order.orderId)
  return orders
}

const owedOrders = async (): Promise<number> =>
  (await sql`select 1 from outbox where topic = 'meter.records.v1'`.execute(database.operator)).rows.length

const updatesOf = async (location: string): Promise<number> =>
  listed(await live.call('GET', `/events?object_id=${location}&event_type=location.update&limit=100`)).length

/** What a change of a location leaves behind: its orders, and the events of the location that came with it. */
const traceOf = async (location: string, work: () => Promise<{ readonly status: number }>) => {
  const before = await updatesOf(location)
  expect((await work()).status).toBeLessThan(300)
  const orders = await newOrders()
  const home = partitionOf(laneKey(live.accountId, location), partitions)
  for (const { lane, order } of orders) {
    expect([lane, order.locationIds, order.orderKind, order.accountId, order.liveMode]).toEqual([
      home,
      [location],
      'RE_PRICE',
      live.accountId,
      true,
    ])
  }
  const spans = orders.map(({ order }) => [order.locationRevision, order.from, order.to])
  return { spans, updates: (await updatesOf(location)) - before }
}

const year = (number: number): number => Date.UTC(number, 0, 1)
const orderOver = (revision: number, from: number | null, to: number | null) => ({ spans: [[revision, from, to]], updates: 1 })

describe('a change that alters prices', () => {
  it('of a tariff stands in its lane once, over its span, when it is answered, with one location.update', async () => {
    const location = await makeLocation(live)
    const post = (number: number) => () => live.call('POST', '/tariffs', flatTariff(location, contractYear(number)))
    expect(await traceOf(location, post(2026))).toEqual(orderOver(1, year(2026), null))
    expect(await traceOf(location, post(2024))).toEqual(orderOver(2, year(2024), year(2026)))
    const [latest, first] = listed(await live.call('GET', `/tariffs?location_id=${location}`)).toReversed()
    const path = (tariff: typeof first) => `/tariffs/${tariff?.['id']}`
    const end = (contract_end_date: string | null) => () => live.call('PATCH', path(first), { contract_end_date })
    expect(await traceOf(location, end('2024-07-01T00:00:00Z'))).toEqual(orderOver(3, Date.UTC(2024, 6, 1), year(2026)))
    expect(await traceOf(location, end('2024-03-01T00:00:00Z'))).toEqual(orderOver(4, Date.UTC(2024, 2, 1), year(2026)))
    expect(await traceOf(location, () => live.call('PATCH', path(first), { display_name: 'Night' }))).toEqual({ spans: [], updates: 1 })
    expect(await traceOf(location, () => live.call('DELETE', path(latest)))).toEqual(orderOver(5, at, null))
    expect(await traceOf(location, () => live.call('DELETE', `${path(first)}?void=true`))).toEqual(orderOver(6, year(2024), null))
  })

  it('of a zone or a source spans all time; a new name owes none', async () => {
    const source = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const location = await makeLocation(live)
    const patch = (body: object) => () => live.call('PATCH', `/locations/${location}`, body)
    expect(await traceOf(location, patch({ timezone: 'Europe/Vienna' }))).toEqual(orderOver(1, null, null))
    expect(await traceOf(location, patch({ market_sources: { import: source } }))).toEqual(orderOver(2, null, null))
    expect(await traceOf(location, patch({ market_sources: { import: source, export: null } }))).toEqual({ spans: [], updates: 1 })
    expect(await traceOf(location, patch({ reference_id: 'named' }))).toEqual({ spans: [], updates: 1 })
  })

  it('that is refused leaves neither order nor event', async () => {
    const location = await makeLocation(live)
    await make(live, '/tariffs', flatTariff(location))
    await newOrders()
    const before = await updatesOf(location)
    expect((await live.call('POST', '/tariffs', flatTariff(location))).status).toBe(400)
    expect([await newOrders(), await updatesOf(location)]).toEqual([[], before])
  })

  it('keeps what another changes of the same tariff at the same moment', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location))
    const end = '2027-01-01T00:00:00Z'
    await Promise.all([
      ...Array.from({ length: 4 }, (_, i) => live.call('PATCH', `/tariffs/${id}`, { display_name: `Night ${i}` })),
      live.call('PATCH', `/tariffs/${id}`, { contract_end_date: end }),
    ])
    expect((await live.call('GET', `/tariffs/${id}`)).body).toMatchObject({ contract_end_date: end })
    await newOrders()
  })

  it('is answered after a second where the log hangs; its order is in its lane as soon as the log goes on', async () => {
    const location = await makeLocation(live)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const startedAt = performance.now()
    expect((await live.call('POST', '/tariffs', flatTariff(location))).status).toBe(200)
    const tookMs = performance.now() - startedAt
    expect(await newOrders()).toEqual([])
    resolve()
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(20_000)
    await expect.poll(owedOrders, { timeout: 20_000 }).toBe(0)
    expect((await newOrders()).map(({ order }) => order.locationIds)).toEqual([[location]])
  })

  it('of a process that died before it could publish is brought by the sweep of another', async () => {
    const dying = openService(database, () => at)
    const tenant = await makeAccount(dying)
    const location = await makeLocation(tenant.test)
    await make(tenant.test, '/tariffs', flatTariff(location))
    await expect.poll(owedOrders, { timeout: 20_000 }).toBe(0)
    const { accountId } = tenant.test
    const lane = partitionOf(laneKey(accountId, location), partitions)
    const order = { accountId, liveMode: false, locationIds: [location], locationRevision: 1 }
    expect(await newOrders()).toMatchObject([{ lane, order }])
  })
})

it('meets no fault of its own in all of this', () => {
  expect(service.errors).toEqual([])
})
