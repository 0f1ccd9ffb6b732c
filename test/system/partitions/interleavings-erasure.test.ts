import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { receiptOfBatch } from '../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { dueErasures } from '../../../services/platform/postgres/registry/erasures.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { costsOf, costsUntil } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
afterEach(() => {
  fixture.gate.insert = null
})

let devices = 0
const makeDevice = (): Promise<string> => makeOne(fixture.client, '/devices', { reference_id: `charger ${devices++}` })

const used = (home: string, number: number, kwh: number, more: object = {}) => {
  const day = `2025-06-${String(number).padStart(2, '0')}`
  return bought(home, kwh, `${day}T08:00:00Z`, `${day}T09:00:00Z`, { record_reference_id: `d${number}`, ...more })
}
const put = (records: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', records)

/** Erase as an operator does, and wait until the partitions have the erase requests. */
const erase = async (objectId: string): Promise<void> => {
  const args = ['erase', objectId, '--account', fixture.tenant.accountId, '--mode', 'test']
  expect(
    await runCommand(args, { WATTLEDGER_DATA_DIR: fixture.folder, WATTLEDGER_POSTGRES_URL: fixture.postgresUrl }),
  ).toMatchObject({
    code: 0,
  })
  await until(
    () => dueErasures(fixture.database.operator, Date.now(), 10),
    due => due.length === 0,
  )
}

/** Return the tables that still contain a device. */
const tracesOf = async (deviceId: string): Promise<readonly string[]> => {
  const traces: string[] = []
  const tables = await fixture.clickHouse.rows(
    "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'device_id' ORDER BY table",
  )
  for (const [table] of tables) {
    const [row] = await fixture.clickHouse.rows(
      `SELECT toUInt32(count()) FROM ${table} WHERE device_id = unhex('${deviceId.slice(4)}')`,
    )
    if (row?.[0] !== 0) traces.push(`${table}: ${row?.[0]}`)
  }
  return traces
}

it('an erased device leaves no row, and the other costs of its location are recosted', async () => {
  const [home, device] = [await makeTieredHome(fixture.client), await makeDevice()]
  const { id } = (await fixture.client.submit([
    used(home, 1, 6, { device_id: device }),
    used(home, 2, 6),
    used(home, 3, 2),
  ])) as {
    readonly id: string
  }
  const data = [0, 3].map(value => ({ time: Date.parse('2025-06-04T00:00:00Z') / 1000 + value * 3600, value }))
  await fixture.client.ask('PUT', '/meters/cumulative/epoch', {
    location_id: home,
    device_id: device,
    units: 'KWH',
    data,
  })
  await fixture.waitUntilRead()
  expect(await costsOf(fixture.client, home)).toMatchObject({ d1: 0.6, d2: 1.4, d3: 1 })
  expect(await tracesOf(device)).not.toEqual([])
  await erase(device)
  // 6 × 0.1; 2 × 0.1
  expect(await costsUntil(fixture.client, home, { d2: 0.6, d3: 0.2 })).toEqual({ d2: 0.6, d3: 0.2 })
  await fixture.waitUntilRead()
  expect(await tracesOf(device)).toEqual([])
  await fixture.client.submit([used(home, 4, 4)])
  // 2 × 0.1 + 2 × 0.5
  expect(await costsOf(fixture.client, home)).toEqual({ d2: 0.6, d3: 0.2, d4: 1.2 })
  expect(await receiptOfBatch(fixture.clickHouse, fixture.tenant, id)).toMatchObject({
    recordsProcessed: 3,
    failures: [],
  })
})

it('waiting records and readings of an erased device are not stored and count nothing', async () => {
  const [home, device] = [await makeTieredHome(fixture.client), await makeDevice()]
  await fixture.client.submit([used(home, 5, 1)])
  await fixture.stop()
  const { id } = await put([used(home, 1, 6, { device_id: device }), used(home, 2, 6)])
  const data = [0, 3].map(value => ({ time: Date.parse('2025-06-04T00:00:00Z') / 1000 + value * 3600, value }))
  await fixture.client.ask('PUT', '/meters/cumulative/epoch', {
    location_id: home,
    device_id: device,
    units: 'KWH',
    data,
  })
  await erase(device)
  await fixture.start()
  await fixture.waitUntilRead()
  expect(await costsOf(fixture.client, home)).toEqual({ d2: 0.6, d5: 0.1 })
  expect(await tracesOf(device)).toEqual([])
  expect(await receiptOfBatch(fixture.clickHouse, fixture.tenant, id)).toMatchObject({
    recordsSubmitted: 2,
    failures: [],
  })
})

it('rows of a device that are inserted during its erasure are removed too', async () => {
  const [home, device] = [await makeTieredHome(fixture.client), await makeDevice()]
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  fixture.gate.insert = async (rows, go) => {
    if (rows.table === 'meter_cost') {
      fixture.gate.insert = null
      reached.resolve()
      await released.promise
    }
    await go()
  }
  await put([used(home, 1, 9, { device_id: device }), used(home, 2, 6)])
  await reached.promise
  await put([used(home, 3, 3), used(home, 4, 1, { device_id: device })])
  await erase(device)
  released.resolve()
  await fixture.waitUntilRead()
  const wanted = { d2: 0.6, d3: 0.3 }
  expect(await costsUntil(fixture.client, home, wanted)).toEqual(wanted)
  await fixture.waitUntilRead()
  expect(await tracesOf(device)).toEqual([])
})
