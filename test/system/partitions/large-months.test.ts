import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordTopic } from '../../../services/platform/log/log.ts'
import { comparePlays } from '../../support/history/compare-plays.ts'
import { histories } from '../../support/history/generate-history.ts'
import type { PlayContext } from '../../support/history/play.ts'
import { createDevices } from '../../support/history/register-rules.ts'
import { describeHistory } from '../../support/history/stored-state.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { costsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { addTiers, makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

/** A month of three rows counts as large, and three of its rows are costed at a time. */
const rowRanges = { rowsInMemory: 2, rowsAtOnce: 3 }
const count = Number(process.env['HISTORIES'] ?? 1)
const seed = Number(process.env['HISTORY_SEED'] ?? 1)
const timeout = 600_000

let fixture: PartitionFixture
let stage: PlayContext

beforeAll(async () => {
  fixture = await openPartitionFixture()
  await fixture.start(undefined, { rowRanges })
  stage = { client: fixture.client, ...fixture.tenant, deviceIds: await createDevices(fixture.client) }
})
afterAll(() => fixture?.[Symbol.asyncDispose]())

describe('months with more rows than fit in memory', () => {
  it.each(fc.sample(histories, { seed, numRuns: count }))(
    'cost the same for any order and division of the submissions: history %#',
    { timeout },
    async history => {
      const { faults } = await comparePlays(stage, history, 20_000, () => fixture.waitUntilRead(240_000))
      expect(faults, describeHistory(history)).toEqual([])
    },
  )
})

/** Count the messages in all partitions. */
const appendedIn = async ({ log }: PartitionFixture): Promise<number> => {
  const lags = await Promise.all(
    Array.from({ length: 4 }, (_, partition) => log.lag(recordTopic, partition, 'cost-worker')),
  )
  return lags.reduce((sum, { end }) => sum + end, 0)
}

const day = (home: string, number: number, kwh: number) => {
  const date = `2025-06-${String(number).padStart(2, '0')}`
  return bought(home, kwh, `${date}T08:00:00Z`, `${date}T09:00:00Z`, { record_reference_id: `d${number}` })
}

describe('after a late record', () => {
  it('all rows of the month cost the same as in order, for any number of rows', async () => {
    const home = await makeTieredHome(fixture.client)
    await fixture.client.submit(Array.from({ length: 20 }, (_, index) => day(home, index + 5, 1)))
    await fixture.client.submit([day(home, 2, 9.5)])
    await fixture.waitUntilRead()
    // 0.5 kWh remains of the first tier: 0.5 × 0.1 + 0.5 × 0.5, then 1 × 0.5 for each.
    const rest = Object.fromEntries(Array.from({ length: 19 }, (_, index) => [`d${index + 6}`, 0.5]))
    expect(await costsOf(fixture.client, home)).toEqual({ d2: 0.95, d5: 0.3, ...rest })
  })

  it('and after a removed interval of a register', async () => {
    const home = await makeTieredHome(fixture.client)
    const show = async (value: number): Promise<void> => {
      const data = [
        { time: Date.UTC(2025, 5, 1) / 1000, value: 100 },
        { time: Date.UTC(2025, 5, 2) / 1000, value },
      ]
      await fixture.client.ask('PUT', '/meters/cumulative/epoch', {
        location_id: home,
        units: 'KWH',
        data: value < 100 ? data.slice(1) : data,
      })
      await fixture.waitUntilRead()
    }
    await show(109)
    // More rows than the worker knows without a read.
    const hours = Array.from({ length: 30 }, (_, index) => Date.UTC(2025, 5, 5, index))
    const times = hours.map(at => [new Date(at).toISOString(), new Date(at + 3_600_000).toISOString()] as const)
    await fixture.client.submit(
      times.map(([from, to], index) => bought(home, 1, from, to, { record_reference_id: `h${index}` })),
    )
    await fixture.waitUntilRead()
    await show(50)
    // Ten rows of 1 kWh fill the first tier now, where one did after 9 kWh.
    const costs = Object.entries(await costsOf(fixture.client, home)).filter(([name]) => name.startsWith('h'))
    expect(Object.fromEntries(costs)).toEqual(
      Object.fromEntries(hours.map((_, index) => [`h${index}`, index < 10 ? 0.1 : 0.5])),
    )
  })

  it('and an estimate over more rows than are costed at a time, with a tariff of the same step', async () => {
    const home = await makeHome(fixture.client, {})
    const estimate = bought(home, 24, '2025-06-01T00:00:00Z', '2025-06-25T00:00:00Z', {
      record_reference_id: 'estimate',
      confidence: 0.5,
    })
    await fixture.client.submit([estimate, ...Array.from({ length: 15 }, (_, index) => day(home, index + 5, 1))])
    await fixture.waitUntilRead()
    await fixture.stop()
    await fixture.client.ask('PUT', '/meters/interval', [day(home, 22, 1)])
    const appended = await appendedIn(fixture)
    await makeOne(fixture.client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.5),
    })
    await until(
      () => appendedIn(fixture),
      count => count > appended,
    )
    await fixture.start(undefined, { rowRanges })
    await fixture.waitUntilRead()
    // Actuals cover 16 of its 576 hours.
    const { estimate: rest, ...days } = await costsOf(fixture.client, home)
    expect(rest).toBeCloseTo((24 * (576 - 16)) / 576 / 2, 7)
    expect(new Set(Object.values(days))).toEqual(new Set([0.5]))
  })

  it('and a later tariff prices all of them', async () => {
    const home = await makeHome(fixture.client, {})
    const across = bought(home, 4, '2025-06-09T20:00:00Z', '2025-06-10T00:00:00Z', { record_reference_id: 'across' })
    await fixture.client.submit([...Array.from({ length: 12 }, (_, index) => day(home, index + 4, 1)), across])
    await addTiers(fixture.client, home)
    await fixture.waitUntilRead()
    // d4 to d9 have 6 kWh, the crossing row reaches 10 kWh, the others are above the bound.
    const first = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`d${index + 4}`, 0.1]))
    const rest = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`d${index + 10}`, 0.5]))
    expect(await costsOf(fixture.client, home)).toEqual({ ...first, ...rest, across: 0.4 })
  })
})
