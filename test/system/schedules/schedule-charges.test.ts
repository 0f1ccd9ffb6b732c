import { beforeAll, describe, expect, it } from 'vitest'
import { createPrices, makeDevices, type PlanAnswer } from '../../support/acceptance/schedule-cases.ts'
import { goldenText } from '../../support/golden.ts'
import { linesOf, postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const ready: { client?: Client } = {}
const client = (): Client => {
  if (ready.client === undefined) throw new Error('the system is not ready')
  return ready.client
}

beforeAll(async () => {
  ready.client = await system.login()
})

type ChargedAnswer = PlanAnswer & {
  readonly charges?: readonly {
    readonly charge_id: string
    readonly month: string
    readonly kw_before: number
    readonly kw_after: number
    readonly amount: number
  }[]
  readonly bound?: number
}

/** A location with four hours of prices, an hour of 9 kWh before them, and a charge of 2 for each kW of the month. */
const chargedHome = async (charge: object = {}) => {
  const prices = { start: '2025-09-14T00:00:00Z', step_minutes: 60, values: [0.2, 0.1, 0.1, 0.2] }
  const home = await createPrices(client(), 'current', prices)
  await client().submit([bought(home, 9, '2025-09-02T10:00:00Z', '2025-09-02T11:00:00Z')])
  const demand = { location_id: home, kind: 'DEMAND', name: 'Peak', price: 2, per: 'MONTH', ...charge }
  const chargeId = await makeOne(client(), '/charges', demand)
  const [car] = await makeDevices(client(), 1)
  const body = {
    data: [
      {
        device_id: car,
        start_time: '2025-09-14T00:00:00Z',
        end_time: '2025-09-14T04:00:00Z',
        max_power: { units: 'KW', value: 11 },
        energy: { units: 'KWH', value: 22 },
      },
    ],
  }
  return { home, car: String(car), chargeId, body }
}

const plan = async (home: string, body: object): Promise<ChargedAnswer> =>
  client().ask('POST', `/schedules/amount/${home}`, body)

describe('a plan by amount that respects charges', () => {
  it('stays below the peak of the month, and tells what the plan does to it', async () => {
    const { home, chargeId, body } = await chargedHome()
    const free = await plan(home, body)
    // 11 kW in both cheap hours.
    expect([free.cost?.value, free.charges, free.bound]).toEqual([2.2, undefined, undefined])
    expect(await plan(home, { ...body, respect_charges: false })).toMatchObject({ cost: free.cost, data: free.data })
    const made = await plan(home, { ...body, respect_charges: true })
    // 9 kW in both cheap hours, and the other 4 kWh at 0.20.
    expect(made.cost?.value).toBe(2.6)
    expect(made.charges).toEqual([{ charge_id: chargeId, month: '2025-09', kw_before: 9, kw_after: 9, amount: 0 }])
    expect(made.bound).toBe(2.6)
  })

  it('has the power and the amount that the statement has after its energy was used', async () => {
    const { home, car, chargeId, body } = await chargedHome({ price: 0.15 })
    const made = await plan(home, { ...body, respect_charges: true })
    // A further kW costs 0.15 and saves 0.20 in two hours.
    expect([made.cost?.value, made.bound]).toEqual([2.2, 2.5])
    expect(made.charges).toEqual([{ charge_id: chargeId, month: '2025-09', kw_before: 9, kw_after: 11, amount: 0.3 }])
    const month = { start_date: '2025-09-01', end_date: '2025-10-01', expect: 'NOTHING', include_devices: true }
    const amountOf = async (): Promise<unknown> =>
      linesOf(await postStatement(client(), home, month)).find(({ kind }) => kind === 'DEMAND')?.amount
    expect(await amountOf()).toBe(1.35)
    const records = (made.data[0]?.schedule ?? []).map(({ start_time: start, end_time: end, power }) => {
      const hours = (Date.parse(end) - Date.parse(start)) / 3_600_000
      return bought(home, power.value * hours, start, end, { device_id: car })
    })
    await client().submit(records)
    expect(await amountOf()).toBe(1.65)
  })

  it('is written as published, and read again', async () => {
    const { home, body } = await chargedHome({
      steps: [
        { from_kw: 0, amount: 5 },
        { from_kw: 10, amount: 8 },
      ],
      price: undefined,
    })
    const made = await client().send('POST', `/schedules/amount/${home}`, { ...body, respect_charges: true })
    await expect(goldenText(made.text)).toMatchFileSnapshot('../../golden/current/schedule_amount_charges.json')
    const { id } = made.json as { readonly id: string }
    expect((await client().send('GET', `/schedules/${id}`)).text).toBe(made.text)
    const earlier = await system.login('test', 'earlier')
    const { text } = await earlier.send('GET', `/schedules/${id}`)
    expect(JSON.parse(text)).toMatchObject({ id })
    expect(text).not.toMatch(/"charges"|"bound"/)
  })

  it('has no charges if the location has none for demand', async () => {
    const { home, chargeId, body } = await chargedHome()
    await client().ask('DELETE', `/charges/${chargeId}`)
    await makeOne(client(), '/charges', { location_id: home, kind: 'FIXED', name: 'Base', price: 3, per: 'MONTH' })
    const made = await plan(home, { ...body, respect_charges: true })
    expect([made.cost?.value, made.charges, made.bound]).toEqual([2.2, [], 2.2])
  })

  it('belongs to the current API version', async () => {
    const { home, body } = await chargedHome()
    const earlier = await system.login('test', 'earlier')
    const request = { ...body, location_id: home, respect_charges: true }
    const { json } = await earlier.send('POST', '/schedules', request)
    expect(json).toMatchObject({ code: 'unknown_field', field: 'respect_charges' })
    const refused = await client().send('POST', `/schedules/amount/${home}`, { ...body, respect_charges: 'yes' })
    expect([refused.status, refused.json]).toMatchObject([400, { code: 'field_invalid', field: 'respect_charges' }])
  })
})
