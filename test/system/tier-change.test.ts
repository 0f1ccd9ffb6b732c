import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, login } from '../support/client.ts'
import { bought, makeHome } from '../support/home.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { costsUntil } from '../support/settled.ts'
import { addTiers } from '../support/tier-tariff.ts'

const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client

beforeAll(async () => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

it('a contract that ends within a long record gives its tier back to the records before that end', async () => {
  const home = await makeHome(client, {}, { timezone: 'UTC' })
  const first = await addTiers(client, home)
  await client.submit([
    bought(home, 20, '2025-06-01T00:00:00Z', '2025-06-11T00:00:00Z', { record_reference_id: 'long' }),
    bought(home, 1, '2025-06-03T00:00:00Z', '2025-06-03T01:00:00Z', { record_reference_id: 'inner' }),
  ])
  // 10 × 0.1 + 10 × 0.5; the long one has filled the tier
  await costsUntil(client, home, { long: 6, inner: 0.5 })
  await client.ask('PATCH', `/tariffs/${first}`, { contract_end_date: '2025-06-04T00:00:00Z' })
  await addTiers(client, home, [{ fixed: 1 }], { contract_start_date: '2025-06-04T00:00:00Z' })
  // Of the long one 6 kWh count until then: 6 × 0.1 + 14 × 1, and the tier has room for the inner one
  expect(await costsUntil(client, home, { long: 14.6, inner: 0.1 })).toEqual({ long: 14.6, inner: 0.1 })
})
