import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Acceptance = {
  readonly fixtures: { readonly location: object }
  readonly expected: {
    readonly record_reference_id: string
    readonly energy_wh: number
    readonly pauses_s: readonly number[]
  }
  readonly steps: readonly { readonly request: string; readonly body: unknown }[]
}

const fixture = new URL('../../acceptance/lost-estimate.json', import.meta.url)
const original = new URL('../../../../shared/acceptance/lost-estimate.json', import.meta.url)
const { fixtures, expected, steps } = JSON.parse(readFileSync(fixture, 'utf8')) as Acceptance

type Receipt = {
  readonly id: string
  readonly records_submitted: number
  readonly records_processed: number
  readonly failed_records: []
}

const processed = (batchId: string): Promise<Receipt> =>
  until(
    async () => (await client.ask('GET', `/meters/batch?batch_id=${batchId}`)) as Receipt,
    receipt => receipt.records_processed + receipt.failed_records.length === receipt.records_submitted,
  )

/**
 * Send the steps to a new location. `pauseMs`: pause between the steps; null: wait until each is processed.
 * Returns the energies by reference.
 */
const play = async (pauseMs: number | null): Promise<Readonly<Record<string, number>>> => {
  const ids = { location: await makeOne(client, '/locations', fixtures.location), device_1: '', device_3: '' }
  for (const name of ['device_1', 'device_3'] as const) {
    ids[name] = await makeOne(client, '/devices', { reference_id: `${name} of ${ids.location}` })
  }
  const batchIds: string[] = []
  for (const { request, body } of steps) {
    const [method = '', path = ''] = request.split(' ')
    const text = JSON.stringify(body).replaceAll(
      /\{(location|device_1|device_3)\}/g,
      (_, name: keyof typeof ids) => ids[name],
    )
    const { id } = (await client.ask(method, path, text)) as { id: string }
    if (method !== 'PUT') continue
    batchIds.push(id)
    if (pauseMs === null) await processed(id)
    else if (pauseMs > 0) await sleep(pauseMs)
  }
  for (const batchId of batchIds) await processed(batchId)
  return Object.fromEntries(
    (await recordsOf(client, ids.location)).map(({ data }) => [data.record_reference_id, data.energy.value]),
  )
}

describe('an estimate keeps the energy that actuals do not cover', () => {
  it.skipIf(!existsSync(original))('in the submissions that once broke this rule', () => {
    expect(readFileSync(fixture, 'utf8')).toBe(readFileSync(original, 'utf8'))
  })

  it.each([...expected.pauses_s.map(seconds => seconds * 1000), null])(
    'with %s ms between submissions (null: until each is processed)',
    {
      timeout: 60_000,
    },
    async pauseMs => {
      const energies = await play(pauseMs)
      expect(energies[expected.record_reference_id]).toBe(expected.energy_wh)
      // 0.216 kW over three days.
      expect(energies['A']).toBe(15_552)
    },
  )
})

describe('a record of another device that arrives late, before a covered estimate', () => {
  const at = (hour: number): string => new Date(Date.UTC(2025, 5, 10, hour)).toISOString()

  /** Create a location with tiers, so that a late record makes the worker recost the records after it. */
  const makeTiered = async (): Promise<string> => {
    const home = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.1, to_kwh: 6 }, { fixed: 0.5 }] }]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    await makeOne(client, '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule })
    return home
  }

  const costs = async (home: string) =>
    Object.fromEntries(
      (await recordsOf(client, home)).map(({ data }) => [
        data.record_reference_id,
        [data.energy.value, data.tariff.cost.value],
      ]),
    )

  it.each([
    ['a device', true],
    ['the location', false],
  ])('leaves the estimate of %s covered, and the tiers count the rest of the estimate', async (_, isDevice) => {
    const home = await makeTiered()
    const deviceOf = async (name: string) => ({
      device_id: await makeOne(client, '/devices', { reference_id: `${name} of ${home}` }),
    })
    const estimated = isDevice ? await deviceOf('estimated') : {}
    const metered = await deviceOf('metered')
    await client.submit([
      bought(home, 8, at(8), at(12), { ...estimated, record_reference_id: 'estimate', confidence: 0.5 }),
    ])
    // The actual covers 6 of 8 kWh.
    await client.submit([bought(home, 1, at(9), at(12), { ...estimated, record_reference_id: 'actual' })])
    await client.submit([bought(home, 2, at(13), at(14), { ...metered, record_reference_id: 'after' })])
    await client.submit([bought(home, 3, at(6), at(7), { ...metered, record_reference_id: 'before' })])
    // 3 + 2 + 1 kWh fill the first tier, and 2 kWh follow.
    expect(await costs(home)).toEqual({
      before: [3000, 0.3],
      estimate: [2000, 0.2],
      actual: [1000, 0.1],
      after: [2000, 1],
    })
  })
})
