import { describe, expect, it } from 'vitest'
import type { IdentifiedRecord } from '../../support/oracle/cost.ts'
import type { Scenario } from '../../support/oracle/generate.ts'
import { seededRandom } from '../../support/random.ts'
import { expectOracleCosts } from '../../support/scenarios/oracle-over-http.ts'
import { chooseScenarios, client, deviceIds, hasTiers, useScenarios } from '../../support/scenarios/scenario-fixture.ts'
import { type Arrival, createScenario } from '../../support/scenarios/scenario-over-http.ts'

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe'] as const
const perZone = Math.ceil(Number(process.env['SCENARIOS'] ?? 12) / zones.length)
const seed = Number(process.env['SCENARIO_SEED'] ?? 14)
const timeout = 60_000

/** The first scenarios of a zone that have tiers and enough records for many orders. */
const drawn = (zone: string): readonly Scenario[] =>
  chooseScenarios(zone, {
    wanted: perZone,
    generatedPerWanted: 8,
    seed,
    maxRecords: 12,
    isUseful: one => hasTiers(one) && one.records.length > 3,
  })

/**
 * Create any order, one to three records per submission. Some records are first sent with another value, some are sent
 * twice.
 */
const atRandom =
  (seed: number): Arrival =>
  records => {
    const random = seededRandom(seed)
    const wrong = records
      .filter(() => random.oneIn(3))
      .map(({ id, record }) => ({ id, record: { ...record, energy: record.energy / 3n + 1n } }))
    const right = [...records, ...records.filter(() => random.oneIn(4))].map(one => [random.below(1e6), one] as const)
    const inOrder: IdentifiedRecord[] = [...wrong, ...right.toSorted(([a], [b]) => a - b).map(([, one]) => one)]
    const submissions: IdentifiedRecord[][] = []
    for (const one of inOrder) {
      const last = submissions.at(-1)
      const isApart = last === undefined || last.some(({ id }) => id === one.id) || random.oneIn(2) || last.length === 3
      if (isApart) submissions.push([one])
      else last.push(one)
    }
    return submissions
  }

useScenarios()

describe.each(zones)('in %s, records that arrive late, twice or corrected cost the same as in order', zone => {
  const all = drawn(zone)

  it(`has ${perZone} scenarios`, () => expect(all).toHaveLength(perZone))

  it.concurrent.each(all.map((scenario, index) => [index + 1, scenario] as const))(
    'scenario %i',
    { timeout },
    async (index, scenario) => {
      await expectOracleCosts(client, await createScenario(client, scenario, deviceIds, atRandom(seed * 1000 + index)))
    },
  )
})
