import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { receiptOfBatch } from '../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { Failure } from '../../../services/platform/failure.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { costsOf, recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
beforeEach(() => fixture.start())
const openGates = (): void => {
  fixture.gate.insert = null
  fixture.gate.commit = null
  fixture.gate.append = null
}

afterEach(async () => {
  openGates()
  await fixture.stop()
})

const killed = (): Failure => new Failure('killed', 'The process was killed.', { retriable: true })

const used = (home: string, number: number, kwh: number) => {
  const day = `2025-06-${String(number).padStart(2, '0')}`
  return bought(home, kwh, `${day}T08:00:00Z`, `${day}T09:00:00Z`, { record_reference_id: `d${number}` })
}
const put = (records: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', records)

/** Return the current receipt without a wait. */
const receiptOf = (id: string) => receiptOfBatch(fixture.clickHouse, fixture.tenant, id)
const processedOf = async (id: string): Promise<number> => (await receiptOf(id))?.recordsProcessed ?? 0

const readings = (
  home: string,
  ...shown: readonly (readonly [hour: number, kwh: number])[]
): Promise<{ readonly id: string }> => {
  const data = shown.map(([hour, value]) => ({ time: Date.parse('2025-06-10T00:00:00Z') / 1000 + hour * 3600, value }))
  return fixture.client.ask('PUT', '/meters/cumulative/epoch', { location_id: home, units: 'KWH', data })
}

/** Return all rows of a location with all their columns. */
const rowsOf = async (home: string) =>
  (await recordsOf(fixture.client, home)).map(record => ({ ...record })).toSorted((a, b) => (a.id < b.id ? -1 : 1))

const tables = ['meter_cost', 'meter_batch_failures', 'meter_readings', 'meter_batch_parts', 'meter_batches'] as const

/** Kill the process at its `at`th insert into a table: before the insert, or after it, when the rows are stored. */
const dieAt = (table: string, stored: boolean, at = 1): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  let isDead = false
  fixture.gate.insert = async (rows, go) => {
    if (rows.table === table) seen += 1
    const isHere = rows.table === table && seen === at
    if (isHere && stored && !isDead) await go()
    if (isDead || isHere) {
      isDead = true
      resolve()
      throw killed()
    }
    await go()
  }
  fixture.gate.commit = async (_, go) => {
    if (isDead) throw killed()
    await go()
  }
  return promise
}

/** Start another worker from the committed offsets. */
const takeOver = async (): Promise<void> => {
  await fixture.stop()
  openGates()
  await fixture.start()
  await fixture.waitUntilRead()
}

const points = [...tables.flatMap(table => [[table, false] as const, [table, true] as const])]

describe.each(points)('a crash at the insert into %s, its rows stored: %s', (table, stored) => {
  it('leaves the same rows and receipts, without duplicates', async () => {
    const [tiered, register] = [await makeTieredHome(fixture.client), await makeHome(fixture.client, { import: 0.5 })]
    await fixture.client.submit([used(tiered, 1, 6), used(tiered, 2, 6)])
    await readings(register, [0, 100], [1, 110])
    await fixture.waitUntilRead()
    const died = dieAt(table, stored)
    // The second reading decreases; the third reading is the start of its own interval.
    const [batch, fallen] = [
      await put([used(tiered, 3, 1), used(tiered, 1, 3)]),
      await readings(register, [2, 90], [3, 95]),
    ]
    await died
    const before = await processedOf(batch.id)
    await takeOver()
    // 3 × 0.1; 6 × 0.1; 1 × 0.1
    expect(await costsOf(fixture.client, tiered)).toEqual({ d1: 0.3, d2: 0.6, d3: 0.1 })
    expect(await recordsOf(fixture.client, tiered)).toHaveLength(3)
    expect(await receiptOf(batch.id)).toMatchObject({ recordsSubmitted: 2, recordsProcessed: 2, failures: [] })
    expect(before).toBeLessThanOrEqual(2)
    expect(await receiptOf(fallen.id)).toMatchObject({ recordsProcessed: 1, failures: [{ recordNumber: 1 }] })
    expect((await rowsOf(register)).map(({ data }) => data.energy.value).toSorted()).toEqual([10_000, 5000])
    // Counted on from the stored rows: 10 kWh, and the next record fills nothing more.
    await fixture.client.submit([used(tiered, 4, 1)])
    expect(await costsOf(fixture.client, tiered)).toEqual({ d1: 0.3, d2: 0.6, d3: 0.1, d4: 0.5 })
  })
})

/** Kill the process when it appends the rest of a recost request: before the append, or after it. */
const dieAtPutBack = (appended: boolean): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isDead = false
  fixture.gate.append = async (_, go) => {
    if (appended && !isDead) await go()
    isDead = true
    resolve()
    throw killed()
  }
  fixture.gate.insert = async (_, go) => {
    if (isDead) throw killed()
    await go()
  }
  fixture.gate.commit = async (_, go) => {
    if (isDead) throw killed()
    await go()
  }
  return promise
}

