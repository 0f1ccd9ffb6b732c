import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { startRecostRelay } from '../../../services/background/recost-relay.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import { openPartitions } from '../../support/partitions/open-partitions.ts'
import {
  contractYear,
  flatTariff,
  listed,
  make,
  makeAccount,
  makeLocation,
  openService,
} from '../../support/registry/service.ts'
import { openTestDatabase } from '../../support/stores/postgres.ts'

const partitions = 4
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const partitionLog = stack.use(await openPartitions(partitions))
const logger = { info: () => undefined, warn: () => undefined }
let gate: Promise<void> = Promise.resolve()
const append: typeof partitionLog.log.append = async (...message) => {
  await gate
  return partitionLog.log.append(...message)
}
const log = { append, partitions: partitionLog.log.partitions }
const relay = stack.use(startRecostRelay({ ...partitionLog, log, database, logger, at: () => at }))
const at = Date.UTC(2026, 0, 15, 12)
const service = openService(database, () => at, relay.publish)
const { live } = await makeAccount(service)
const seen = new Set<string>()
/**
 * Recost requests that are new in the partitions. The relay may repeat a request that its process is publishing; a
 * repeat changes nothing.
 */
const newRequests = async () => {
  const requests = (await partitionLog.takeRequests()).filter(({ request }, index, all) => {
    const isFirst = all.findIndex(other => other.request.orderId === request.orderId) === index
    return isFirst && !seen.has(request.orderId)
  })
  for (const { request } of requests) seen.add(request.orderId)
  return requests
}

const pendingRequests = async (): Promise<number> =>
  (await database.operator(sql`select 1 from outbox where topic = 'meter.records.v1'`)).rows.length

const updatesOf = async (location: string): Promise<number> =>
  listed(await live.call('GET', `/events?object_id=${location}&event_type=location.update&limit=100`)).length

/** Recost requests of a change of a location, and the events of the location. */
const traceOf = async (location: string, work: () => Promise<{ readonly status: number }>) => {
  const before = await updatesOf(location)
  expect((await work()).status).toBeLessThan(300)
  const requests = await newRequests()
  const home = partitionOf(partitionKey(live.accountId, location), partitions)
  for (const { partition, request } of requests) {
    expect([partition, request.locationIds, request.orderKind, request.accountId, request.liveMode]).toEqual([
      home,
      [location],
      'RE_PRICE',
      live.accountId,
      true,
    ])
  }
  const spans = requests.map(({ request }) => [request.locationRevision, request.from, request.to])
  return { spans, updates: (await updatesOf(location)) - before }
}

const year = (number: number): number => Date.UTC(number, 0, 1)
const requestOver = (revision: number, from: number | null, to: number | null) => ({
  spans: [[revision, from, to]],
  updates: 1,
})

describe('a change that alters prices', () => {
  it('of a tariff has one recost request in the partition at the response, and one location.update', async () => {
    const location = await makeLocation(live)
    const post = (number: number) => () => live.call('POST', '/tariffs', flatTariff(location, contractYear(number)))
    expect(await traceOf(location, post(2026))).toEqual(requestOver(1, year(2026), null))
    expect(await traceOf(location, post(2024))).toEqual(requestOver(2, year(2024), year(2026)))
    const [latest, first] = listed(await live.call('GET', `/tariffs?location_id=${location}`)).toReversed()
    const path = (tariff: typeof first) => `/tariffs/${tariff?.['id']}`
    const end = (contract_end_date: string | null) => () => live.call('PATCH', path(first), { contract_end_date })
    expect(await traceOf(location, end('2024-07-01T00:00:00Z'))).toEqual(
      requestOver(3, Date.UTC(2024, 6, 1), year(2026)),
    )
    expect(await traceOf(location, end('2024-03-01T00:00:00Z'))).toEqual(
      requestOver(4, Date.UTC(2024, 2, 1), year(2026)),
    )
    expect(await traceOf(location, () => live.call('PATCH', path(first), { display_name: 'Night' }))).toEqual({
      spans: [],
      updates: 1,
    })
    expect(await traceOf(location, () => live.call('DELETE', path(latest)))).toEqual(requestOver(5, at, null))
    expect(await traceOf(location, () => live.call('DELETE', `${path(first)}?void=true`))).toEqual(
      requestOver(6, year(2024), null),
    )
  })

  it('of a zone or a source requests recosts over all time; a new name requests none', async () => {
    const source = await make(live, '/markets', { display_name: 'own', currency_code: 'EUR' })
    const location = await makeLocation(live)
    const patch = (body: object) => () => live.call('PATCH', `/locations/${location}`, body)
    expect(await traceOf(location, patch({ timezone: 'Europe/Vienna' }))).toEqual(requestOver(1, null, null))
    expect(await traceOf(location, patch({ market_sources: { import: source } }))).toEqual(requestOver(2, null, null))
    expect(await traceOf(location, patch({ market_sources: { import: source, export: null } }))).toEqual({
      spans: [],
      updates: 1,
    })
    expect(await traceOf(location, patch({ reference_id: 'named' }))).toEqual({ spans: [], updates: 1 })
  })

  it('that is refused leaves no recost request and no event', async () => {
    const location = await makeLocation(live)
    await make(live, '/tariffs', flatTariff(location))
    await newRequests()
    const before = await updatesOf(location)
    expect((await live.call('POST', '/tariffs', flatTariff(location))).status).toBe(400)
    expect([await newRequests(), await updatesOf(location)]).toEqual([[], before])
  })

  it('keeps a concurrent change of the same tariff', async () => {
    const location = await makeLocation(live)
    const id = await make(live, '/tariffs', flatTariff(location))
    const end = '2027-01-01T00:00:00Z'
    await Promise.all([
      ...Array.from({ length: 4 }, (_, i) => live.call('PATCH', `/tariffs/${id}`, { display_name: `Night ${i}` })),
      live.call('PATCH', `/tariffs/${id}`, { contract_end_date: end }),
    ])
    expect((await live.call('GET', `/tariffs/${id}`)).body).toMatchObject({ contract_end_date: end })
    await newRequests()
  })

  it('is answered after 1 s if the log hangs, and is recosted after the log continues', async () => {
    const location = await makeLocation(live)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const startedAt = performance.now()
    expect((await live.call('POST', '/tariffs', flatTariff(location))).status).toBe(200)
    const tookMs = performance.now() - startedAt
    expect(await newRequests()).toEqual([])
    resolve()
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(20_000)
    await expect.poll(pendingRequests, { timeout: 20_000 }).toBe(0)
    expect((await newRequests()).map(({ request }) => request.locationIds)).toEqual([[location]])
  })

  it('of a process that died before its publication is published by the relay of another', async () => {
    const dying = openService(database, () => at)
    const tenant = await makeAccount(dying)
    const location = await makeLocation(tenant.test)
    await make(tenant.test, '/tariffs', flatTariff(location))
    await expect.poll(pendingRequests, { timeout: 20_000 }).toBe(0)
    const { accountId } = tenant.test
    const partition = partitionOf(partitionKey(accountId, location), partitions)
    const request = { accountId, liveMode: false, locationIds: [location], locationRevision: 1 }
    expect(await newRequests()).toMatchObject([{ partition, request }])
  })
})

it('causes no error in the relay', () => {
  expect(service.errors).toEqual([])
})
