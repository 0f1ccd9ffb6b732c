import { expect, it } from 'vitest'
import { compareCosts, comparedLine } from '../../../services/interchange/commands/import/compare-costs.ts'
import { openTarget } from '../../../services/interchange/commands/import/import-target.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const [start, end] = ['2026-03-10T11:00:00Z', '2026-03-10T12:00:00Z'] as const

it('costs of a file are compared with stored costs, also without prices and without records', async () => {
  const client = await system.login()
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() }
  const target = await openTarget({ options: { 'base-url': baseUrl }, variables })
  const priced = await makeHome(client, { import: 0.3 })
  const unpriced = await makeHome(client, {})
  const empty = await makeHome(client, { import: 0.3 })
  await client.submit([bought(priced, 10, start, end), bought(unpriced, 10, start, end)])
  const costs = {
    self: 'feed',
    device: null,
    direction: 'IMPORT',
    currencyCode: 'EUR',
    cost: 2_500_000_000n,
    start: Date.parse(start),
    end: Date.parse(end),
    readings: 1,
    withoutCost: 0,
  } as const
  const lineOf = async (location: string): Promise<string | undefined> => {
    const compared = await compareCosts(target, location, [costs], AbortSignal.timeout(60_000))
    return compared.map(comparedLine)[0]?.trim()
  }
  const head = `IMPORT ${start} to ${end}: file 2.5 EUR, stored`
  expect(await lineOf(priced)).toBe(`${head} 3 EUR`)
  expect(await lineOf(unpriced)).toBe(`${head} 0 EUR, 1 stored records without a price`)
  expect(await lineOf(empty)).toBe(`${head} 0 EUR`)
})
