import { beforeAll, describe, expect, it } from 'vitest'
import {
  askPlan,
  createPrices,
  makeDevices,
  type PlanAnswer,
  planRequest,
} from '../../support/acceptance/schedule-cases.ts'
import type { ApiVersion, Client, Reply } from '../../support/system/client.ts'
import { makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const ready: Partial<Record<ApiVersion, Client>> = {}

const clientOf = (apiVersion: ApiVersion): Client => {
  const client = ready[apiVersion]
  if (client === undefined) throw new Error('the system is not ready')
  return client
}

beforeAll(async () => {
  for (const apiVersion of ['current', 'earlier'] as const) ready[apiVersion] = await system.login('test', apiVersion)
})

const refusalOf = ({ status, text }: Reply) => {
  const { code, field } = JSON.parse(text) as { readonly code?: string; readonly field?: string }
  return [status, code, field]
}

const at = (hours: number): string => new Date(Date.UTC(2025, 8, 14) + hours * 3_600_000).toISOString()

/** Four hours of prices, without a price in the third hour. */
const gapped = async (client: Client) => {
  const known = { step_minutes: 60, start: at(0) }
  const locationId = await createPrices(client, 'current', { ...known, values: [0.3, 0.1] })
  const { market_sources: sources } = (await client.ask('GET', `/locations/${locationId}`)) as {
    market_sources: { import: string }
  }
  await client.ask('PUT', `/markets/${sources.import}/prices`, [{ start_time: at(3), end_time: at(4), value: 0.2 }])
  return locationId
}

const window = (from: number, to: number) => ({ start_time: at(from), end_time: at(to) })

type Slots = { readonly data: readonly object[]; readonly unpriced: readonly object[]; readonly duration?: number }

describe('a window with time without a price', () => {
  it('is scheduled in the remaining time, also off the grid, and lists the excluded time', async () => {
    const client = clientOf('current')
    const locationId = await gapped(client)
    const low = { ...window(0.5, 3.25), segment: 'LOW' }
    const split = (await client.ask('POST', `/schedules/duration/${locationId}`, { ...low, duration: 90 })) as Slots
    expect(split.unpriced).toEqual([{ start_time: '2025-09-14T02:00:00Z', end_time: '2025-09-14T03:00:00Z' }])
    expect(split.data).toEqual([
      // 15 minutes at 0.30 and 60 at 0.10: 0.14.
      { start_time: '2025-09-14T00:45:00Z', end_time: '2025-09-14T02:00:00Z', price: { average: 0.14, confidence: 1 } },
      { start_time: '2025-09-14T03:00:00Z', end_time: '2025-09-14T03:15:00Z', price: { average: 0.2, confidence: 1 } },
    ])
    const limited = (await client.ask('POST', `/schedules/limit/${locationId}`, { ...low, relative: 0.5 })) as Slots
    expect([limited.data.length, limited.duration, limited.unpriced.length]).toEqual([2, 75, 1])
  })

  it('is refused if the remaining time is too short', async () => {
    const client = clientOf('current')
    const locationId = await gapped(client)
    const ask = (body: object) =>
      client.send('POST', `/schedules/duration/${locationId}`, { ...window(0, 4), segment: 'LOW', ...body })
    expect(refusalOf(await ask({ duration: 180 }))[0]).toBe(200)
    expect(refusalOf(await ask({ duration: 181 }))).toEqual([422, 'no_price_data', undefined])
    expect((await ask({ duration: 181 })).text).toContain('2025-09-14T02:00:00Z')
    expect(refusalOf(await ask({ duration: 121, contiguous: true }))).toEqual([422, 'no_price_data', undefined])
    expect(refusalOf(await ask({ duration: 241 }))).toEqual([400, 'duration_too_long', 'duration'])
    const limit = { ...window(2, 3), segment: 'LOW', absolute: 1 }
    expect(refusalOf(await client.send('POST', `/schedules/limit/${locationId}`, limit))).toEqual([
      422,
      'no_price_data',
      undefined,
    ])
    const bare = await makeHome(client, {})
    expect(refusalOf(await client.send('POST', `/schedules/limit/${bare}`, limit))).toEqual([
      422,
      'no_tariff_connected',
      undefined,
    ])
  })
})

describe('windows', () => {
  it('have at most three days, and ninety in the earlier API version', async () => {
    const home = await makeHome(clientOf('current'), { import: 0.3 }, { timezone: 'UTC' })
    const current = async (kind: string, hours: number) => {
      const body = {
        ...window(0, hours),
        segment: 'LOW',
        ...(kind === 'duration' ? { duration: 60 } : { absolute: 1 }),
      }
      return refusalOf(await clientOf('current').send('POST', `/schedules/${kind}/${home}`, body))
    }
    const earlier = async (kind: string, hours: number) => {
      const query = {
        ...window(0, hours),
        segment: 'LOW',
        ...(kind === 'time' ? { duration: '60' } : { absolute: '1' }),
      }
      return refusalOf(await clientOf('earlier').send('GET', `/slots/${kind}/${home}?${new URLSearchParams(query)}`))
    }
    for (const kind of ['duration', 'limit']) {
      expect((await current(kind, 72))[0]).toBe(200)
      expect(await current(kind, 72.001)).toEqual([400, 'interval_too_long', 'end_time'])
      expect(await current(kind, 0)).toEqual([400, 'end_before_start', 'end_time'])
    }
    for (const kind of ['time', 'threshold']) {
      expect((await earlier(kind, 90 * 24))[0]).toBe(200)
      expect(await earlier(kind, 90 * 24 + 0.001)).toEqual([409, 'interval_too_long', 'end_time'])
    }
  })

  it('use the field names of their API version', async () => {
    const home = await makeHome(clientOf('current'), { import: 0.3 })
    const send = async (kind: string, body: object) =>
      refusalOf(await clientOf('current').send('POST', `/schedules/${kind}/${home}`, body))
    const low = { ...window(0, 1), segment: 'LOW' }
    expect(await send('duration', { ...low, duration: 1, tariff: 'IMPORT' })).toEqual([400, 'unknown_field', 'tariff'])
    expect(await send('duration', { ...low, duration: 1.5 })).toEqual([400, 'field_invalid', 'duration'])
    expect(await send('duration', { ...low, duration: 0 })).toEqual([400, 'value_out_of_range', 'duration'])
    expect(await send('duration', { ...window(0, 1), duration: 1 })).toEqual([400, 'field_required', 'segment'])
    expect(await send('limit', low)).toEqual([400, 'field_required', 'absolute'])
    expect(await send('limit', { ...low, relative: 1.01 })).toEqual([400, 'value_out_of_range', 'relative'])
    expect(
      refusalOf(
        await clientOf('current').send('POST', '/schedules/limit/loc_0198c0ffee00112233445566', {
          ...low,
          relative: 1,
        }),
      ),
    ).toEqual([404, 'not_found', undefined])
    const path = `/slots/time/${home}?${new URLSearchParams({ ...low, duration: '60', contiguous: 'true' })}`
    expect(refusalOf(await clientOf('earlier').send('GET', path))).toEqual([409, 'unknown_parameter', 'contiguous'])
  })
})

const kilowatts = (value: number) => ({ units: 'KW', value })
const kilowattHours = (value: number) => ({ units: 'KWH', value })
const task = (deviceId: string, energy: number, more: object = {}) => ({
  device_id: deviceId,
  ...window(0, 4),
  max_power: kilowatts(2),
  energy: kilowattHours(energy),
  ...more,
})

const piecesOf = ({ data }: PlanAnswer) =>
  data.map(({ schedule }) => schedule.map(({ start_time: start, end_time: end, power }) => [start, end, power.value]))

describe.each(['current', 'earlier'] as const)('plans in the %s API version', apiVersion => {
  it('write an event in the same transaction, once per key', async () => {
    const client = clientOf(apiVersion)
    const [home, [device = '']] = [
      await makeHome(clientOf('current'), { import: 0.3 }),
      await makeDevices(clientOf('current'), 1),
    ]
    const { path, body } = planRequest(apiVersion, home, { data: [task(device, 1)] })
    const key = { 'Idempotency-Key': `plan-${apiVersion}` }
    const [first, again] = [await client.send('POST', path, body, key), await client.send('POST', path, body, key)]
    expect([first.status, again.text]).toEqual([200, first.text])
    const plan = JSON.parse(first.text) as PlanAnswer & { readonly location_id: string }
    expect([plan.location_id, (plan.cost ?? plan.tariff)?.value]).toEqual([home, 0.3])
    const events = (await client.ask('GET', `/events?event_type=schedule.created&object_id=${plan.id}`)) as {
      data: readonly { readonly data: object }[]
    }
    expect(events.data).toHaveLength(1)
    const createdEvents = (await clientOf('current').ask('GET', `/events?object_id=${plan.id}`)) as {
      data: readonly { data: { location_id: string } }[]
    }
    expect(createdEvents.data[0]?.data.location_id).toBe(home)
  })

  it('name the field of an unknown object', async () => {
    const client = clientOf(apiVersion)
    const [home, [device = '']] = [
      await makeHome(clientOf('current'), { import: 0.3 }),
      await makeDevices(clientOf('current'), 1),
    ]
    const status = apiVersion === 'current' ? 400 : 409
    const ask = async (locationId: string, data: readonly object[], more: object = {}) => {
      const { path, body } = planRequest(apiVersion, locationId, { ...more, data })
      return refusalOf(await client.send('POST', path, body))
    }
    const unknown = 'dev_0198c0ffee00112233445566'
    expect(await ask(home, [task(device, 1), task(unknown, 1)])).toEqual([
      status,
      'device_not_found',
      'data[1].device_id',
    ])
    expect(await ask('loc_0198c0ffee00112233445566', [task(device, 1)])).toEqual(
      apiVersion === 'current' ? [404, 'not_found', undefined] : [409, 'location_not_found', 'location_id'],
    )
    expect(await ask(home, [task(device, 1, { max_power: null })])).toEqual([
      status,
      'field_required',
      'data[0].max_power',
    ])
    expect((await ask(home, [task(device, 1, { max_power: null })], { max_power: kilowatts(1) }))[0]).toBe(200)
    for (const shaving_threshold of [null, {}, { relative: null, absolute: null }]) {
      const { path, body } = planRequest(apiVersion, home, { data: [task(device, 1)], shaving_threshold })
      const plan = await client.send('POST', path, body)
      expect([plan.status, JSON.parse(plan.text).shaving_threshold ?? null]).toEqual([200, null])
    }
    expect(await ask(home, [task(device, 1, { max_power: kilowatts(0) })])).toEqual([
      status,
      'value_out_of_range',
      'data[0].max_power.value',
    ])
    expect(await ask(home, [task(device, 1, window(4, 4))])).toEqual([status, 'end_before_start', 'data[0].end_time'])
    expect(await ask(home, [])).toEqual([status, 'value_out_of_range', 'data'])
    expect(await ask(home, [task(device, 8.001)])).toEqual([422, 'schedule_infeasible', undefined])
    expect(await ask(await makeHome(clientOf('current'), {}), [task(device, 1)])).toEqual([
      422,
      'no_tariff_connected',
      undefined,
    ])
  })
})

describe('plans', () => {
  it('use estimated generation, not measured generation', async () => {
    const client = clientOf('current')
    const [home, [device = '']] = [await makeHome(client, { import: 0.3 }), await makeDevices(client, 1)]
    const sun = { location_id: home, tariff_direction: 'LOCAL', units: 'KWH' }
    await client.submit([
      { ...sun, value: 1.5, confidence: 0.8, ...window(2, 3) },
      { ...sun, value: 9, ...window(1, 2) },
    ])
    const plan = await askPlan(client, 'current', home, { data: [task(device, 2)] })
    // 1.5 kWh at 0 with confidence 0.8 and 0.5 kWh at 0.30: 0.15; (1.5 × 0.8 + 0.5) / 2
    expect(plan.cost).toEqual({ value: 0.15, confidence: 0.85 })
    expect(plan.savings).toEqual({ value: 0.45, percentage: 75 })
  })

  it('count stored records for the tiers of their month', async () => {
    const client = clientOf('current')
    const home = await makeHome(client, {})
    const rate = [{ fixed: 0.1, to_kwh: 3 }, { fixed: 0.2 }]
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    await client.ask('POST', '/tariffs', { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule })
    await client.submit([{ location_id: home, units: 'KWH', value: 2, ...window(-5, -4) }])
    const [device = ''] = await makeDevices(client, 1)
    // 1 kWh remains at 0.10, the second costs 0.20.
    expect((await askPlan(client, 'current', home, { data: [task(device, 2)] })).cost?.value).toBe(0.3)
  })

  it('exclude time without a price, and are the same for the same request', async () => {
    const client = clientOf('current')
    const [locationId, devices] = [await gapped(client), await makeDevices(client, 2)]
    const request = { max_power: kilowatts(2), data: devices.map(device => task(device, 2)) }
    const [one, other] = [
      await askPlan(client, 'current', locationId, request),
      await askPlan(client, 'current', locationId, request),
    ]
    expect(one.unpriced).toEqual([{ start_time: '2025-09-14T02:00:00Z', end_time: '2025-09-14T03:00:00Z' }])
    expect(piecesOf(one)).toEqual(piecesOf(other))
    // 2 kWh at 0.10 and 2 kWh at 0.20; without a plan both would run at 0.30.
    expect([one.cost?.value, one.savings]).toEqual([0.6, { value: 0.6, percentage: 50 }])
    const tooMuch = planRequest('current', locationId, { data: devices.map(device => task(device, 7)) })
    expect(refusalOf(await client.send('POST', tooMuch.path, tooMuch.body))).toEqual([422, 'no_price_data', undefined])
  })

  it('answer each element in the offset of its end_time', async () => {
    const client = clientOf('current')
    const [home, [device = '']] = [await makeHome(client, { import: 0.3 }), await makeDevices(client, 1)]
    const summer = { start_time: at(0), end_time: '2025-09-14T04:00:00+02:00' }
    const plan = await askPlan(client, 'current', home, { data: [task(device, 1), task(device, 1, summer)] })
    expect(piecesOf(plan)).toEqual([
      [['2025-09-14T00:00:00Z', '2025-09-14T00:30:00Z', 2]],
      [['2025-09-14T02:00:00+02:00', '2025-09-14T02:30:00+02:00', 2]],
    ])
  })

  it('support 2,000 windows of 1,000 devices within seven days', async () => {
    const client = clientOf('current')
    const [home, [device = '']] = [await makeHome(client, { import: 0.3 }), await makeDevices(client, 1)]
    const send = async (data: readonly object[]) => {
      const { path, body } = planRequest('current', home, { data })
      return refusalOf(await client.send('POST', path, body))
    }
    const many = (count: number) => Array.from({ length: count }, () => task(device, 0.001))
    expect((await send(many(2000)))[0]).toBe(200)
    expect(await send(many(2001))).toEqual([400, 'value_out_of_range', 'data'])
    const others = (count: number) =>
      Array.from({ length: count }, (_, index) => task(`dev_${String(index).padStart(24, '0')}`, 1))
    expect(await send(others(1000))).toEqual([400, 'device_not_found', 'data[0].device_id'])
    expect(await send(others(1001))).toEqual([400, 'value_out_of_range', 'data'])
    expect((await send([task(device, 1), task(device, 1, window(100, 168))]))[0]).toBe(200)
    expect(await send([task(device, 1), task(device, 1, window(100, 168.001))])).toEqual([
      400,
      'interval_too_long',
      'data[1].end_time',
    ])
  })
})
