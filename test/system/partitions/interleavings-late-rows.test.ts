import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { meterCostBlock } from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { Failure } from '../../../services/platform/failure.ts'
import { costRow, hexId } from '../../suites/cost-rows.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf, recordsOf } from '../../support/system/stored-costs.ts'
import { makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
beforeEach(() => fixture.start())
afterEach(async () => {
  fixture.gate.insert = null
  await fixture.stop()
})

const killed = (): Failure => new Failure('killed', 'The process was killed.', { retriable: true })

const used = (home: string, number: number, kwh: number) => {
  const day = `2025-06-${String(number).padStart(2, '0')}`
  return bought(home, kwh, `${day}T08:00:00Z`, `${day}T09:00:00Z`, { record_reference_id: `d${number}` })
}
const put = (records: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', records)

const rowsOf = async (home: string) =>
  (await recordsOf(fixture.client, home)).toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** Start another worker from the committed offsets. */
const takeOver = async (): Promise<void> => {
  await fixture.stop()
  await fixture.start()
  await fixture.waitUntilRead()
}

describe('late rows of a paused worker', () => {
  /** Delay the next insert of cost rows: the worker sees a failure, and `land` inserts the rows later. */
  const blockInsert = () => {
    const { promise, resolve } = Promise.withResolvers<() => Promise<void>>()
    fixture.gate.insert = async (rows, go) => {
      if (rows.table !== 'meter_cost') return go()
      fixture.gate.insert = null
      resolve(go)
      throw killed()
    }
    return promise
  }

  const merged = async (home: string): Promise<void> => {
    await fixture.clickHouse.command('OPTIMIZE TABLE meter_cost FINAL')
    const rows = await fixture.clickHouse.rows(
      `SELECT toUInt32(count()) FROM meter_cost WHERE location_id = unhex('${home.slice(4)}') AND account_id = unhex('${fixture.tenant.accountId.slice(4)}')`,
    )
    expect(rows).toEqual([[(await recordsOf(fixture.client, home)).length]])
  }

  it.each(['one price', 'tiers'])(
    'lose against rows that a recost request has changed since, merged or not; %s',
    async kind => {
      const home =
        kind === 'tiers' ? await makeTieredHome(fixture.client) : await makeHome(fixture.client, { import: 0.2 })
      const blocked = blockInsert()
      await put([used(home, 1, 6), used(home, 2, 6)])
      const land = await blocked
      await takeOver()
      const list = (await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as {
        data: readonly { id: string }[]
      }
      await fixture.client.ask('DELETE', `/tariffs/${list.data[0]?.id}?void=true`)
      await makeOne(fixture.client, '/tariffs', {
        location_id: home,
        direction: 'IMPORT',
        type: 'COMMODITY',
        schedule: priceSchedule(0.5),
      })
      await fixture.waitUntilRead()
      const before = await rowsOf(home)
      expect(await costsOf(fixture.client, home)).toEqual({ d1: 3, d2: 3 })
      await land()
      expect(await rowsOf(home)).toEqual(before)
      await merged(home)
      expect(await rowsOf(home)).toEqual(before)
    },
  )

  it('lose against a correction, and against later rows that a late record has changed', async () => {
    const home = await makeTieredHome(fixture.client)
    const blocked = blockInsert()
    await put([used(home, 3, 6), used(home, 4, 6)])
    const land = await blocked
    await takeOver()
    await fixture.client.submit([used(home, 2, 9)])
    await fixture.client.submit([used(home, 4, 1)])
    // 9 × 0.1; 1 × 0.1 + 5 × 0.5; 1 × 0.5
    const wanted = { d2: 0.9, d3: 2.6, d4: 0.5 }
    expect(await costsOf(fixture.client, home)).toEqual(wanted)
    await land()
    expect(await costsOf(fixture.client, home)).toEqual(wanted)
    await merged(home)
    expect(await costsOf(fixture.client, home)).toEqual(wanted)
  })
})

describe('rows of the same version', () => {
  const rounds = 4
  const start = Date.UTC(2024, 0, 1)

  const reading = async (locationId: string, threads: number) =>
    fixture.clickHouse.rows(`SELECT lower(hex(record_id)), toString(cost) FROM meter_cost FINAL
      WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND location_id = unhex('${locationId.slice(4)}')
      ORDER BY record_id SETTINGS max_threads=${threads}`)

  it('read the same with few and many threads, merged or not: the latest rows', async () => {
    const locationId = await makeHome(fixture.client, {})
    // Each round inserts the same 300 rows, over many months, with another cost.
    for (let round = 1; round <= rounds; round += 1) {
      const rows = Array.from({ length: 300 }, (_, i) =>
        costRow({
          ...fixture.tenant,
          locationId,
          recordId: hexId('', i),
          start: start + i * 86_400_000,
          version: 7n,
          sourceVersion: 7n,
          cost: BigInt(round),
          pieces: [],
        }),
      )
      await fixture.clickHouse.insert(
        meterCostBlock(rows.map(row => ({ ...row, cost: BigInt(round) * 1_000_000_000n }))),
      )
    }
    const wanted = Array.from({ length: 300 }, (_, i) => [hexId('', i), String(rounds)])
    const same = (rows: readonly (readonly unknown[])[]) => rows.map(([id, cost]) => [id, String(Number(cost))])
    for (const threads of [1, 2, 8, 8, 8]) expect(same(await reading(locationId, threads))).toEqual(wanted)
    await fixture.clickHouse.command('OPTIMIZE TABLE meter_cost FINAL')
    for (const threads of [1, 8]) expect(same(await reading(locationId, threads))).toEqual(wanted)
  })
})
