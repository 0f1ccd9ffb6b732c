import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { bought, makeHome, makeOne } from '../support/system/home.ts'
import { costsUntil } from '../support/system/stored-costs.ts'
import { until } from '../support/system/until.ts'
import { useSharedSystem } from '../support/system/use-system.ts'
import { makeTieredHome } from '../support/tariffs/tier-tariff.ts'

/**
 * Two kinds of costs depend on other records of the location. In a tier, the price depends on the energy counted in
 * the month before. An estimate has a cost only for the time that no actual record covers.
 */
const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

/** Return a record of one hour that begins at an hour (UTC) of a day of June. */
const hourOf = (home: string, day: number, hour: number, kwh: number, reference: string) => {
  const at = Date.UTC(2025, 5, day, hour)
  const [start, end] = [new Date(at).toISOString(), new Date(at + 3_600_000).toISOString()]
  return bought(home, kwh, start, end, { record_reference_id: reference })
}

describe('1 A tier price depends on the energy of the month', () => {
  // 0.10 per kWh up to 10 kWh of a month, 0.50 above

  it('The month starts in the first tier', async () => {
    const home = await makeTieredHome(client)
    await client.submit([hourOf(home, 1, 10, 8, 'a'), hourOf(home, 2, 10, 5, 'b')])
    // a: 8 × 0.10 = 0.80. b: 2 kWh are left in the first tier: 2 × 0.10 + 3 × 0.50 = 1.70
    expect(await costsUntil(client, home, { a: 0.8, b: 1.7 })).toEqual({ a: 0.8, b: 1.7 })
  })

  it('A late record moves the records after it into another tier', async () => {
    const home = await makeTieredHome(client)
    await client.submit([hourOf(home, 2, 10, 5, 'b')])
    await client.submit([hourOf(home, 1, 10, 8, 'a')])
    // The same costs as above: the order of arrival does not matter.
    expect(await costsUntil(client, home, { a: 0.8, b: 1.7 })).toEqual({ a: 0.8, b: 1.7 })
  })

  it('A correction moves them back', async () => {
    const home = await makeTieredHome(client)
    await client.submit([hourOf(home, 1, 10, 8, 'a'), hourOf(home, 2, 10, 5, 'b')])
    await client.submit([hourOf(home, 1, 10, 1, 'a')])
    // a: 1 × 0.10 = 0.10. b: 9 kWh are left in the first tier, so 5 × 0.10 = 0.50
    expect(await costsUntil(client, home, { a: 0.1, b: 0.5 })).toEqual({ a: 0.1, b: 0.5 })
  })
})

type Stored = {
  readonly data: readonly {
    readonly data: {
      readonly record_reference_id: string
      readonly energy: { readonly value: number }
      readonly tariff: { readonly cost: { readonly value: number; readonly confidence: number } }
    }
  }[]
}

/** Return energy (Wh) and cost of the records of a location by their reference. */
const energyOf = async (home: string): Promise<Readonly<Record<string, readonly [number, number]>>> => {
  const { data } = (await client.ask('GET', `/meters/records?location_id=${home}`)) as Stored
  return Object.fromEntries(
    data.map(({ data: record }) => [
      record.record_reference_id,
      [record.energy.value, record.tariff.cost.value] as const,
    ]),
  )
}

const reached = (home: string, wanted: Readonly<Record<string, readonly [number, number]>>) =>
  until(
    () => energyOf(home),
    seen => Object.entries(wanted).every(([name, pair]) => `${seen[name]}` === `${pair}`),
  )

describe('2 An estimate fills the time without actual records', () => {
  it('It counts in full before the actual data arrive', async () => {
    const home = await makeHome(client, { import: 0.2 })
    const device_id = await makeOne(client, '/devices', { reference_id: 'meter-1' })
    const estimate = { ...hourOf(home, 1, 10, 4, 'estimate'), device_id, confidence: 0.7 }
    await client.submit([estimate])
    // 4 kWh × 0.20 = 0.80
    expect(await reached(home, { estimate: [4000, 0.8] })).toEqual({ estimate: [4000, 0.8] })
  })

  it('An actual record takes its time away from the estimate', async () => {
    const home = await makeHome(client, { import: 0.2 })
    const device_id = await makeOne(client, '/devices', { reference_id: 'meter-2' })
    await client.submit([{ ...hourOf(home, 1, 10, 4, 'estimate'), device_id, confidence: 0.7 }])
    const quarter = { start_time: '2025-06-01T10:00:00Z', end_time: '2025-06-01T10:15:00Z' }
    await client.submit([{ ...hourOf(home, 1, 10, 3, 'actual'), ...quarter, device_id }])
    // actual: 3 × 0.20 = 0.60. Three quarters of the estimate are left: 3 kWh × 0.20 = 0.60
    const wanted = { estimate: [3000, 0.6], actual: [3000, 0.6] } as const
    expect(await reached(home, wanted)).toEqual(wanted)
  })

  it('An actual record of 0 kWh also takes its time: the device measured that it used nothing', async () => {
    const home = await makeHome(client, { import: 0.2 })
    const device_id = await makeOne(client, '/devices', { reference_id: 'meter-3' })
    await client.submit([{ ...hourOf(home, 1, 10, 4, 'estimate'), device_id, confidence: 0.7 }])
    await client.submit([{ ...hourOf(home, 1, 10, 0, 'actual'), device_id }])
    const wanted = { estimate: [0, 0], actual: [0, 0] } as const
    expect(await reached(home, wanted)).toEqual(wanted)
  })
})