it.each([false, true])(
  'a crash when the rest of a recost request is appended, in the partition: %s, leaves each row recosted once',
  { timeout: 90_000 },
  async appended => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    // More months than one step handles of a request.
    const months = Array.from({ length: 40 }, (_, month) => new Date(Date.UTC(2020, month, 3)))
    const records = months.map(at => bought(home, 2, at.toISOString(), new Date(at.getTime() + 900_000).toISOString()))
    await fixture.client.submit(records)
    const died = dieAtPutBack(appended)
    const { data } = (await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as {
      readonly data: readonly { readonly id: string }[]
    }
    await fixture.client.ask('DELETE', `/tariffs/${data[0]?.id}?void=true`)
    await died
    await takeOver()
    const rows = await rowsOf(home)
    expect(rows).toHaveLength(months.length)
    expect(new Set(rows.map(({ data }) => data.tariff.cost.value))).toEqual(new Set([null]))
  },
)

it('a stop does not wait for a store that hangs, and rows that were not stored are stored after the next start', {
  timeout: 90_000,
}, async () => {
  const home = await makeHome(fixture.client, { import: 0.5 })
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  fixture.gate.insert = () => {
    resolve()
    return new Promise(() => undefined)
  }
  await put([bought(home, 2, '2025-06-01T08:00:00Z', '2025-06-01T09:00:00Z', { record_reference_id: 'kept' })])
  await begun
  const startedAt = performance.now()
  await fixture.stop()
  expect(performance.now() - startedAt).toBeLessThan(15_000)
  await takeOver()
  expect(await costsOf(fixture.client, home)).toEqual({ kept: 1 })
})

it('repeated crashes before the commit change nothing and lose no receipt', async () => {
  const home = await makeTieredHome(fixture.client)
  let commits = 0
  fixture.gate.commit = async (_, go) => {
    commits += 1
    if (commits < 4) throw killed()
    await go()
  }
  const ids: string[] = []
  for (let number = 1; number <= 5; number += 1) ids.push((await put([used(home, number, 4)])).id)
  const seen: number[][] = []
  await until(
    async () => {
      seen.push(await Promise.all(ids.map(processedOf)))
      return commits
    },
    count => count >= 4,
  )
  await fixture.waitUntilRead()
  for (const [index, receipts] of seen.entries())
    for (const [one, processed] of receipts.entries())
      expect(processed).toBeGreaterThanOrEqual(seen[index - 1]?.[one] ?? 0)
  for (const id of ids) expect(await processedOf(id)).toBe(1)
  // 4 × 0.1; 4 × 0.1; 2 × 0.1 + 2 × 0.5; 4 × 0.5 twice
  expect(await costsOf(fixture.client, home)).toEqual({ d1: 0.4, d2: 0.4, d3: 1.2, d4: 2, d5: 2 })
})
