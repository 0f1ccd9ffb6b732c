import { describe, expect, it } from 'vitest'
import type { Scenario } from '../../support/oracle/generate.ts'
import { expectOracleCosts } from '../../support/scenarios/oracle-over-http.ts'
import { chooseScenarios, client, deviceIds, useScenarios } from '../../support/scenarios/scenario-fixture.ts'
import { createScenario } from '../../support/scenarios/scenario-over-http.ts'

const zones = [
  ...[
    'Europe/Berlin',
    'Europe/London',
    'America/New_York',
    'America/Sao_Paulo',
    'America/St_Johns',
    'Africa/Casablanca',
  ],
  ...['Asia/Kathmandu', 'Australia/Adelaide', 'Australia/Lord_Howe', 'Pacific/Chatham', 'Pacific/Apia', 'Asia/Tehran'],
] as const
const perZone = Math.ceil(Number(process.env['SCENARIOS'] ?? 24) / zones.length)
const seed = Number(process.env['SCENARIO_SEED'] ?? 14)
const timeout = 60_000

/** The first scenarios of a zone that a caller can create over HTTP and that still have a record. */
const drawn = (zone: string): readonly Scenario[] =>
  chooseScenarios(zone, {
    wanted: perZone,
    generatedPerWanted: 4,
    seed,
    maxRecords: 9,
    isUseful: ({ records }) => records.length > 0,
  })

useScenarios()

describe.each(zones)(
  'in %s, costs over HTTP equal the costs of an oracle that shares no code with the service',
  zone => {
    const all = drawn(zone)

    it(`has ${perZone} scenarios`, () => expect(all).toHaveLength(perZone))

    it.concurrent.each(all.map((scenario, index) => [index + 1, scenario] as const))(
      'scenario %i',
      { timeout },
      async (_, scenario) => {
        const created = await createScenario(client, scenario, deviceIds)
        await expectOracleCosts(client, created)
      },
    )
  },
)
