import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client | undefined
beforeAll(async () => {
  client = await system.login()
})
const ready = (): Client => {
  if (client === undefined) throw new Error('the system is not ready')
  return client
}

type Charge = Readonly<Record<string, unknown>> & { readonly id: string }
type Refusal = { readonly code: string; readonly field: string; readonly message: string }
type List = { readonly data: readonly Charge[]; readonly has_more: boolean }

const create = async (location: string, body: object): Promise<Charge> =>
  (await ready().ask('POST', '/charges', { location_id: location, ...body })) as Charge

const refusalOf = async (method: string, path: string, body?: object): Promise<readonly unknown[]> => {
  const { status, json } = await ready().send(method, path, body)
  const { code, field } = json as Refusal
  return [status, code, field]
}

const window = { days: ['Weekdays'], hours: [{ valid_from: '06:00:00', valid_to: '22:00:00' }] }

/** One charge of each kind, as bills of several countries have them, with the members that the service adds. */
const recipes: readonly (readonly [object, object])[] = [
  [
    { kind: 'FIXED', name: 'Grundpreis', component: 'base', price: 139.2, per: 'YEAR', start_date: '2026-01-01' },
    { quantity: 1, unit: null, prorate: 'DAYS', end_date: null, sequence: 0 },
  ],
  [
    { kind: 'USAGE', name: 'Netzentgelt', component: 'grid', schedule: priceSchedule(0.0472) },
    { price: null, counts: 'IMPORT', device_ids: null },
  ],
  [
    {
      kind: 'DEMAND',
      name: 'Kapasitetsledd',
      component: 'grid',
      highest: 3,
      distinct_days: true,
      steps: [
        { from_kw: 0, amount: 1200 },
        { from_kw: 2, amount: 1824.123456789 },
      ],
      per: 'YEAR',
      prorate: 'NONE',
    },
    { interval_minutes: 60, windows: [], price: null, tiers: null, year_basis: 'MONTHS', over: 'PERIOD' },
  ],
  [
    {
      kind: 'SESSION',
      name: 'Blockiergebühr',
      price: 0.1,
      per: 'MINUTE',
      while: 'IDLE',
      max_amount: 12,
      windows: [window],
    },
    {
      component: 'session',
      after_minutes: 0,
      count: 'EXACT',
      windows: [{ months: [], dates: [], ...window, weight: 1 }],
    },
  ],
  [
    { kind: 'MINIMUM', name: 'Minimum bill', amount: 1600, base: { kinds: ['ENERGY', 'FIXED', 'DEMAND'] } },
    {
      per: 'PERIOD',
      per_kwh: 0,
      base: { kinds: ['ENERGY', 'FIXED', 'DEMAND'], components: null, directions: ['IMPORT'] },
    },
  ],
  [
    { kind: 'MAXIMUM', name: 'Maximumtarief', per_kwh: 0.34, base: { components: ['grid'] }, sequence: 150 },
    { amount: 0, component: 'limit', base: { kinds: null, components: ['grid'], directions: ['IMPORT'] } },
  ],
  [
    { kind: 'PERCENTAGE', name: 'MVA', rate: 0.25 },
    { component: 'tax', tax: true, sequence: 200, base: { kinds: null, components: null, directions: ['IMPORT'] } },
  ],
]

