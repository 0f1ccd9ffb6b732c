import { beforeAll, describe, expect, it } from 'vitest'
import { type CostCase, costCases, prepareCase, recordsOf, toleranceOf } from '../../support/acceptance/cost-cases.ts'
import { seededRandom } from '../../support/random.ts'
import type { Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type StoredRecord = {
  readonly id: string
  readonly data: {
    readonly record_reference_id: string
    readonly tariff: { readonly cost: { readonly value: number } }
  }
}

const random = seededRandom(20)
const shuffled = <T>(items: readonly T[]): readonly T[] =>
  items
    .map(item => [random.below(1e9), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item)

const thirds = <T>(items: readonly T[]): readonly (readonly T[])[] => {
  const size = Math.max(1, Math.ceil(items.length / 3))
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}

const arrivals = {
  'in order': <T>(items: readonly T[]) => [items],
  reversed: <T>(items: readonly T[]) => [items.toReversed()],
  'reversed, in three submissions': <T>(items: readonly T[]) => thirds(items.toReversed()),
  'shuffled, in three submissions': <T>(items: readonly T[]) => thirds(shuffled(items)),
} as const

/** A case with one record has one order. Another test covers it with all published bills. */
const tiered = costCases().filter(({ features, records }) => features.includes('tiers') && records.length > 1)

/** Return the total cost of all records of a case. */
const totalOf = async (of: CostCase, locationId: string): Promise<number> => {
  const [start_time, end_time] = [
    Math.min(...of.records.map(one => Date.parse(one.start_time))),
    Math.max(...of.records.map(one => Date.parse(one.end_time))),
  ]
  const direction = of.tariffs.some(tariff => tariff.direction === 'EXPORT') ? 'EXPORT' : 'IMPORT'
  const span = { start_time: new Date(start_time).toISOString(), end_time: new Date(end_time).toISOString() }
  const { data } = (await client.ask('POST', `/costs/interval/${locationId}?tariff_direction=${direction}`, span)) as {
    readonly data: readonly StoredRecord['data'][]
  }
  return data.reduce((sum, { tariff }) => sum + tariff.cost.value, 0)
}

/** Cost by index of the record in the case. */
const costsOf = async (of: CostCase, locationId: string): Promise<readonly number[]> => {
  const costs = new Map<string, number>()
  for (let after = ''; ; ) {
    const page = (await client.ask('GET', `/meters/records?location_id=${locationId}&limit=100${after}`)) as {
      readonly has_more: boolean
      readonly data: readonly StoredRecord[]
    }
    for (const { data } of page.data) costs.set(data.record_reference_id, data.tariff.cost.value)
    if (!page.has_more) return of.records.map((_, place) => costs.get(`place ${place}`) ?? Number.NaN)
    after = `&starting_after=${page.data.at(-1)?.id}`
  }
}

describe.each(tiered.map(one => [one.id, one] as const))('%s', (_, one) => {
  let inOrder: readonly number[] | undefined

  it.each(Object.entries(arrivals))('costs the published amount if its records arrive %s', async (_name, arrange) => {
    const locationId = await prepareCase(client, one.tariffs, 'current')
    // The index alone identifies a record, in any order of arrival.
    const records = recordsOf(one, locationId, 'current').map((record, place) => ({
      ...record,
      record_reference_id: `place ${place}`,
    }))
    for (const together of arrange(records)) await client.submit(together)
    const { total_cost: total, derived_total: derived, per_record: perRecord } = one.expected
    const sum = await totalOf(one, locationId)
    if (total !== undefined) expect(Math.abs(sum - total)).toBeLessThanOrEqual(toleranceOf(one))
    if (derived !== undefined) expect(sum).toBeCloseTo(derived, 4)
    const costs = await costsOf(one, locationId)
    for (const [key, cost] of Object.entries(perRecord ?? {})) {
      const named = one.records.findIndex(record => record.record_reference_id === key)
      const allowed = one.tolerance.per_record_abs ?? toleranceOf(one)
      expect(
        Math.abs((costs[named < 0 ? Number(key) : named] ?? Number.NaN) - cost),
        `record ${key}`,
      ).toBeLessThanOrEqual(allowed)
    }
    inOrder ??= costs
    expect(costs).toEqual(inOrder)
  })
})

it('has enough cases', () => expect(tiered.length).toBeGreaterThan(3))
