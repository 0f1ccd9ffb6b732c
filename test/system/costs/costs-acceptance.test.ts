import { beforeAll, describe, expect, it } from 'vitest'
import { type CostCase, costCases, prepareCase, recordsOf, toleranceOf } from '../../support/acceptance/cost-cases.ts'
import type { ApiVersion, Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const clients: Partial<Record<ApiVersion, Client>> = {}

beforeAll(async () => {
  for (const apiVersion of ['current', 'earlier'] as const) clients[apiVersion] = await system.login('test', apiVersion)
})

type CostElement = {
  readonly energy: { readonly value: number }
  readonly tariff: { readonly cost: { readonly value: number } }
}

const totalOf = async (
  client: Client,
  apiVersion: ApiVersion,
  of: CostCase,
  locationId: string,
  direction: string,
): Promise<number> => {
  const starts = of.records.map(record => Date.parse(record.start_time))
  const ends = of.records.map(record => Date.parse(record.end_time))
  const span = {
    start_time: new Date(Math.min(...starts)).toISOString(),
    end_time: new Date(Math.max(...ends)).toISOString(),
  }
  const name = apiVersion === 'current' ? 'tariff_direction' : 'direction'
  const { data } = (await client.ask('POST', `/costs/interval/${locationId}?${name}=${direction}`, span)) as {
    data: readonly CostElement[]
  }
  expect(data).toHaveLength(1)
  return data.reduce((sum, element) => sum + element.tariff.cost.value, 0)
}

const recordCost = (
  apiVersion: ApiVersion,
  record: { data: { tariff: { value: number; cost: { value: number } } } },
): number => (apiVersion === 'current' ? record.data.tariff.cost.value : record.data.tariff.value)

describe.each(['current', 'earlier'] as const)('published bills in the %s API version', apiVersion => {
  it.concurrent.each(costCases().map(one => [one.id, one] as const))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const locationId = await prepareCase(client, one.tariffs, apiVersion)
    const records = recordsOf(one, locationId, apiVersion)
    await client.submit(records)
    const { total_cost, derived_total, import_minus_export, per_record } = one.expected
    const imported = await totalOf(client, apiVersion, one, locationId, 'IMPORT')
    const exported = await totalOf(client, apiVersion, one, locationId, 'EXPORT')
    if (import_minus_export !== undefined)
      expect(Math.abs(imported - exported - import_minus_export)).toBeLessThanOrEqual(toleranceOf(one))
    const total = one.tariffs.some(({ direction }) => direction === 'EXPORT') ? exported : imported
    if (total_cost !== undefined) expect(Math.abs(total - total_cost)).toBeLessThanOrEqual(toleranceOf(one))
    if (derived_total !== undefined) expect(total).toBeCloseTo(derived_total, 4)
    for (const [key, cost] of Object.entries(per_record ?? {})) {
      const reference =
        one.records.find(record => record.record_reference_id === key)?.record_reference_id ??
        one.records[Number(key)]?.record_reference_id
      const list = (await client.ask(
        'GET',
        `/meters/records?location_id=${locationId}&record_reference_id=${reference}`,
      )) as {
        data: readonly Parameters<typeof recordCost>[1][]
      }
      const [stored] = list.data
      if (stored === undefined) throw new Error(`no record ${reference}`)
      const allowed = one.tolerance.per_record_abs ?? toleranceOf(one)
      expect(Math.abs(recordCost(apiVersion, stored) - cost), `record ${key}`).toBeLessThanOrEqual(allowed)
    }
  })

  const alone = costCases().filter(one => one.records.length === 1 || !one.features.includes('tiers'))

  it.concurrent.each(alone.map(one => [one.id, one] as const))('%s, as an instant cost', async (_, one) => {
    const client = clients[apiVersion] as Client
    const locationId = await prepareCase(client, one.tariffs, apiVersion)
    const records = recordsOf(one, locationId, apiVersion)
    let total = 0
    for (const [index, record] of records.entries()) {
      const cost = recordCost(apiVersion, await client.ask('POST', '/costs/instant?non_persistent=true', record))
      total +=
        one.expected.import_minus_export !== undefined && one.records[index]?.direction === 'EXPORT' ? -cost : cost
    }
    const expected = one.expected.total_cost ?? one.expected.import_minus_export
    if (expected !== undefined) expect(Math.abs(total - expected)).toBeLessThanOrEqual(toleranceOf(one))
  })
})
