import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { measureCpuTime } from '../../support/cpu/measure-cpu-time.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, priceSchedule } from '../../support/system/home.ts'
import { addTiers } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

const months = 120
const longestMs = 60_000

/** Return the month that begins this number of months before January 2000, in UTC as in the zone of the location. */
const monthStart = (month: number): number => Date.UTC(2000, month)
const instant = (at: number): string => new Date(at).toISOString()
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Create a record of 12 kWh in the middle of a month. */
const monthly = (home: string, month: number) =>
  bought(home, 12, instant(monthStart(month) + 14 * dayMs), instant(monthStart(month) + 15 * dayMs), {
    record_reference_id: `${month}`,
  })

/** Create a record of 8 kWh, half of them in the month before. */
const across = (home: string, month: number) =>
  bought(home, 8, instant(monthStart(month) - 4 * hourMs), instant(monthStart(month) + 4 * hourMs), {
    record_reference_id: `to ${month}`,
  })

type Element = {
  readonly energy: { readonly value: number }
  readonly tariff: { readonly cost: { readonly value: number } }
}

const costByMonth = async (home: string): Promise<readonly number[]> => {
  const ask = async (from: number, to: number) => {
    const body = { start_time: instant(monthStart(from)), end_time: instant(monthStart(to)) }
    const { data } = (await fixture.client.ask('POST', `/costs/interval/${home}?aggregation=MONTH`, body)) as {
      readonly data: readonly Element[]
    }
    return data.map(element => element.tariff.cost.value)
  }
  // A request covers at most ten years.
  return [...(await ask(0, 100)), ...(await ask(100, months))]
}

const makeBackfilled = async (): Promise<string> => {
  const home = await makeHome(fixture.client, {}, { timezone: 'UTC' })
  await addTiers(fixture.client, home)
  return home
}

const all = Array.from({ length: months }, (_, month) => month)

/**
 * Cost of each month if rows cross the starts of some months. The crossing row uses 4 of the 10 kWh at 0.1; all else
 * costs 0.5.
 */
const expected = (crossed: (month: number) => boolean): readonly number[] =>
  all.map(month => {
    const [comesIn, goesOut] = [crossed(month) ? 4 : 0, crossed(month + 1) ? 4 : 0]
    return Number((comesIn * 0.1 + (10 - comesIn) * 0.1 + (2 + comesIn) * 0.5 + goesOut * 0.5).toFixed(9))
  })

const only = (month: number): boolean => month === 75
const every = (month: number): boolean => month > 0 && month < months

/** Send all records in one body. Returns the time in ms until they are stored. */
const store = async (records: readonly object[]): Promise<number> => {
  const startedAt = performance.now()
  expect(await fixture.client.ask('PUT', '/meters/interval', records)).toMatchObject({ failed_records: [] })
  await fixture.waitUntilRead(longestMs)
  return Math.round(performance.now() - startedAt)
}

const recordsOf = (home: string, crossed: (month: number) => boolean) =>
  all.flatMap(month => [...(crossed(month) ? [across(home, month)] : []), monthly(home, month)])

describe(`a body of ${months} months with tiers costs the same as month by month`, { timeout: 150_000 }, () => {
  it.each([
    ['in order, with one row across the start of a month', only, false],
    ['reversed, with one row across the start of a month', only, true],
  ] as const)('%s', async (_, crossed, isReversed) => {
    const home = await makeBackfilled()
    const records = recordsOf(home, crossed)
    console.info(`${months} months were stored in ${await store(isReversed ? records.toReversed() : records)} ms`)
    expect(await costByMonth(home)).toEqual(expected(crossed))
  })

  it('reversed, with a row across every start; a late record changes its month only', async () => {
    const home = await makeBackfilled()
    await store(recordsOf(home, every).toReversed())
    expect(await costByMonth(home)).toEqual(expected(every))
    // No row crosses on the 2nd of a month: 3 kWh more move 3 kWh from 0.1 to 0.5.
    const late = monthStart(64) + dayMs
    const { ms } = await measureCpuTime(() => store([bought(home, 3, instant(late), instant(late + hourMs))]))
    expect(ms).toBeLessThan(5_000)
    const followed = expected(every).map((cost, month) => (month === 64 ? Number((cost + 1.5).toFixed(9)) : cost))
    expect(await costByMonth(home)).toEqual(followed)
    const { data } = (await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as {
      readonly data: readonly { readonly id: string }[]
    }
    const changedAt = performance.now()
    await fixture.client.ask('DELETE', `/tariffs/${data[0]?.id}?void=true`)
    await addTiers(fixture.client, home, [{ fixed: 0.2, to_kwh: 10 }, { fixed: 1 }])
    await fixture.waitUntilRead(longestMs)
    console.info(`${months} months were recosted twice in ${Math.round(performance.now() - changedAt)} ms`)
    expect(await costByMonth(home)).toEqual(followed.map(cost => Number((cost * 2).toFixed(9))))
  })
})

describe('a month of 22,000 rows at one location', () => {
  it('is recosted in row ranges, each row once', async () => {
    const home = await makeHome(fixture.client, { import: 0.2 }, { timezone: 'UTC' })
    const minuteMs = 60_000
    const records = Array.from({ length: 22_000 }, (_, index) => {
      const start = Date.UTC(2025, 4, 1) + index * minuteMs
      return bought(home, 0.06, instant(start), instant(start + minuteMs))
    })
    for (let from = 0; from < records.length; from += 10_000) await store(records.slice(from, from + 10_000))
    const [tariff] = (
      (await fixture.client.ask('GET', `/tariffs?location_id=${home}`)) as {
        readonly data: readonly { readonly id: string }[]
      }
    ).data
    await fixture.client.ask('DELETE', `/tariffs/${tariff?.id}?void=true`)
    await fixture.client.ask('POST', '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.3),
    })
    await fixture.waitUntilRead(longestMs)
    const [counts] =
      await fixture.clickHouse.rows(`SELECT toUInt32(sum(rows)), toString(sum(sum)), max(rows) < 12000 FROM (
      SELECT version, count() AS rows, sum(cost) AS sum FROM meter_cost FINAL
      WHERE account_id = unhex('${fixture.tenant.accountId.slice(4)}') AND live_mode = false AND location_id = unhex('${home.slice(4)}') GROUP BY version)`)
    expect(counts).toEqual([22_000, '396', 1])
  })
})
