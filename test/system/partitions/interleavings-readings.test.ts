import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { addTiers } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

const hourMs = 3_600_000
const midnight = Date.parse('2025-06-10T00:00:00Z')
const instant = (hours: number): string => new Date(midnight + hours * hourMs).toISOString()

/** An hour counted from 10 June, and the kWh that the register shows. */
type RegisterReading = readonly [at: number, kwh: number]

const putReadings = (home: string, ...readings: readonly RegisterReading[]): Promise<{ readonly id: string }> => {
  const data = readings.map(([at, value]) => ({ time: midnight / 1000 + at * 3600, value }))
  return fixture.client.ask('PUT', '/meters/cumulative/epoch', { location_id: home, units: 'KWH', data })
}

/** Create an estimate or a later record, from and to in hours as above. */
const recordOf = (home: string, [from, to]: RegisterReading, kwh: number, more: object) =>
  bought(home, kwh, instant(from), instant(to), more)

/** Return start hour, end hour, Wh and cost, in order of start and end. */
const stored = async (home: string) =>
  (await recordsOf(fixture.client, home))
    .map(({ data: { start_time: start, end_time: end, energy, tariff } }) => {
      const [from, to] = [start, end].map(text => (Date.parse(text) - midnight) / hourMs) as [number, number]
      return [from, to, energy.value, tariff.cost.value] as const
    })
    .toSorted(([a, b], [c, d]) => a - c || b - d)

const permutations = (count: number): readonly (readonly number[])[] =>
  count === 0
    ? [[]]
    : permutations(count - 1).flatMap(shorter =>
        Array.from({ length: count }, (_, place) => [...shorter.slice(0, place), count - 1, ...shorter.slice(place)]),
      )

it.each([
  ['each is stored before the next is sent', true],
  ['all wait together', false],
])(
  'a reading that divides an interval, with tiers and an estimate at its object, costs the same in any order: %s',
  async (_, apart) => {
    const works = [
      (home: string) => putReadings(home, [0, 0], [4, 8]),
      (home: string) => putReadings(home, [2, 5]),
      (home: string) => fixture.client.ask('PUT', '/meters/interval', [recordOf(home, [1, 5], 8, { confidence: 0.5 })]),
      (home: string) => fixture.client.ask('PUT', '/meters/interval', [recordOf(home, [6, 7], 4, {})]),
    ] as const
    const places = await Promise.all(
      permutations(works.length).map(async order => {
        const home = await makeHome(fixture.client, {}, { timezone: 'UTC' })
        await addTiers(fixture.client, home)
        return { home, order }
      }),
    )
    if (!apart) await fixture.stop()
    for (const turn of works.keys()) {
      await Promise.all(places.map(({ home, order }) => works[order[turn] as 0](home)))
      if (apart) await fixture.waitUntilRead()
    }
    if (!apart) await fixture.start()
    await fixture.waitUntilRead()
    for (const { home, order } of places) {
      // The register covers 1 to 4 of the estimate: 2 of its 8 kWh remain. 5, 2 and 3 kWh fill the tier of 10.
      expect(await stored(home), `in the order ${order}`).toEqual([
        [0, 2, 5000, 0.5],
        [1, 5, 2000, 0.2],
        [2, 4, 3000, 0.3],
        [6, 7, 4000, 2],
      ])
    }
  },
)

describe('a late reading above the next reading removes the interval between them', () => {
  it('within a day: an estimate there counts again, and later records follow', async () => {
    const home = await makeHome(fixture.client, {}, { timezone: 'UTC' })
    await addTiers(fixture.client, home)
    await putReadings(home, [0, 0], [2, 5], [4, 8])
    await fixture.client.submit([recordOf(home, [1, 5], 8, { confidence: 0.5 }), recordOf(home, [6, 7], 4, {})])
    const { id } = await putReadings(home, [3, 9])
    await fixture.waitUntilRead()
    expect(await fixture.client.ask('GET', `/meters/batch?batch_id=${id}`)).toMatchObject({
      records_processed: 1,
      failed_records: [],
    })
    // 3 to 5 of the estimate remain, 4 kWh. One of the 4 kWh of 2 to 3 is in the tier.
    expect(await stored(home)).toEqual([
      [0, 2, 5000, 0.5],
      [1, 5, 4000, 0.4],
      [2, 3, 4000, 1.6],
      [6, 7, 4000, 2],
    ])
  })

  it('without tiers: a covered estimate counts again', async () => {
    const home = await makeHome(fixture.client, { import: 0.5 }, { timezone: 'UTC' })
    await putReadings(home, [0, 0], [48, 48])
    await fixture.client.submit([recordOf(home, [36, 37], 2, { confidence: 0.5 })])
    expect(await stored(home)).toEqual([
      [0, 48, 48_000, 24],
      [36, 37, 0, 0],
    ])
    await putReadings(home, [24, 60])
    await fixture.waitUntilRead()
    expect(await stored(home)).toEqual([
      [0, 24, 60_000, 30],
      [36, 37, 2000, 1],
    ])
  })

  it('with tiers: records of later months follow', async () => {
    const home = await makeHome(fixture.client, {}, { timezone: 'UTC' })
    await addTiers(fixture.client, home)
    const [from, to, behind] = [11 * 24, 31 * 24, 35 * 24]
    // 10 days in June and 10 in July, 20 kWh each.
    await putReadings(home, [from, 0], [to, 40])
    await fixture.client.submit([recordOf(home, [behind, behind + 1], 4, {})])
    expect(await stored(home)).toEqual([
      [from, to, 40_000, 12],
      [behind, behind + 1, 4000, 2],
    ])
    await putReadings(home, [from + 24, 50])
    await fixture.waitUntilRead()
    expect(await stored(home)).toEqual([
      [from, from + 24, 50_000, 21],
      [behind, behind + 1, 4000, 0.4],
    ])
  })
})