describe('the charges of a location', () => {
  it('are created with each kind, and read back by id and in lists', async () => {
    const location = await makeHome(ready(), { import: 0.3 }, { reference_id: 'site-of-charges' })
    const created: Charge[] = []
    for (const [body, added] of recipes) {
      const charge = await create('reference:site-of-charges', body)
      expect(charge).toMatchObject({ object: 'charge', location_id: location, plan_id: null, ...body, ...added })
      expect(await ready().ask('GET', `/charges/${charge.id}`)).toEqual(charge)
      created.push(charge)
    }
    const newest = created.toReversed()
    expect(await ready().ask('GET', `/charges?location_id=${location}`)).toMatchObject({
      data: newest,
      has_more: false,
    })
    const page = (await ready().ask('GET', `/charges?limit=3&starting_after=${newest[1]?.id}`)) as List
    expect(page.data).toEqual(newest.slice(2, 5))
    // An answer without the members of the service is a valid request.
    const {
      id: _,
      object: __,
      live_mode: ___,
      plan_id: ____,
      time_created: _____,
      account_id: ______,
      ...terms
    } = created[2] ?? expect.fail()
    expect(await ready().ask('POST', '/charges', terms)).toMatchObject(terms)
  })

  it('change in their name, component and dates only', async () => {
    const charge = await create(await makeHome(ready(), {}), { kind: 'FIXED', name: 'Base', price: 1, component: 'x' })
    const path = `/charges/${charge.id}`
    const dates = { start_date: '2026-01-01', end_date: '2026-12-31' }
    const changed = { ...charge, ...dates, name: 'Base price', component: 'fixed' }
    const patch = { ...charge, ...dates, name: 'Base price', component: null }
    expect(await ready().ask('PATCH', path, patch)).toEqual(changed)
    expect(await ready().ask('PATCH', path, { end_date: null })).toEqual({ ...changed, end_date: null })
    expect(await refusalOf('PATCH', path, { price: 2 })).toEqual([400, 'field_immutable', 'price'])
    expect(await refusalOf('PATCH', path, { sequence: 1 })).toEqual([400, 'field_immutable', 'sequence'])
    expect(await refusalOf('PATCH', path, { tiers: [] })).toEqual([400, 'field_immutable', 'tiers'])
    expect(await refusalOf('PATCH', path, { end_date: '2026-01-01' })).toEqual([400, 'end_before_start', 'end_date'])
    expect(await refusalOf('PATCH', path, { kinds: 1 })).toEqual([400, 'unknown_field', 'kinds'])
  })

  it('are gone after a deletion, and each change has an event', async () => {
    const { id } = await create(await makeHome(ready(), {}), { kind: 'FIXED', name: 'Base', price: 1 })
    await ready().ask('PATCH', `/charges/${id}`, { name: 'Base price' })
    expect((await ready().send('DELETE', `/charges/${id}`)).status).toBe(202)
    expect(await refusalOf('GET', `/charges/${id}`)).toEqual([404, 'not_found', undefined])
    const { data } = (await ready().ask('GET', `/events?object_id=${id}&event_type=charge.*`)) as {
      readonly data: readonly { readonly type: string; readonly data: Charge }[]
    }
    expect(data.map(({ type, data: { name } }) => [type, name])).toEqual([
      ['charge.delete', 'Base price'],
      ['charge.update', 'Base price'],
      ['charge.create', 'Base'],
    ])
  })

  it('name devices by id and by own reference', async () => {
    const location = await makeHome(ready(), {})
    const [first, second] = [
      await makeOne(ready(), '/devices', { reference_id: 'charged-1' }),
      await makeOne(ready(), '/devices', { reference_id: 'charged-2' }),
    ]
    const body = { kind: 'USAGE', name: 'Charging', price: 0.01, device_ids: [first, 'reference:charged-2'] }
    expect(await create(location, body)).toMatchObject({ device_ids: [first, second] })
    const unknown = { ...body, location_id: location, device_ids: [first, 'reference:none'] }
    expect(await refusalOf('POST', '/charges', unknown)).toEqual([400, 'device_not_found', 'device_ids[1]'])
  })

  it('change no costs and prices', async () => {
    const location = await makeHome(ready(), { import: 0.3 })
    const [start, end] = ['2026-03-02T10:00:00Z', '2026-03-02T11:00:00Z']
    await ready().submit([bought(location, 2, start, end)])
    const read = async () => [
      await ready().ask('POST', `/costs/interval/${location}`, { start_time: start, end_time: end }),
      await ready().ask('POST', `/prices/${location}`, { start_time: start, end_time: end }),
    ]
    const shown = (answers: readonly unknown[]): string =>
      JSON.stringify(answers).replace(/"(?:id|time_created|next_update)":"[^"]*"/g, '')
    const before = shown(await until(read, answers => JSON.stringify(answers).includes('"value":0.6')))
    for (const [body] of recipes) await create(location, body)
    expect(shown(await read())).toBe(before)
  })
})

describe('a charge is refused', () => {
  it('for faults that the reader or the location shows', async () => {
    const location = await makeHome(ready(), {})
    const refused = (body: object) => refusalOf('POST', '/charges', { location_id: location, name: 'c', ...body })
    const demand = { kind: 'DEMAND', name: 'c' }
    expect(await refused(demand)).toEqual([400, 'price_missing', 'price'])
    expect(await refused({ ...demand, price: 1, steps: [{ from_kw: 0, amount: 1 }] })).toEqual([
      ...[400, 'price_ambiguous', 'steps'],
    ])
    expect(
      await refused({
        ...demand,
        steps: [
          { from_kw: 1, amount: 1 },
          { from_kw: 1, amount: 2 },
        ],
      }),
    ).toEqual([...[400, 'steps_not_rising', 'steps']])
    expect(await refused({ ...demand, price: 1, interval_minutes: 5 })).toEqual([
      ...[400, 'interval_not_supported', 'interval_minutes'],
    ])
    expect(await refused({ kind: 'PERCENTAGE', rate: 0.2, base: { kinds: [] } })).toEqual([
      ...[400, 'base_empty', 'base.kinds'],
    ])
    expect(await refused({ ...demand, price: 1, windows: [{ days: ['Holidays'] }] })).toEqual([
      ...[400, 'calendar_required', 'windows[0].days'],
    ])
    const fixed = { kind: 'FIXED', price: 1 }
    expect(await refused({ ...fixed, start_date: '2026-01-01', end_date: '2026-01-01' })).toEqual([
      ...[400, 'end_before_start', 'end_date'],
    ])
    const none = { ...fixed, location_id: 'loc_0198c0ffee00112233445566' }
    expect(await refused(none)).toEqual([400, 'location_not_found', 'location_id'])
  })

  it('in the earlier API version, which has no charges', async () => {
    const earlier = await system.login('test', 'earlier')
    expect((await earlier.send('GET', '/charges')).status).toBe(404)
  })
})
