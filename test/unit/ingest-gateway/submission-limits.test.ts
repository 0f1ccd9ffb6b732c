import { describe, expect, it } from 'vitest'
import { currentInstant } from '../../../services/platform/clock.ts'
import { type Assignment, recordTopic } from '../../../services/platform/log/log.ts'
import { deleteDevice } from '../../../services/platform/postgres/registry/devices.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import { callAs, makeObjects, openGateway, readPartitions, recordsOf } from '../../support/metering/gateway.ts'
import { call, gateway, live, many, record, submit, useGateway } from '../../support/metering/submissions.ts'
import { makeTenants } from '../../support/stores/postgres.ts'

useGateway()

describe('limits', () => {
  it('takes 10,000 records and refuses 10,001', async () => {
    expect(await submit(many(10_000))).toMatchObject({ records_accepted: 10_000 })
    const answer = await call('PUT', '/meters/interval', many(10_001))
    expect([answer.status, answer.body['code']]).toEqual([400, 'too_many_records'])
  })

  it('takes a record of 8 KiB and refuses one of a byte more, alone', async () => {
    const padded = (length: number): string => {
      const text = JSON.stringify(record(0))
      return `${text.slice(0, -1)}${' '.repeat(length - text.length)}}`
    }
    const batch = await submit(`[${padded(8192)},${JSON.stringify(record(1))}]`)
    expect(batch.records_accepted).toBe(2)
    const larger = await submit(`[${padded(8193)},${JSON.stringify(record(1))}]`)
    expect(larger.failed_records.map(failed => failed.record_num)).toEqual([1])
  })

  it.each([
    ['an empty list', '[]', 400],
    ['an object', '{}', 400],
    ['no JSON', '[{]', 400],
    ['nothing', '', 400],
    ['a number', '17', 400],
    ['a member twice', '[{"value":1,"value":2}]', 400],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 400],
    ['half a surrogate', '["\\ud800"]', 400],
    ['bytes that are not UTF-8', '\u00ff', 400],
    ['more than 16 MiB', `[${' '.repeat(16 * 2 ** 20)}]`, 413],
  ])('refuses %s as a whole', async (_, body, status) => {
    const bytes = body === '\u00ff' ? Buffer.from([0x5b, 0xff, 0x5d]) : body
    const headers = { authorization: `Bearer ${live.accountId}/live`, 'content-type': 'application/json' }
    const response = await gateway.app.request('/meters/interval', { method: 'PUT', headers, body: bytes })
    expect([response.status, ((await response.json()) as { object: string }).object]).toEqual([status, 'error'])
    const earlier = await gateway.app.request('/meters/interval', {
      method: 'PUT',
      headers: { ...headers, 'api-version': '2024-08-24' },
      body: bytes,
    })
    expect(earlier.status).toBe(status === 400 ? 409 : status)
  })

  it('never answers 5xx to elements of any kind', async () => {
    const odd = [
      null,
      true,
      1e300,
      'x',
      [],
      [[]],
      {},
      { location_id: {} },
      { ...record(0), value: [] },
      { ...record(0), start_time: {} },
    ]
    const batch = await submit(odd)
    expect(batch).toMatchObject({ records_submitted: odd.length, records_accepted: 0 })
    expect(gateway.faults).toEqual([])
  })
})

describe('stores that are away or full', () => {
  it('answers 503 when the log is full, and acknowledges nothing', async () => {
    await using small = await openGateway({ capacityBytes: 300_000 }, gateway.clickHouse)
    const tenant = (await makeTenants(small.database)).live
    const objects = await makeObjects(small, tenant, 'home')
    const records = (round: number) =>
      many(500).map((one, index) => ({
        ...one,
        location_id: objects.locationId,
        record_reference_id: `${round}-${index}`,
      }))
    const acknowledged: string[] = []
    let refusal = await callAs(small.app, tenant)('PUT', '/meters/interval', records(0))
    for (let round = 1; refusal.status === 200 && round < 50; round += 1) {
      acknowledged.push(String(refusal.body['id']))
      refusal = await callAs(small.app, tenant)('PUT', '/meters/interval', records(round))
    }
    expect([refusal.status, refusal.body['code'], refusal.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '5',
    ])
    expect(refusal.text).not.toContain('bat_')
    const written = await readPartitions(small)
    expect(acknowledged.length).toBeGreaterThan(0)
    for (const id of acknowledged) expect(recordsOf(written, id)).toHaveLength(500)
    // The ledger counts durable records, acknowledged or not.
    const durable = written
      .flatMap(({ message }) => (message.kind === 'records' ? message.parts : []))
      .flatMap(part => part.records)
    expect(small.counted.accepted).toBe(durable.length)
  })

  it('refuses records and readings while unread messages fill half of the partition', async () => {
    await using small = await openGateway({ capacityBytes: 300_000, partitions: 1 }, gateway.clickHouse)
    const tenant = (await makeTenants(small.database)).live
    const objects = await makeObjects(small, tenant, 'home')
    const ask = callAs(small.app, tenant)
    const records = many(500).map(one => ({ ...one, location_id: objects.locationId }))
    const readings = {
      location_id: objects.locationId,
      units: 'WH',
      data: [{ time: Math.floor(currentInstant() / 1000) - 60, value: 1 }],
    }
    const statuses = async (): Promise<readonly number[]> => {
      await small.refreshBacklog(currentInstant())
      return [
        (await ask('PUT', '/meters/interval', records)).status,
        (await ask('PUT', '/meters/cumulative/epoch', readings)).status,
      ]
    }
    let taken = await statuses()
    for (let round = 0; taken[0] === 200 && round < 20; round += 1) taken = await statuses()
    expect(taken).toEqual([503, 503])
    const { end, fill } = await small.log.lag(recordTopic, 0, 'cost-worker')
    expect(fill).toBeGreaterThanOrEqual(0.5)
    const assignments: Assignment[] = []
    await small.log.subscribe(recordTopic, 'cost-worker', assignment => void assignments.push(assignment))
    await assignments[0]?.commit(end)
    expect(await statuses()).toEqual([200, 200])
  })

  it('accepts cached objects while PostgreSQL is unavailable, and answers 503 for others', async () => {
    await using alone = await openGateway({}, gateway.clickHouse)
    const tenant = (await makeTenants(alone.database)).live
    const objects = await makeObjects(alone, tenant, 'home')
    const send = (change: object) =>
      callAs(alone.app, tenant)('PUT', '/meters/interval', [record(0, { location_id: objects.locationId, ...change })])
    expect((await send({})).body['records_accepted']).toBe(1)
    alone.severPostgres()
    expect((await send({ value: 7 })).body['records_accepted']).toBe(1)
    const unknown = await send({ device_id: objects.deviceId })
    expect([unknown.status, unknown.body['code']]).toEqual([503, 'unavailable'])
  })

  it('refuses a device that was deleted', async () => {
    const objects = await makeObjects(gateway, live, 'gone')
    await withTenant(gateway.database, live, transaction =>
      deleteDevice(transaction, objects.deviceId, currentInstant()),
    )
    expect((await submit([record(0, { device_id: objects.deviceId })])).failed_records).toHaveLength(1)
  })
})
