import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Answer = {
  readonly includes_devices?: boolean
  readonly excluded_device_energy?: { readonly value: number }
  readonly warning?: string
  readonly data: readonly { readonly records: number; readonly energy: { readonly value: number } }[]
}

const june = (day: number, hour: number): string => new Date(Date.UTC(2025, 5, day, hour - 2)).toISOString()
const month = { start_time: june(1, 0), end_time: june(31, 0) }

const costs = async (id: string, query = '', span: object = month): Promise<Answer> =>
  (await client.ask('POST', `/costs/interval/${id}?${query}`, span)) as Answer

/** Device records and energies of an answer. */
const deviceSummary = ({ includes_devices, excluded_device_energy, warning, data }: Answer) => [
  ...[includes_devices, excluded_device_energy?.value, warning],
  data.map(({ energy }) => energy.value),
]

const at = (home: string, kwh: number, day: number, more: object = {}) =>
  bought(home, kwh, june(day, 10), june(day, 11), more)
const mixed = 'own_and_device_records'

const makeDevice = async (home: string, name = 'device'): Promise<{ readonly device_id: string }> => ({
  device_id: await makeOne(client, '/devices', { reference_id: `${name} of ${home}` }),
})

describe('the costs of a location', () => {
  it('are the costs of its devices until its first own record, and again after that record is cancelled', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const device = await makeDevice(home)
    expect(deviceSummary(await costs(home))).toEqual([true, undefined, undefined, [0]])
    await client.submit([at(home, 1, 3, device), at(home, 2, 5, device)])
    expect(deviceSummary(await costs(home))).toEqual([true, undefined, undefined, [3000]])
    const own = at(home, 4, 4, { record_reference_id: 'own' })
    await client.submit([own])
    expect(deviceSummary(await costs(home))).toEqual([false, 3000, mixed, [4000]])
    await client.submit([{ ...own, value: 0 }])
    expect(deviceSummary(await costs(home))).toEqual([true, undefined, undefined, [3000]])
    const [third, fourth] = [3, 4].map(day => ({ start_time: june(day, 0), end_time: june(day + 1, 0) }))
    expect(deviceSummary(await costs(home, '', third))).toEqual([true, undefined, undefined, [1000]])
    expect(deviceSummary(await costs(home, '', fourth))).toEqual([true, undefined, undefined, [0]])
    expect(deviceSummary(await costs(home, 'include_devices=false', third))).toEqual([false, 1000, undefined, [0]])
    // Corrected back.
    await client.submit([own])
    expect(deviceSummary(await costs(home))).toEqual([false, 3000, mixed, [4000]])
    expect(deviceSummary(await costs(home, '', third))).toEqual([false, 1000, mixed, [0]])
    expect(deviceSummary(await costs(home, '', fourth))).toEqual([false, undefined, mixed, [4000]])
    expect(deviceSummary(await costs(home, 'include_devices=true', third))).toEqual([true, undefined, mixed, [1000]])
    // An older own record remains if the newest one is cancelled.
    await client.submit([at(home, 8, 2), { ...own, value: 0 }])
    expect(deviceSummary(await costs(home))).toEqual([false, 3000, mixed, [8000]])
  })

  it('include records of devices as include_devices requests', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const device = await makeDevice(home)
    await client.submit([at(home, 1, 3, device), at(home, 4, 4)])
    expect(deviceSummary(await costs(home, 'include_devices=Auto'))).toEqual([false, 1000, mixed, [4000]])
    expect(deviceSummary(await costs(home, 'include_devices=true'))).toEqual([true, undefined, mixed, [5000]])
    expect(deviceSummary(await costs(home, 'include_devices=0'))).toEqual([false, 1000, mixed, [4000]])
    const { status, text } = await client.send('POST', `/costs/interval/${home}?include_devices=maybe`, month)
    expect([status, text]).toEqual([400, expect.stringContaining('include_devices must be auto, true or false')])
    // The devices have no records in this interval.
    const later = { start_time: june(10, 0), end_time: june(11, 0) }
    expect(deviceSummary(await costs(home, '', later))).toEqual([false, undefined, mixed, [0]])
    expect(deviceSummary(await costs(device.device_id))).toEqual([undefined, undefined, undefined, [1000]])
  })

  it('are decided separately for each flow and direction', async () => {
    const home = await makeHome(client, { import: 0.1, export: 0.05 })
    const device = await makeDevice(home)
    const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' }
    await client.submit([at(home, 1, 3, { ...device, ...sold }), at(home, 2, 3, device), at(home, 4, 4)])
    expect(deviceSummary(await costs(home, 'tariff_direction=EXPORT'))).toEqual([true, undefined, undefined, [1000]])
    expect(deviceSummary(await costs(home))).toEqual([false, 2000, mixed, [4000]])
  })

  it('are decided over all time, so that days add up to months', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const device = await makeDevice(home)
    // The only own record is years before the days of the devices.
    await client.submit([bought(home, 9, '2022-01-01T10:00:00Z', '2022-01-01T11:00:00Z')])
    await client.submit([at(home, 1, 3, device), at(home, 2, 5, device)])
    const days = (await costs(home, 'aggregation=DAY')).data
    const months = (await costs(home, 'aggregation=MONTH')).data
    const sum = (data: Answer['data']) => data.reduce((total, { energy }) => total + energy.value, 0)
    expect([days.length, sum(days), sum(months)]).toEqual([30, 0, 0])
    for (const day of [3, 5]) {
      const span = { start_time: june(day, 0), end_time: june(day + 1, 0) }
      expect(deviceSummary(await costs(home, '', span))).toEqual([false, day === 3 ? 1000 : 2000, mixed, [0]])
    }
  })

  it('are added up for a customer with the decision of each location', async () => {
    const customer = await makeOne(client, '/customers', {})
    const of = { customer_id: customer }
    const homes = [
      await makeHome(client, {}, of),
      await makeHome(client, {}, of),
      await makeHome(client, {}, of),
    ] as const
    const [both, own, devices] = homes
    const [one, two] = [await makeDevice(both), await makeDevice(devices)]
    await client.submit([at(both, 1, 3, one), at(both, 2, 3), at(own, 4, 3), at(devices, 8, 3, two)])
    const energies = async (query = '') => {
      const { data, ...answer } = await costs(customer, query)
      const unpriced = data.map(
        element => (element as unknown as { unpriced_energy?: { value: number } }).unpriced_energy?.value ?? 0,
      )
      return [...deviceSummary({ ...answer, data: [] }).slice(0, 3), unpriced]
    }
    expect(await energies()).toEqual([true, 1000, mixed, [2000 + 4000 + 8000]])
    expect(await energies('include_devices=true')).toEqual([true, undefined, mixed, [15_000]])
    expect(await energies('include_devices=false')).toEqual([false, 9000, mixed, [6000]])
    // The account also has the locations of the other tests. The excluded energy differs only by these locations.
    const { account_id: account } = (await client.ask('GET', '/account')) as { account_id: string; id: string }
    const id = account ?? ((await client.ask('GET', '/account')) as { id: string }).id
    const all = await costs(id)
    expect([all.includes_devices, all.warning]).toEqual([true, mixed])
    expect(all.excluded_device_energy?.value).toBeGreaterThanOrEqual(1000)
  })
})
