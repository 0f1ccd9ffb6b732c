import fc from 'fast-check'
import { beforeAll } from 'vitest'
import { type Scenario, scenarios } from '../oracle/generate.ts'
import type { Client } from '../system/client.ts'
import { useSharedSystem } from '../system/use-system.ts'
import { expressible } from './scenario-over-http.ts'

/**
 * Client of the system of a test file, and ids of the devices by their names in scenarios. `useScenarios` sets both.
 */
export let client: Client
export const deviceIds = new Map<string, string>()

/** Create an account before the tests of a file, with the devices that scenarios name. */
export const useScenarios = (): void => {
  const system = useSharedSystem()
  beforeAll(async () => {
    client = await system.login()
    for (const name of ['dev_1', 'dev_2'])
      deviceIds.set(name, ((await client.ask('POST', '/devices', { reference_id: name })) as { id: string }).id)
  })
}

/** Return true if a tariff of a scenario has tiers. */
export const hasTiers = ({ input }: Scenario): boolean =>
  input.tariffs.some(({ schedule }) =>
    schedule.some(({ daysAndHours }) => daysAndHours.some(({ hours }) => hours.some(({ rate }) => rate.length > 1))),
  )

/** All records end before this instant (ms). */
const latest = Date.UTC(2026, 0, 1)

/**
 * Rules for the choice of scenarios. For each wanted scenario, `drawn` scenarios are generated,
 * so that enough remain after the filter `keeps`.
 */
export type ScenarioChoice = {
  readonly wanted: number
  readonly generatedPerWanted: number
  readonly seed: number
  readonly maxRecords: number
  readonly isUseful: (scenario: Scenario) => boolean
}

/**
 * Return the first useful scenarios of a time zone that HTTP requests can create. About half of them have a calendar.
 * The same seed gives the same scenarios.
 */
export const chooseScenarios = (
  zone: string,
  { wanted, generatedPerWanted, seed, maxRecords, isUseful }: ScenarioChoice,
): readonly Scenario[] =>
  fc
    .sample(
      fc.boolean().chain(hasCalendar => scenarios({ zones: [zone], maxRecords, hasCalendar })),
      {
        seed,
        numRuns: wanted * generatedPerWanted,
      },
    )
    .map(scenario => expressible(scenario, latest))
    .filter(isUseful)
    .slice(0, wanted)
