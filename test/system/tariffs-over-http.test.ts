import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../support/client.ts'
import { type Scenario, scenarios } from '../support/oracle/generate.ts'
import { expectOracleCosts } from '../support/oracle-over-http.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { expressible, placeScenario } from '../support/scenario-over-http.ts'

const zones = [
  ...['Europe/Berlin', 'Europe/London', 'America/New_York', 'America/Sao_Paulo', 'America/St_Johns', 'Africa/Casablanca'],
  ...['Asia/Kathmandu', 'Australia/Adelaide', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Pacific/Apia', 'Asia/Tehran'],
] as const
const perZone = Math.ceil(Number(process.env['SCENARIOS'] ?? 40) / zones.length)
const seed = Number(process.env['SCENARIO_SEED'] ?? 14)
const latest = Date.UTC(2026, 0, 1)
const timeout = 60_000

/** The first scenarios of a zone that a caller can bring about with a record left. */
const drawn = (zone: string): readonly Scenario[] =>
  fc
    .sample(scenarios({ zones: [zone], mostRecords: 9 }), { seed, numRuns: perZone * 4 })
    .map(scenario => expressible(scenario, latest))
    .filter(({ records }) => records.length > 0)
    .slice(0, perZone)

const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client
const deviceIds = new Map<string, string>()

beforeAll(async () => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
  for (const name of ['dev_1', 'dev_2'])
    deviceIds.set(name, ((await client.ask('POST', '/devices', { reference_id: name })) as { id: string }).id)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

describe.each(zones)('in %s, costs over HTTP are those of an oracle that shares no code with the service', zone => {
  const all = drawn(zone)

  it(`has ${perZone} scenarios`, () => expect(all).toHaveLength(perZone))

  it.concurrent.each(all.map((scenario, index) => [index + 1, scenario] as const))('scenario %i', { timeout }, async (_, scenario) => {
    const placed = await placeScenario(client, scenario, deviceIds)
    await expectOracleCosts(client, placed)
  })
})
