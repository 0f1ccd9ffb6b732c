import sql from 'sql-template-tag'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { measureCpuTime } from '../../support/cpu/measure-cpu-time.ts'
import {
  acceptedRecord,
  appendBytes,
  appendRecords,
  partitionOfLocation,
  unknownLocationsIn,
} from '../../support/partitions/append-chunks.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf, costsUntil } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { addTiers, makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  // On a busy machine the relay publishes a request a second time, and then a failing one is dead-lettered twice.
  await fixture.stopRelay()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
beforeEach(async () => {
  await fixture.stop()
  await fixture.start()
})

type DeadLetter = {
  readonly id: string
  readonly code: string
  readonly reason: string
  readonly lane: number
  readonly offset: number
}

const operator = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const { base_url: baseUrl, operator_key: key } = fixture.sandbox
  const headers = { 'X-Operator-Key': key, 'Content-Type': 'application/json' }
  const response = await fetch(`${baseUrl}/operator/dead-letters${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return (await response.json()) as T
}
const letters = async (code: string): Promise<readonly DeadLetter[]> =>
  (await operator<{ data: readonly DeadLetter[] }>('GET', `?code=${code}&limit=100`)).data
const replay = (ids: readonly string[]) => operator<object>('POST', '/replay', { ids })

const day = (number: number): string => `2025-06-${String(number).padStart(2, '0')}T10:00:00Z`
const used = (home: string, number: number, kwh: number) =>
  bought(home, kwh, day(number), day(number).replace('T10', 'T11'), { record_reference_id: `d${number}` })

/** Create a location under an id that records already contain. */
const found = async (id: string): Promise<void> => {
  const made = await makeHome(fixture.client, {})
  await fixture.database.operator(sql`update locations set id = ${id} where id = ${made}`)
}

describe('poison messages among thousands of records', () => {
  it('delay no record, are dead-lettered with bytes and origin, and are stored by a replay after the cause is fixed', {
    timeout: 120_000,
  }, async () => {
    const home = await makeTieredHome(fixture.client)
    const [missing = ''] = unknownLocationsIn(fixture, partitionOfLocation(fixture, home), 1)
    const many = Array.from({ length: 4_000 }, (_, i) => {
      const start = Date.UTC(2025, 6, 1) + i * 900_000
      return bought(home, 1, new Date(start).toISOString(), new Date(start + 900_000).toISOString())
    })
    const appended = { recordReferenceId: 'd3', start: Date.parse(day(3)), energy: 7_000_000_000n }
    const bytes = Buffer.from('{"location_id":"loc_1"}')
    const { value: offset, ms } = await measureCpuTime(async () => {
      const submitted = fixture.client.submit(many.slice(0, 2_000))
      const appendedAt = await appendRecords(fixture, missing, [
        acceptedRecord(fixture, missing, appended),
        acceptedRecord(fixture, missing, { start: Date.parse(day(4)), recordReferenceId: 'd4' }),
      ])
      await appendBytes(fixture, home, bytes)
      await Promise.all([submitted, fixture.client.submit(many.slice(2_000))])
      return appendedAt
    })
    expect(ms).toBeLessThan(5_000)
    const [unknown, undecodable] = [
      await until(
        () => letters('location_unknown'),
        all => all.length === 2,
      ),
      await letters('undecodable'),
    ]
    expect(unknown).toMatchObject([
      { lane: partitionOfLocation(fixture, home), offset, reason: expect.stringContaining(missing) },
      { lane: partitionOfLocation(fixture, home), offset, reason: expect.stringContaining(missing) },
    ])
    expect(await operator('GET', `/${undecodable[0]?.id}`)).toMatchObject({
      topic: recordTopic,
      value_base64: bytes.toString('base64'),
      headers: { chunk: expect.any(String) },
    })
    // The location exists again; one of its records is sent again with another value before the replay.
    await found(missing)
    await addTiers(fixture.client, missing)
    await fixture.client.submit([used(missing, 3, 9)])
    await replay(unknown.map(({ id }) => id))
    // 9 × 0.1; 1 × 0.1 + 1 × 0.5: the record that was sent since wins, and the replayed record counts after it.
    const wanted = { d3: 0.9, d4: 0.6 }
    expect(await costsUntil(fixture.client, missing, wanted)).toEqual(wanted)
    await replay(unknown.map(({ id }) => id))
    await fixture.waitUntilRead()
    expect(await costsOf(fixture.client, missing)).toEqual(wanted)
    await fixture.client.submit([used(missing, 3, 1)])
    expect(await costsOf(fixture.client, missing)).toEqual({ d3: 0.1, d4: 0.2 })
  })
})

const addTariff = (home: string, fixed: number) =>
  makeOne(fixture.client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(fixed),
  })

const tariffOf = async (home: string): Promise<string | undefined> =>
  ((await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as { data: readonly { id: string }[] }).data[0]?.id

describe('an error in the pure code', () => {
  it('for the zone of one location affects its own records only', async () => {
    const [bad, good] = [
      await makeHome(fixture.client, { import: 0.5 }),
      await makeHome(fixture.client, { import: 0.5 }),
    ]
    await fixture.stop()
    await fixture.database.operator(sql`update locations set timezone = 'Mars/Olympus' where id = ${bad}`)
    await fixture.start()
    const { id } = (await fixture.client.ask('PUT', '/meters/interval', [used(bad, 10, 1), used(good, 10, 1)])) as {
      id: string
    }
    expect(await costsUntil(fixture.client, good, { d10: 0.5 })).toEqual({ d10: 0.5 })
    const [letter] = await until(
      () => letters('prices_failed'),
      all => all.length > 0,
    )
    expect(letter?.reason).toContain('Mars/Olympus')
    const receipt = {
      records_processed: 1,
      failed_records: [{ record_num: 1, error: expect.stringContaining('Mars/Olympus') }],
    }
    expect(await fixture.client.ask('GET', `/meters/batch?batch_id=${id}`)).toMatchObject(receipt)
    // A recost request over the location is dead-lettered too.
    const before = (await letters('order_failed')).length
    await fixture.client.ask('PATCH', `/tariffs/${await tariffOf(bad)}`, { contract_end_date: day(20) })
    const failed = await until(
      () => letters('order_failed'),
      all => all.length > before,
    )
    expect(failed.map(({ reason }) => reason)).toContainEqual(expect.stringContaining(`${bad}: `))
  })

  it.each([
    ['one price', (home: string) => addTariff(home, 0.1)],
    ['tiers', (home: string) => addTiers(fixture.client, home)],
  ])(
    'for a recost request over %s dead-letters the request, and other locations and requests continue',
    async (_, add) => {
      const [bad, good] = [await makeHome(fixture.client, {}), await makeHome(fixture.client, {})]
      await fixture.client.submit([used(bad, 10, 1), used(good, 10, 1)])
      await fixture.stop()
      fixture.gate.unpriceable.add(bad)
      for (const home of [bad, good]) await add(home)
      await fixture.start()
      await fixture.waitUntilRead()
      expect(await costsOf(fixture.client, good)).toEqual({ d10: 0.1 })
      expect(await costsOf(fixture.client, bad)).toEqual({ d10: null })
      const failed = (await letters('order_failed')).filter(({ reason }) => reason.includes(bad))
      expect(failed).toMatchObject([{ reason: expect.stringContaining('The prices of the location are invalid') }])
      expect(await operator('GET', `/${failed[0]?.id}`)).toMatchObject({
        content: { kind: 'order', locationIds: [bad] },
      })
      await fixture.client.submit([used(good, 11, 2)])
      expect(await costsOf(fixture.client, good)).toEqual({ d10: 0.1, d11: 0.2 })
      // After the cause is fixed, the replay of the request prices the remaining rows.
      fixture.gate.unpriceable.clear()
      await replay([failed[0]?.id ?? ''])
      expect(await costsUntil(fixture.client, bad, { d10: 0.1 })).toEqual({ d10: 0.1 })
    },
  )

  it('for a record dead-letters the record with the reason, and its receipt contains the failure', async () => {
    const [bad, good] = [
      await makeHome(fixture.client, { import: 0.5 }),
      await makeHome(fixture.client, { import: 0.5 }),
    ]
    const before = (await letters('cost_failed')).length
    fixture.gate.unpriceable.add(bad)
    const { id } = (await fixture.client.ask('PUT', '/meters/interval', [used(bad, 10, 1), used(good, 10, 1)])) as {
      readonly id: string
    }
    await fixture.waitUntilRead()
    expect(await costsOf(fixture.client, good)).toEqual({ d10: 0.5 })
    const failed = await letters('cost_failed')
    expect(failed).toHaveLength(before + 1)
    expect(await fixture.client.ask('GET', `/meters/batch?batch_id=${id}`)).toMatchObject({
      records_accepted: 2,
      records_processed: 1,
      failed_records: [{ record_num: 1, error: expect.any(String) }],
    })
    fixture.gate.unpriceable.clear()
    await replay([failed[0]?.id ?? ''])
    expect(await costsUntil(fixture.client, bad, { d10: 0.5 })).toEqual({ d10: 0.5 })
  })
})

describe('a partition with too many failing locations', () => {
  it('stops the worker, which reports it, commits nothing, and continues after the cause is fixed', async () => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    const partition = partitionOfLocation(fixture, home)
    const unknownLocations = unknownLocationsIn(fixture, partition, 6).slice(1)
    await fixture.stop()
    const [before, letterCount] = [
      await fixture.log.lag(recordTopic, partition, 'cost-worker'),
      (await letters('location_unknown')).length,
    ]
    for (const id of unknownLocations)
      await appendRecords(fixture, id, [acceptedRecord(fixture, id, { recordReferenceId: 'd2' })])
    await fixture.client.ask('PUT', '/meters/interval', [used(home, 10, 1)])
    await fixture.start({ share: 0.5, minLocations: 3 })
    const live = () => fixture.client.send('GET', '/health/live')
    await until(live, ({ status }) => status === 503)
    expect((await live()).json).toMatchObject({ checks: { 'cost-worker': false } })
    expect((await fixture.log.lag(recordTopic, partition, 'cost-worker')).committed).toBe(before.committed)
    expect(await letters('location_unknown')).toHaveLength(letterCount)
    expect(await costsOf(fixture.client, home)).toEqual({})
    await fixture.stop()
    for (const id of unknownLocations) await found(id)
    await fixture.start({ share: 0.5, minLocations: 3 })
    await fixture.waitUntilRead()
    expect((await live()).status).toBe(200)
    expect(await costsOf(fixture.client, home)).toEqual({ d10: 0.5 })
    for (const id of unknownLocations) expect(await costsOf(fixture.client, id)).toEqual({ d2: null })
    expect(await letters('location_unknown')).toHaveLength(letterCount)
  })
})
