import { beforeAll, describe, expect, it } from 'vitest'
import { recordsOf } from '../../support/acceptance/cost-cases.ts'
import {
  askPrices,
  createMarketCase,
  createSeries,
  createSteps,
  inexpressible,
  type MarketCase,
  priceCases,
} from '../../support/acceptance/price-cases.ts'
import type { ApiVersion, Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const clients: Partial<Record<ApiVersion, Client>> = {}

beforeAll(async () => {
  for (const apiVersion of ['current', 'earlier'] as const) clients[apiVersion] = await system.login('test', apiVersion)
})

const {
  price_series: series,
  price_formula: formulas,
  market_and_dst: markets,
  series_handling: handling,
} = priceCases()
const base = Date.parse('2024-01-01T00:00:00Z')
const hourMs = 3_600_000

const expressible = <T extends { readonly id: string }>(cases: readonly T[]): readonly (readonly [string, T])[] =>
  cases.filter(one => inexpressible(one) === null).map(one => [one.id, one] as const)

for (const one of [...formulas, ...handling]) {
  const reason = inexpressible(one)
  if (reason === null) continue
  console.warn(`${one.id} is skipped: ${reason}`)
  it.skip(`${one.id}: ${reason}`)
}

/** Cost of a record of constant power by the answered prices of its interval. */
const costOf = async (client: Client, apiVersion: ApiVersion, of: MarketCase, locationId: string): Promise<number> => {
  let cost = 0
  for (const { start_time, end_time, units, value } of of.records) {
    const [start, end] = [Date.parse(start_time), Date.parse(end_time)]
    const kwh = value * (units.startsWith('K') ? 1 : 1e-3) * (units.endsWith('H') ? 1 : (end - start) / hourMs)
    for (const { from, to, price } of await askPrices(client, apiVersion, locationId, { start_time, end_time })) {
      cost += (price * kwh * (to - from)) / (end - start)
    }
  }
  return cost
}

describe.each(['current', 'earlier'] as const)('published prices in the %s API version', apiVersion => {
  it.each(expressible(series))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const found = await askPrices(client, apiVersion, await createSeries(client, one, apiVersion), one.request)
    expect(found.map(({ from, to }) => [from, to])).toEqual(
      one.expected.segments.map(({ valid_from, valid_to }) => [Date.parse(valid_from), Date.parse(valid_to)]),
    )
    for (const [index, { price }] of one.expected.segments.entries()) {
      expect(Math.abs((found[index]?.price ?? Number.NaN) - price)).toBeLessThanOrEqual(one.tolerance.abs)
    }
  })

  it.each(expressible(formulas))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const surcharges = { surcharge_fixed: one.surcharge_fixed, surcharge_percentage: one.surcharge_percentage }
    const locationId = await createSteps(client, apiVersion, [[0, 60, one.market_price]], base, surcharges)
    const span = { start_time: new Date(base).toISOString(), end_time: new Date(base + hourMs).toISOString() }
    const found = await askPrices(client, apiVersion, locationId, span)
    expect(found).toHaveLength(1)
    expect(Math.abs((found[0]?.price ?? Number.NaN) - one.expected_price)).toBeLessThanOrEqual(one.tolerance)
  })

  it.each(expressible(markets))('%s', async (_, one) => {
    const client = clients[apiVersion] as Client
    const locationId = await createMarketCase(client, apiVersion, one)
    const { total_cost: expected } = one.expected
    expect(Math.abs((await costOf(client, apiVersion, one, locationId)) - expected)).toBeLessThanOrEqual(
      one.tolerance.abs,
    )
    let charged = 0
    for (const record of recordsOf(one, locationId, apiVersion)) {
      const { data } = (await client.ask('POST', '/costs/instant?non_persistent=true', record)) as {
        data: { tariff: { value?: number; cost?: { value: number } } }
      }
      charged += data.tariff.cost?.value ?? data.tariff.value ?? Number.NaN
    }
    expect(Math.abs(charged - expected)).toBeLessThanOrEqual(one.tolerance.abs)
  })

  it.each(expressible(handling))('%s, as one element per price', async (_, one) => {
    const client = clients[apiVersion] as Client
    const locationId = await createSteps(client, apiVersion, one.input, base)
    const [first, last] = [one.input[0]?.[0] ?? 0, one.input.at(-1)?.[1] ?? 0]
    const span = {
      start_time: new Date(base + first * 60_000).toISOString(),
      end_time: new Date(base + last * 60_000).toISOString(),
    }
    const found = await askPrices(client, apiVersion, locationId, span)
    expect(found.map(({ from, to, price }) => [(from - base) / 60_000, (to - base) / 60_000, price])).toEqual(one.input)
    for (const [from, to, price] of one.expected) {
      const holding = found.find(element => element.from <= base + from * 60_000 && base + to * 60_000 <= element.to)
      expect(holding?.price).toBe(price)
    }
  })
})
