import { beforeAll, describe, expect, it } from 'vitest'
import { askPlan, makeDevices, planRequest } from '../../support/acceptance/schedule-cases.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { addTiers } from '../../support/tariffs/tier-tariff.ts'

const system = useSharedSystem()
let ready: { readonly client: Client; readonly earlier: Client } | undefined

const clients = () => {
  if (ready === undefined) throw new Error('the system did not start')
  return ready
}

beforeAll(async () => {
  ready = { client: await system.login(), earlier: await system.login('test', 'earlier') }
})

const kilowattHours = (value: number) => ({ units: 'KWH', value })
const task = (device: string, energy: number, more: object) => ({
  device_id: device,
  max_power: { units: 'KW', value: 1 },
  energy: kilowattHours(energy),
  ...more,
})

describe('days across the end of summer time', () => {
  // From 00:00 to 00:00 in Berlin, one hour more than the same number of 24-hour days.
  const from = (day: string) => ({ start_time: `${day}T00:00:00+02:00`, end_time: '2026-10-27T00:00:00+01:00' })
  const late = { end_time: '2026-10-27T00:00:00.001+01:00' }

  it('count as days: three in a window, seven in a plan, ninety in an interval of prices', async () => {
    const { client, earlier } = clients()
    const [home, [device = '']] = [await makeHome(client, { import: 0.3 }), await makeDevices(client, 1)]
    const schedule = (more: object) =>
      client.send('POST', `/schedules/duration/${home}`, {
        ...from('2026-10-24'),
        segment: 'LOW',
        duration: 73 * 60,
        ...more,
      })
    const plan = (more: object) =>
      client.send('POST', `/schedules/amount/${home}`, {
        data: [task(device, 169, { ...from('2026-10-20'), ...more })],
      })
    const prices = (more: object) => client.send('POST', `/prices/${home}`, { ...from('2026-07-29'), ...more })
    const windows = (more: object) => {
      const query = { ...from('2026-07-29'), segment: 'LOW', duration: '60', ...more }
      return earlier.send('GET', `/slots/time/${home}?${new URLSearchParams(query)}`)
    }
    for (const [ask, refused, field] of [
      [schedule, 400, 'end_time'],
      [plan, 400, 'data[0].end_time'],
      [prices, 400, 'end_time'],
      [windows, 409, 'end_time'],
    ] as const) {
      expect((await ask({})).status).toBe(200)
      const reply = await ask(late)
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([refused, { code: 'interval_too_long', field }])
    }
  })
})

describe('plans', () => {
  it('without a tariff name the path for a new tariff, in the API version of the request', async () => {
    const { client, earlier } = clients()
    const home = await makeHome(client, {})
    const [device = ''] = await makeDevices(client, 1)
    const window = { start_time: '2026-03-10T00:00:00Z', end_time: '2026-03-10T06:00:00Z' }
    for (const [apiVersion, of, path] of [
      ['current', client, '/tariffs'],
      ['earlier', earlier, '/tariffs/elements'],
    ] as const) {
      const request = planRequest(apiVersion, home, { data: [task(device, 1, window)] })
      const { status, json } = await of.send('POST', request.path, request.body)
      const { code, message } = json as { readonly code: string; readonly message: string }
      expect([status, code]).toEqual([422, 'no_tariff_connected'])
      expect(message).toContain(`post one to ${path} with direction IMPORT`)
    }
  })

  it('list each instant without a price once, for either direction', async () => {
    const { client } = clients()
    const home = await makeHome(client, {})
    const [buys = '', sells = ''] = await makeDevices(client, 2)
    for (const [direction, start] of [
      ['IMPORT', '2026-03-10T02:00:00Z'],
      ['EXPORT', '2026-03-10T03:00:00Z'],
    ]) {
      const terms = { direction, type: 'COMMODITY', schedule: priceSchedule(0.3), contract_start_date: start }
      await makeOne(client, '/tariffs', { location_id: home, ...terms })
    }
    const day = { start_time: '2026-03-10T00:00:00Z', end_time: '2026-03-10T06:00:00Z' }
    const { unpriced } = await askPlan(client, 'current', home, {
      data: [task(buys, 1, day), task(sells, 1, { ...day, tariff_direction: 'EXPORT' })],
    })
    expect(unpriced).toEqual([{ start_time: '2026-03-10T00:00:00Z', end_time: '2026-03-10T03:00:00Z' }])
  })

  it('price own generation at the tier that its records have reached', async () => {
    const { client } = clients()
    const [home, [device = '']] = [await makeHome(client, { import: 0.3 }), await makeDevices(client, 1)]
    await addTiers(client, home, [{ fixed: 0.01, to_kwh: 2 }, { fixed: 0.2 }], { direction: 'LOCAL' })
    const sun = { location_id: home, tariff_direction: 'LOCAL', units: 'KWH' }
    await client.submit([
      { ...sun, value: 3, start_time: '2026-03-10T08:00:00Z', end_time: '2026-03-10T09:00:00Z' },
      { ...sun, value: 1, confidence: 0.5, start_time: '2026-03-10T11:00:00Z', end_time: '2026-03-10T12:00:00Z' },
    ])
    const noon = { start_time: '2026-03-10T10:00:00Z', end_time: '2026-03-10T13:00:00Z' }
    // 1 kWh at 0.20, because the morning has filled the first tier, and 1 kWh at 0.30.
    expect((await askPlan(client, 'current', home, { data: [task(device, 2, noon)] })).cost?.value).toBe(0.5)
  })

  it('count stored records until the first window of each direction, independent of the other direction', async () => {
    const { client } = clients()
    const [home, [sells = '', buys = '']] = [await makeHome(client, { export: 0.1 }), await makeDevices(client, 2)]
    await addTiers(client, home)
    await client.submit([bought(home, 8, '2026-03-10T09:00:00Z', '2026-03-10T10:00:00Z')])
    const later = task(buys, 4, { start_time: '2026-03-10T12:00:00Z', end_time: '2026-03-10T18:00:00Z' })
    const earlier = { start_time: '2026-03-10T08:00:00Z', end_time: '2026-03-10T09:00:00Z', tariff_direction: 'EXPORT' }
    const alone = await askPlan(client, 'current', home, { data: [later] })
    const beside = await askPlan(client, 'current', home, { data: [later, task(sells, 1, earlier)] })
    // 2 kWh remain at 0.10, 2 kWh cost 0.50.
    expect([alone, beside].map(({ data }) => data[0]?.cost?.value)).toEqual([1.2, 1.2])
  })
})
