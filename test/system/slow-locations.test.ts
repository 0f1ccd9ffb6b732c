import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { receiptOfBatch } from '../../services/platform/clickhouse/meter-object-reads.ts'
import { laneKey, partitionOf } from '../../services/platform/log/partition.ts'
import { bought, makeHome, makeOne } from '../support/home.ts'
import { type LaneWorld, openLaneWorld } from '../support/lane-world.ts'

const partitions = 4
const minutes = 1_440
const [from, to] = [Date.parse('2024-01-01T00:00:00Z'), Date.parse('2024-01-31T00:00:00Z')]
/** Thirty days of minutes: 43,200 pieces a record. */
const days = 30
const longRecords = 4

let world: LaneWorld

beforeAll(async () => {
  world = await openLaneWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())
afterEach(async () => {
  world.gate.insert = null
  world.gate.gather = null
  await world.stop()
})

const clock = (minute: number): string =>
  `${String(Math.floor(minute / 60) % 24).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`

/** No two neighbours cost the same. A day costs 1 + 2 + … + 1,440 times 0.0001 for a kWh in each minute. */
const minuteSchedule = [
  {
    days_and_hours: [
      {
        hours: Array.from({ length: minutes }, (_, minute) => ({
          ...{ valid_from: clock(minute), valid_to: clock(minute + 1), rate: [{ fixed: (minute + 1) / 10_000 }] },
        })),
      },
    ],
  },
]

const laneOf = (id: string): number => partitionOf(laneKey(world.tenant.accountId, id), partitions)

/** A location with a price a minute, and one with one price in the same lane. */
const makeNeighbours = async (): Promise<{ readonly long: string; readonly plain: string }> => {
  const long = await makeHome(world.client, {}, { timezone: 'UTC' })
  await makeOne(world.client, '/tariffs', { location_id: long, direction: 'IMPORT', type: 'COMMODITY', schedule: minuteSchedule })
  for (;;) {
    const plain = await makeHome(world.client, { import: 0.5 })
    if (laneOf(plain) === laneOf(long)) return { long, plain }
  }
}

/** A record of some watt-hours in each minute. */
const longRecord = (home: string, wattHours: number, reference: string) =>
  bought(home, (wattHours * minutes * days) / 1000, new Date(from).toISOString(), new Date(to).toISOString(), {
    record_reference_id: reference,
  })
const shortRecord = (home: string, kwh: number) => bought(home, kwh, '2024-05-01T10:00:00Z', '2024-05-01T11:00:00Z')
const put = (body: readonly object[]): Promise<{ readonly id: string }> => world.client.ask('PUT', '/meters/interval', body)

const costsOf = async (home: string): Promise<readonly number[]> => {
  const rows = await world.clickHouse.rows(`SELECT toString(cost) FROM meter_cost FINAL
    WHERE account_id = unhex('${world.tenant.accountId.slice(4)}') AND live_mode = false AND location_id = unhex('${home.slice(4)}')
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
  it('keeps no other one of its lane waiting, and nothing of it is committed or told before it is stored', {
    timeout: 240_000,
  }, async () => {
    const { long, plain } = await makeNeighbours()
    await world.start()
    await world.settled()
    await world.stop()
    const slow = await put(Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`)))
    const quick = await put([shortRecord(plain, 2)])
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    // Long rows are not stored before the test says so.
    world.gate.insert = async ({ bytes }, go) => {
      if (bytes.length > 1_000_000) await released
      await go()
    }
    await world.start()
    await until(async () => (await receiptOfBatch(world.clickHouse, world.tenant, quick.id))?.recordsProcessed === 1)
    expect(await costsOf(plain)).toEqual([1])
    // What comes later in the lane passes too, but for what is of the same location.
    await put([shortRecord(plain, 3), bought(long, 1, '2024-05-01T00:00:00Z', '2024-05-01T00:01:00Z', { record_reference_id: 'short' })])
    const corrected = await put([longRecord(long, 100, 'r0')])
    await until(async () => (await costsOf(plain))[0] === 1.5)
    expect(await costsOf(long)).toEqual([])
    expect((await receiptOfBatch(world.clickHouse, world.tenant, slow.id))?.recordsProcessed ?? 0).toBe(0)
    const lag = await world.log.lag('meter.records.v1', laneOf(long), 'cost-worker')
    expect(lag.committed).toBeLessThan(lag.end)
    release()
    await world.settled(120_000)
    expect(await costsOf(long)).toEqual([100, 2, 3, 4].map(longCost).concat([0.0001]))
    for (const { id } of [slow, corrected]) {
      expect(await receiptOfBatch(world.clickHouse, world.tenant, id)).toMatchObject({ failures: [] })
    }
    expect((await receiptOfBatch(world.clickHouse, world.tenant, slow.id))?.recordsProcessed).toBe(longRecords)
  })

  it('is costed the same after a worker was stopped in between, and by a tariff that comes meanwhile', { timeout: 240_000 }, async () => {
    const { long } = await makeNeighbours()
    await put(Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`)))
    world.gate.insert = null
    await world.start()
    await until(async () => (await costsOf(long)).length > 0)
    await world.stop()
    await world.start()
    const { data } = (await world.client.ask('GET', `/tariffs?location_id=${long}`)) as { data: readonly { readonly id: string }[] }
    await world.client.ask('DELETE', `/tariffs/${data[0]?.id}?void=true`)
    await makeOne(world.client, '/tariffs', {
      ...{ location_id: long, direction: 'IMPORT', type: 'COMMODITY' },
      schedule: [{ days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 1 }] }] }] }],
    })
    await world.settled(120_000)
    expect(await costsOf(long)).toEqual([1, 2, 3, 4].map(wattHours => (wattHours * minutes * days) / 1000))
  })
})

/** Hold rows of many pieces until the test lets them go. */
const holdLongRows = (): (() => void) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  world.gate.insert = async ({ bytes }, go) => {
    if (bytes.length > 1_000_000) await released
    await go()
  }
  return release
}

const longRecordsOf = (long: string) => Array.from({ length: longRecords }, (_, index) => longRecord(long, index + 1, `r${index}`))

describe('an account of which much slow work waits', () => {
  it('is refused for the moment, and other accounts are not', { timeout: 240_000 }, async () => {
    const { long, plain } = await makeNeighbours()
    const stranger = await world.makeAccount()
    const other = await makeHome(stranger, { import: 0.5 })
    await world.start(undefined, { slow: { records: 100_000, ofAccount: longRecords, piecesOfAccount: 1e9 } })
    await world.settled()
    const release = holdLongRows()
    await put(longRecordsOf(long))
    const statusOf = async (client: typeof stranger, home: string) =>
      (await client.send('PUT', '/meters/interval', [shortRecord(home, 2)])).status
    await until(async () => (await statusOf(world.client, plain)) === 503)
    expect(await statusOf(stranger, other)).toBe(200)
    release()
    await until(async () => (await statusOf(world.client, plain)) === 200)
    await world.settled(120_000)
    expect(await costsOf(long)).toEqual([1, 2, 3, 4].map(longCost))
  })
})

describe('a worker that has no room for more slow work', () => {
  it('takes no more messages, and tells and commits meanwhile what is stored', { timeout: 240_000 }, async () => {
    const { long, plain } = await makeNeighbours()
    await world.start()
    await world.settled()
    await world.stop()
    const release = holdLongRows()
    const { promise: isCosting, resolve: costing } = Promise.withResolvers<void>()
    const { promise: costed, resolve: cost } = Promise.withResolvers<void>()
    world.gate.gather = async () => {
      costing()
      await costed
    }
    await put(longRecordsOf(long))
    const first = await put([shortRecord(plain, 2)])
    await world.start(undefined, { slow: { records: longRecords, ofAccount: 1e9, piecesOfAccount: 1e12 } })
    await isCosting
    // It is there before the first step ends: the worker has no quiet moment for receipts.
    const second = await put([shortRecord(plain, 3)])
    await sleep(500)
    cost()
    const processed = async ({ id }: { readonly id: string }) =>
      (await receiptOfBatch(world.clickHouse, world.tenant, id))?.recordsProcessed ?? 0
    await until(async () => (await processed(first)) === 1)
    await sleep(1_000)
    expect([await costsOf(plain), await processed(second)]).toEqual([[1], 0])
    release()
    await world.settled(120_000)
    expect([await costsOf(plain), await processed(second)]).toEqual([[1.5], 1])
  })
})
