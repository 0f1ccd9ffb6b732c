import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { receiptOfBatch } from '../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'

const partitions = 4
const minutes = 1_440
const [from, to] = [Date.parse('2024-01-01T00:00:00Z'), Date.parse('2024-01-31T00:00:00Z')]
/** Thirty days of minutes: 43,200 pieces per record. */
const days = 30
const longRecords = 4

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
afterEach(async () => {
  fixture.gate.insert = null
  fixture.gate.gather = null
  await fixture.stop()
})

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60) % 24).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`

/** Neighbours never cost the same. A day costs 1 + 2 + … + 1,440 times 0.0001 with 1 kWh in each minute. */
const minuteSchedule = [
  {
    days_and_hours: [
      {
        hours: Array.from({ length: minutes }, (_, minute) => ({
          valid_from: clock(minute),
          valid_to: clock(minute + 1),
          rate: [{ fixed: (minute + 1) / 10_000 }],
        })),
      },
    ],
  },
]

const partitionOfLocation = (id: string): number => partitionOf(partitionKey(fixture.tenant.accountId, id), partitions)

/** Create a location with a price per minute, and a location with one price in the same partition. */
const makeNeighbours = async (): Promise<{ readonly long: string; readonly plain: string }> => {
  const long = await makeHome(fixture.client, {}, { timezone: 'UTC' })
  await makeOne(fixture.client, '/tariffs', {
    location_id: long,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: minuteSchedule,
  })
  for (;;) {
    const plain = await makeHome(fixture.client, { import: 0.5 })
    if (partitionOfLocation(plain) === partitionOfLocation(long)) return { long, plain }
  }
}

/** Create a record with these watt-hours in each minute. */
const longRecord = (home: string, wattHours: number, reference: string) =>
  bought(home, (wattHours * minutes * days) / 1000, new Date(from).toISOString(), new Date(to).toISOString(), {
    record_reference_id: reference,
  })
const shortRecord = (home: string, kwh: number) => bought(home, kwh, '2024-05-01T10:00:00Z', '2024-05-01T11:00:00Z')
const put = (body: readonly object[]): Promise<{ readonly id: string }> =>
  fixture.client.ask('PUT', '/meters/interval', body)

const costsOf = async (home: string): Promise<readonly number[]> => {
  const rows = await fixture.clickHouse.rows(`SELECT toString(cost) FROM meter_cost FINAL
    WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND location_id = unhex('${home.slice(4)}')
    ORDER BY record_reference_id`)
  return rows.map(([cost]) => Number(cost))
}
const longCost = (wattHours: number): number => (((days * minutes * (minutes + 1)) / 2) * wattHours) / 1e7

const until = async (isReached: () => Promise<boolean>): Promise<void> => {
  for (const deadline = performance.now() + 60_000; !(await isReached()); await sleep(20)) {
    if (performance.now() > deadline) throw new Error('it did not happen within 60 s')
  }
}

describe('a location whose records take long to cost', () => {
  it('delays no other location of its partition, and is not committed or counted before it is stored', {
    timeout: 240_000,
  }, async () => {
    const { long, plain } = await makeNeighbours()
    await fixture.start()
    await fixture.waitUntilRead()
    await fixture.stop()
    const slow = await put(Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`)))
    const quick = await put([shortRecord(plain, 2)])
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    // The test decides when the long rows are stored.
    fixture.gate.insert = async ({ bytes }, go) => {
      if (bytes.length > 1_000_000) await released
      await go()
    }
    await fixture.start()
    await until(
      async () => (await receiptOfBatch(fixture.clickHouse, fixture.tenant, quick.id))?.recordsProcessed === 1,
    )
    expect(await costsOf(plain)).toEqual([1])
    // Later messages of the partition pass too, except messages of the same location.
    await put([
      shortRecord(plain, 3),
      bought(long, 1, '2024-05-01T00:00:00Z', '2024-05-01T00:01:00Z', { record_reference_id: 'short' }),
    ])
    const corrected = await put([longRecord(long, 100, 'r0')])
    await until(async () => (await costsOf(plain))[0] === 1.5)
    expect(await costsOf(long)).toEqual([])
    expect((await receiptOfBatch(fixture.clickHouse, fixture.tenant, slow.id))?.recordsProcessed ?? 0).toBe(0)
    const lag = await fixture.log.lag(recordTopic, partitionOfLocation(long), 'cost-worker')
    expect(lag.committed).toBeLessThan(lag.end)
    release()
    await fixture.waitUntilRead(120_000)
    expect(await costsOf(long)).toEqual([100, 2, 3, 4].map(longCost).concat([0.0001]))
    for (const { id } of [slow, corrected]) {
      expect(await receiptOfBatch(fixture.clickHouse, fixture.tenant, id)).toMatchObject({ failures: [] })
    }
    expect((await receiptOfBatch(fixture.clickHouse, fixture.tenant, slow.id))?.recordsProcessed).toBe(longRecords)
  })

  it('costs the same after a worker was stopped in between, and with a tariff that arrives meanwhile', {
    timeout: 240_000,
  }, async () => {
    const { long } = await makeNeighbours()
    await put(Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`)))
    fixture.gate.insert = null
    await fixture.start()
    await until(async () => (await costsOf(long)).length > 0)
    await fixture.stop()
    await fixture.start()
    const { data } = (await fixture.client.ask('GET', `/tariffs?location_id=${long}`)) as {
      data: readonly { readonly id: string }[]
    }
    await fixture.client.ask('DELETE', `/tariffs/${data[0]?.id}?void=true`)
    await makeOne(fixture.client, '/tariffs', {
      location_id: long,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: [
        { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 1 }] }] }] },
      ],
    })
    await fixture.waitUntilRead(120_000)
    expect(await costsOf(long)).toEqual([1, 2, 3, 4].map(wattHours => (wattHours * minutes * days) / 1000))
  })
})

/** Delay rows with many pieces until the test releases them. */
const delayLongRows = (): (() => void) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  fixture.gate.insert = async ({ bytes }, go) => {
    if (bytes.length > 1_000_000) await released
    await go()
  }
  return release
}

const longRecordsOf = (long: string) =>
  Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`))

describe('an account with much waiting slow work', () => {
  it('is refused temporarily, and other accounts are not', { timeout: 240_000 }, async () => {
    const { long, plain } = await makeNeighbours()
    const otherAccount = await fixture.makeAccount()
    const other = await makeHome(otherAccount, { import: 0.5 })
    await fixture.start(undefined, {
      slow: { maxRecords: 100_000, maxRecordsPerAccount: longRecords, maxPiecesPerAccount: 1e9 },
    })
    await fixture.waitUntilRead()
    const release = delayLongRows()
    await put(longRecordsOf(long))
    const statusOf = async (client: typeof otherAccount, home: string) =>
      (await client.send('PUT', '/meters/interval', [shortRecord(home, 2)])).status
    await until(async () => (await statusOf(fixture.client, plain)) === 503)
    expect(await statusOf(otherAccount, other)).toBe(200)
    release()
    await until(async () => (await statusOf(fixture.client, plain)) === 200)
    await fixture.waitUntilRead(120_000)
    expect(await costsOf(long)).toEqual([1, 2, 3, 4].map(longCost))
  })
})

describe('a worker without capacity for more slow work', () => {
  it('fetches no more messages, and still reports and commits stored work', { timeout: 240_000 }, async () => {
    const { long, plain } = await makeNeighbours()
    await fixture.start()
    await fixture.waitUntilRead()
    await fixture.stop()
    const release = delayLongRows()
    const { promise: isCosting, resolve: costing } = Promise.withResolvers<void>()
    const { promise: costed, resolve: cost } = Promise.withResolvers<void>()
    fixture.gate.gather = async () => {
      costing()
      await costed
    }
    await put(longRecordsOf(long))
    const first = await put([shortRecord(plain, 2)])
    await fixture.start(undefined, {
      slow: { maxRecords: longRecords, maxRecordsPerAccount: 1e9, maxPiecesPerAccount: 1e12 },
    })
    await isCosting
    // The message is there before the first step ends, so the worker has no idle time for receipts.
    const second = await put([shortRecord(plain, 3)])
    await sleep(500)
    cost()
    const processed = async ({ id }: { readonly id: string }) =>
      (await receiptOfBatch(fixture.clickHouse, fixture.tenant, id))?.recordsProcessed ?? 0
    await until(async () => (await processed(first)) === 1)
    await sleep(1_000)
    expect([await costsOf(plain), await processed(second)]).toEqual([[1], 0])
    release()
    await fixture.waitUntilRead(120_000)
    expect([await costsOf(plain), await processed(second)]).toEqual([[1.5], 1])
  })
})
