import fc from 'fast-check'
import { afterAll, beforeAll } from 'vitest'
import { type Scenario, scenarios } from '../oracle/generate.ts'
import { type Client, login } from '../system/client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../system/running-system.ts'
import { expressible } from './scenario-over-http.ts'

/** A caller of the running system of a test file, and the system's ids of the scenarios' devices; made by `useScenarios`. */
export let client: Client
export const deviceIds = new Map<string, string>()

/** Start a system before the tests of a file, with the devices that scenarios name, and stop it after them. */
export const useScenarios = (): void => {
  const folder = dataFolder()
  let system: RunningSystem | undefined
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
}

/** Tell whether any price of a scenario holds from an amount of energy on. */
export const hasTiers = ({ input }: Scenario): boolean =>
  input.tariffs.some(({ schedule }) =>
    schedule.some(({ daysAndHours }) => daysAndHours.some(({ hours }) => hours.some(({ rate }) => rate.length > 1))),
  )

/** Records end before this instant, in ms. */
const latest = Date.UTC(2026, 0, 1)

/** How scenarios are drawn: `drawn` for each that is wanted, so that enough are left by `keeps`. */
export type Draw = {
  readonly wanted: number
  readonly drawn: number
  readonly seed: number
  readonly maxRecords: number
  readonly keeps: (scenario: Scenario) => boolean
}

/** Draw the first scenarios of a zone that a caller can bring about and that are of use; the same for the same seed. */
export const drawScenarios = (zone: string, { wanted, drawn, seed, maxRecords, keeps }: Draw): readonly Scenario[] =>
  fc
    .sample(scenarios({ zones: [zone], maxRecords }), { seed, numRuns: wanted * drawn })
    .map(scenario => expressible(scenario, latest))
    .filter(keeps)
    .slice(0, wanted)
