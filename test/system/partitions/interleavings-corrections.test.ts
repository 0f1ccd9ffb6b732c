import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf, recordsOf } from '../../support/system/stored-costs.ts'
import { addTiers, makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

const day = (number: number): string => `2025-06-${String(number).padStart(2, '0')}T08:00:00Z`
const later = (number: number): string => day(number).replace('T08', 'T09')

/** Create a record of one hour of a day, with the day as its name. */
const used = (home: string, number: number, kwh: number) =>
  bought(home, kwh, day(number), later(number), { record_reference_id: `d${number}` })

/** Send without a wait for the worker. */
const put = (...records: readonly object[]): Promise<void> => fixture.client.ask('PUT', '/meters/interval', records)

/** Send while no worker runs: all messages are in the partitions before a new worker begins to read. */
const whileAway = async (work: () => Promise<void>): Promise<void> => {
  await fixture.stop()
  await work()
  await fixture.start()
  await fixture.waitUntilRead()
}

const costs = (home: string) => costsOf(fixture.client, home)

const tariffOf = async (home: string): Promise<string> =>
  ((await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as { data: readonly { id: string }[] }).data[0]
    ?.id ?? ''

/** Replace the tariff of the location. This sends two recost requests over all time. */
const reprice = async (home: string, fixed: number): Promise<void> => {
  await fixture.client.ask('DELETE', `/tariffs/${await tariffOf(home)}?void=true`)
  await makeOne(fixture.client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(fixed),
  })
}

describe('a location with tiers', () => {
  // 6 × 0.1; 4 × 0.1 + 2 × 0.5; 1 × 0.5; 2 × 0.5
  const four = (home: string) => [used(home, 1, 6), used(home, 2, 6), used(home, 3, 1), used(home, 4, 2)] as const
  const inOrder = { d1: 0.6, d2: 1.4, d3: 0.5, d4: 1 }

  it.each([
    ['the last record of a tier', 1],
    ['a record in the middle', 2],
    ['the newest record', 3],
  ])('%s sent again changes nothing', async (_, index) => {
    const home = await makeTieredHome(fixture.client)
    const records = four(home)
    await fixture.client.submit(records)
    const before = await recordsOf(fixture.client, home)
    await fixture.client.submit([records[index as 1]])
    const plain = (all: typeof before) =>
      all.map(({ id, data, status }) => [id, data.energy, data.tariff.cost.value, status])
    expect(plain(await recordsOf(fixture.client, home))).toEqual(plain(before))
    expect(await costs(home)).toEqual(inOrder)
    await whileAway(() => put(records[index as 1]))
    expect(await costs(home)).toEqual(inOrder)
    // Later records still count the 15 kWh of the stored records.
    await fixture.client.submit([used(home, 5, 1)])
    expect(await costs(home)).toEqual({ ...inOrder, d5: 0.5 })
  })

  it('a correction recosts the later records only', async () => {
    const home = await makeTieredHome(fixture.client)
    await fixture.client.submit(four(home))
    await fixture.client.submit([used(home, 2, 1)])
    // 6 × 0.1; 1 × 0.1; 1 × 0.1; 2 × 0.1
    expect(await costs(home)).toEqual({ d1: 0.6, d2: 0.1, d3: 0.1, d4: 0.2 })
    await fixture.client.submit([used(home, 1, 12)])
    // 10 × 0.1 + 2 × 0.5; the rest × 0.5
    expect(await costs(home)).toEqual({ d1: 2, d2: 0.5, d3: 0.5, d4: 1 })
    await fixture.client.submit([used(home, 1, 0)])
    // Cancelled: the record counts 0.
    expect(await costs(home)).toEqual({ d1: 0, d2: 0.1, d3: 0.1, d4: 0.2 })
  })

  it('a correction and its record that wait together have the cost of the correction', async () => {
    const home = await makeTieredHome(fixture.client)
    await whileAway(async () => {
      await put(...four(home))
      await put(used(home, 2, 1))
      await put(used(home, 2, 6))
    })
    expect(await costs(home)).toEqual(inOrder)
  })
})

describe.each([
  [
    'one price',
    (home: string) =>
      makeOne(fixture.client, '/tariffs', {
        location_id: home,
        direction: 'IMPORT',
        type: 'COMMODITY',
        schedule: priceSchedule(0.2),
      }),
  ],
  ['tiers', (home: string) => addTiers(fixture.client, home)],
] as const)('a correction that waits together with a new price, with %s before', (_, first) => {
  it('applies if its message is before the recost request', async () => {
    const home = await makeHome(fixture.client, {})
    await first(home)
    await fixture.client.submit([used(home, 1, 2), used(home, 2, 3)])
    await whileAway(async () => {
      await put(used(home, 1, 7))
      await reprice(home, 0.5)
    })
    expect(await costs(home)).toEqual({ d1: 3.5, d2: 1.5 })
  })

  it('applies if its message is after the recost request', async () => {
    const home = await makeHome(fixture.client, {})
    await first(home)
    await fixture.client.submit([used(home, 1, 2), used(home, 2, 3)])
    await whileAway(async () => {
      await reprice(home, 0.5)
      await put(used(home, 1, 7))
    })
    expect(await costs(home)).toEqual({ d1: 3.5, d2: 1.5 })
  })

  it('applies if its message is between two recost requests, and a new record next to it is stored', async () => {
    const home = await makeHome(fixture.client, {})
    await first(home)
    await fixture.client.submit([used(home, 1, 2), used(home, 2, 3)])
    await whileAway(async () => {
      await reprice(home, 0.5)
      await put(used(home, 1, 7), used(home, 3, 1))
      await reprice(home, 0.25)
    })
    expect(await costs(home)).toEqual({ d1: 1.75, d2: 0.75, d3: 0.25 })
  })
})

describe('the same PUT sent in parallel', () => {
  it.each([2, 5])('%i times has complete receipts, and each record is stored once', async times => {
    const home = await makeHome(fixture.client, { import: 0.5 })
    const tiered = await makeTieredHome(fixture.client)
    const records = [
      ...[1, 2, 3].map(number => used(home, number, number)),
      ...[1, 2].map(number => used(tiered, number, 6)),
    ]
    const receipts = await Promise.all(Array.from({ length: times }, () => fixture.client.submit(records)))
    for (const receipt of receipts) {
      expect(receipt).toMatchObject({
        records_submitted: 5,
        records_accepted: 5,
        records_processed: 5,
        failed_records: [],
      })
    }
    expect(await recordsOf(fixture.client, home)).toHaveLength(3)
    expect(await costs(home)).toEqual({ d1: 0.5, d2: 1, d3: 1.5 })
    expect(await costs(tiered)).toEqual({ d1: 0.6, d2: 1.4 })
  })
})
