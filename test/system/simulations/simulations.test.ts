import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { exactBody } from '../../support/exact/exact-json.ts'
import { goldenText } from '../../support/golden.ts'
import { histories } from '../../support/history/generate-history.ts'
import { type PlayContext, playShuffled } from '../../support/history/play.ts'
import { createDevices } from '../../support/history/register-rules.ts'
import { tariffBody } from '../../support/scenarios/scenario-over-http.ts'
import { type SimulationAnswer, simulate } from '../../support/simulations/simulation-answer.ts'
import { refusalOf } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const dayMs = 86_400_000

const system = useSharedSystem()
let client: Client
let home: string
let other: string

const on = (location: string, kwh: number, date: string, more: object = {}) =>
  bought(location, kwh, `2025-${date}T10:00:00Z`, `2025-${date}T11:00:00Z`, more)

const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' }

beforeAll(async () => {
  client = await system.login()
  home = await makeHome(client, { import: 0.1, export: 0.05 })
  other = await makeHome(client, { import: 0.2 })
  await client.submit([
    on(home, 10, '03-05'),
    on(home, 30, '04-05'),
    on(home, 4, '04-06', sold),
    on(other, 7, '04-07'),
    on(other, 1, '05-07'),
  ])
})

const spring = { start_date: '2025-03-01', end_date: '2025-05-01' }
const flat = (fixed: number, more: object = {}) => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: priceSchedule(fixed),
  ...more,
})
const base = { kind: 'FIXED', name: 'base', price: 5, per: 'MONTH' }
const vat = { kind: 'PERCENTAGE', name: 'VAT', rate: 0.2 }

const post = (body: object) => client.send('POST', '/simulations', body)

describe('a simulation', () => {
  it('compares candidates with the stored costs, by month', async () => {
    const body = {
      object_ids: [home],
      ...spring,
      candidates: [
        { name: 'own' },
        { name: 'other price', tariffs: [flat(0.3), flat(0.1, { direction: 'EXPORT' })] },
        { name: 'with charges', charges: [base, vat] },
        { name: 'nothing', tariffs: [], charges: [] },
      ],
    }
    const answer = await simulate(client, body)
    const { id, status, progress, baseline, data } = answer
    expect([id, status, progress]).toEqual([null, 'DONE', { locations: 1, done: 1 }])
    // 10 kWh x 0.10, then 30 kWh x 0.10 - 4 kWh x 0.05.
    const months = [
      { month: '2025-03', total: 1, standing_days: 0 },
      { month: '2025-04', total: 2.8, standing_days: 0 },
    ]
    expect(baseline).toEqual({
      energy: 3.8,
      charges: 0,
      tax: 0,
      total: 3.8,
      complete: false,
      standing_days: 0,
      months,
    })
    expect(data[0]).toMatchObject({
      name: 'own',
      total: 3.8,
      difference: 0,
      months: months.map(month => ({ ...month })),
    })
    // 10 x 0.30; 30 x 0.30 - 4 x 0.10.
    expect(data[1]).toMatchObject({
      name: 'other price',
      energy: 11.6,
      total: 11.6,
      difference: 7.8,
      months: [
        { month: '2025-03', total: 3, difference: 2 },
        { month: '2025-04', total: 8.6, difference: 5.8 },
      ],
    })
    expect(data.map(one => [one.standing_days, one.standing_days_difference])).toEqual([
      [0, 0],
      [0, 0],
      [61, 61],
      [0, 0],
    ])
    // Base 10; 20 % of 10 + 4 kWh bought at 0.10.
    expect(data[2]).toMatchObject({ energy: 3.8, charges: 10, tax: 2.8, total: 16.6, difference: 12.8 })
    expect(data[3]).toMatchObject({ energy: 0, charges: 0, tax: 0, total: 0, difference: -3.8, complete: false })
  })

  it('adds up locations, and lists each of them and the lines on request', async () => {
    const customer = await makeOne(client, '/customers', {})
    for (const id of [home, other]) await client.ask('PATCH', `/locations/${id}`, { customer_id: customer })
    const candidates = [{ name: 'flat', tariffs: [flat(0.5)], charges: [base] }]
    const body = { customer_id: customer, ...spring, candidates, group_by: 'LOCATION', lines: true }
    const { baseline, data, locations } = await simulate(client, body)
    expect([baseline?.total, data[0]?.total]).toEqual([5.2, 43.5])
    expect(locations?.map(one => [one.location_id, one.baseline?.total, one.data[0]?.total])).toEqual([
      [home, 3.8, 30],
      [other, 1.4, 13.5],
    ])
    expect(data[0]?.lines).toEqual([
      expect.objectContaining({ name: 'Energy', tariff_direction: 'IMPORT', unit: 'kWh', quantity: 47, amount: 23.5 }),
      expect.objectContaining({ name: 'base', amount: 20, amount_rounded: 20, tax: false }),
      expect.objectContaining({ name: 'Energy export', quantity: 0, amount: 0 }),
    ])
    const named = await simulate(client, { ...body, customer_id: undefined, object_ids: [home, other] })
    expect([named.baseline, named.data]).toEqual([baseline, data])
  })

  it('reads the devices of its charges, by id or own reference', async () => {
    const reference = `charger of ${home}`
    const device = await makeOne(client, '/devices', { reference_id: reference })
    const levy = (id: string) => ({ kind: 'USAGE', name: 'levy', price: 1, device_ids: [id] })
    const candidates = [device, `reference:${reference}`].map(id => ({ name: id, charges: [levy(id)] }))
    const { data } = await simulate(client, { object_ids: [home], ...spring, candidates })
    expect(data.map(({ charges }) => charges)).toEqual([0, 0])
    const unknown = [{ name: 'x', charges: [levy('reference:nothing')] }]
    const refused = await post({ object_ids: [home], ...spring, candidates: unknown })
    expect(refusalOf(refused)).toEqual([400, 'device_not_found'])
    const missing = [
      { name: 'x', charges: [base, { ...levy(device), device_ids: [device, 'dev_0198c0ffee00112233445566'] }] },
    ]
    expect((await post({ object_ids: [home], ...spring, candidates: missing })).json).toMatchObject({
      code: 'device_not_found',
      field: 'candidates[0].charges[1].device_ids[1]',
    })
  })

  it('is written as published', async () => {
    const candidates = [{ name: 'flat', tariffs: [flat(0.5)], charges: [base, vat] }]
    const body = { object_ids: [home], ...spring, candidates, group_by: 'LOCATION', lines: true }
    const { text } = await post(body)
    await expect(goldenText(text)).toMatchFileSnapshot('../../golden/current/simulation.json')
  })

  it('writes nothing: no event, no record, no revision of a statement', async () => {
    const before = await client.send('GET', '/events?limit=1')
    const statement = await client.ask('POST', `/statements/${home}`, spring)
    await simulate(client, { object_ids: [home], ...spring, candidates: [{ name: 'a', tariffs: [flat(0.4)] }] })
    expect((await client.send('GET', '/events?limit=1')).text).toBe(before.text)
    expect(await client.ask('POST', `/statements/${home}`, spring)).toEqual(statement)
  })

  it('prices market tariffs at the market of the candidate', async () => {
    const market = await makeOne(client, '/markets', { display_name: 'other', currency_code: 'EUR' })
    await client.ask('PUT', `/markets/${market}/prices`, [
      { start_time: '2025-03-01T00:00:00Z', end_time: '2025-05-01T00:00:00Z', value: 0.7 },
    ])
    const tariffs = [flat(0, { market_rates: true, schedule: undefined })]
    const candidate = { name: 'market', tariffs, market_source_id: market }
    const { data } = await simulate(client, { object_ids: [other], ...spring, candidates: [candidate] })
    expect(data[0]).toMatchObject({ energy: 4.9, complete: false })
    const without = await post({ object_ids: [other], ...spring, candidates: [{ name: 'x', tariffs }] })
    expect(refusalOf(without)).toEqual([400, 'currency_mismatch'])
    expect(without.json).toMatchObject({ field: 'candidates[0].tariffs[0].market_rates' })
  })
})

describe('the stored tariffs of a random history', () => {
  it('as a candidate have the stored total, to the last digit', { timeout: 240_000 }, async () => {
    const live = await system.login('live')
    const deviceIds = await createDevices(live)
    const context: PlayContext = { client: live, accountId: system.sandbox().account_id, liveMode: true, deviceIds }
    const isExpressible = fc.sample(
      histories.filter(({ tariffs }) => tariffs.final.every(({ versions = [] }) => versions.length === 0)),
      { numRuns: 3, seed: 20 },
    )
    const energies: unknown[] = []
    const dateAt = (at: number): string => new Date(at).toISOString().slice(0, 10)
    for (const history of isExpressible) {
      const { locationId } = await playShuffled(context, history)
      // Starts within a month, and ends in the next one.
      const range = {
        start_date: dateAt(history.monthStart - 2 * dayMs),
        end_date: dateAt(history.monthStart + 6 * dayMs),
      }
      const tariffs = history.tariffs.final.map(tariff => {
        const { location_id: _, ...body } = tariffBody(tariff, locationId)
        return body
      })
      const body = exactBody({ object_ids: [locationId], ...range, candidates: [{ name: 'own', tariffs }] })
      const ask = async () => (await live.ask('POST', '/simulations', body)) as SimulationAnswer
      // Costs may still follow the last request of the history.
      const answer = await until(ask, ({ data: [own] }) => own?.difference === 0)
      energies.push(answer.baseline?.energy)
    }
    expect(new Set(energies).size).toBe(energies.length)
  })
})

describe('a large simulation', () => {
  /** 50 candidates with 40 charges: 2,000 for each day. */
  const charges = Array.from({ length: 40 }, (_, index) => ({ ...base, name: `base ${index}` }))
  const candidates = Array.from({ length: 50 }, (_, index) => ({ name: `c${index}`, charges }))
  const days = (end_date: string) => ({ object_ids: [home], start_date: '2023-01-01', end_date, candidates })

  it('is calculated later from one unit of work above the limit on', { timeout: 120_000 }, async () => {
    const records = 2
    // 999 days x 2,000 + 2 records x 50 = 1,998,100; one more day makes 2,000,100.
    expect(records * 50 + 999 * 2_000).toBeLessThan(2_000_000)
    const immediate = await post(days('2025-09-26'))
    expect([immediate.status, (immediate.json as SimulationAnswer).status]).toEqual([200, 'DONE'])
    const later = await post({ ...days('2025-09-27'), group_by: 'LOCATION' })
    const { id, status, baseline, data } = later.json as SimulationAnswer
    expect([later.status, status, baseline, data]).toEqual([202, 'PENDING', null, []])
    await expect(goldenText(later.text)).toMatchFileSnapshot('../../golden/current/simulation_pending.json')
    const same = await post({ ...days('2025-09-27'), group_by: 'LOCATION' })
    const get = async () => (await client.ask('GET', `/simulations/${id}`)) as SimulationAnswer
    const done = await until(get, one => one.status !== 'PENDING')
    if (same.status === 202 && (same.json as SimulationAnswer).status === 'PENDING')
      expect((same.json as SimulationAnswer).id).toBe(id)
    expect([done.status, done.error, done.progress]).toEqual(['DONE', null, { locations: 1, done: 1 }])
    const one = await simulate(client, { ...days('2025-09-27'), candidates: candidates.slice(0, 1) })
    expect(done.baseline).toEqual(one.baseline)
    expect(done.data.map(({ name, ...bill }) => bill)).toEqual(
      candidates.map(() => ({ ...one.data[0], name: undefined })),
    )
    expect(done.locations?.[0]).toMatchObject({ location_id: home, baseline: one.baseline })
  })

  it('is unknown to others', async () => {
    const answers = await Promise.all(
      ['sim_000000000000000000000000', 'sim_x'].map(id => client.send('GET', `/simulations/${id}`)),
    )
    expect(answers.map(refusalOf)).toEqual([
      [404, 'not_found'],
      [404, 'not_found'],
    ])
  })
})

describe('a simulation is refused', () => {
  const candidate = { name: 'x' }
  const refusals: readonly (readonly [string, object, string, string | undefined])[] = [
    ['51 candidates', { candidates: Array(51).fill(candidate) }, 'too_many_candidates', 'candidates'],
    ['no candidate', { candidates: [] }, 'value_out_of_range', 'candidates'],
    [
      '1,001 locations',
      { object_ids: Array.from({ length: 1_001 }, (_, i) => `loc_${i}`) },
      'value_out_of_range',
      'object_ids',
    ],
    ['unknown location', { object_ids: ['loc_0198c0ffee00112233445566'] }, 'location_not_found', 'object_ids[0]'],
    ['neither locations nor a customer', { object_ids: undefined }, 'field_invalid', 'object_ids'],
    [
      'unknown customer',
      { object_ids: undefined, customer_id: 'cus_0198c0ffee00112233445566' },
      'customer_not_found',
      'customer_id',
    ],
    ['an end before the start', { end_date: '2025-02-28' }, 'end_before_start', 'end_date'],
    ['more than 3 years', { end_date: '2028-03-02' }, 'interval_too_long', 'end_date'],
    ['an unknown member', { candidates: [{ ...candidate, tarifs: [] }] }, 'unknown_field', 'candidates[0].tarifs'],
    [
      'overlapping tariffs',
      { candidates: [{ ...candidate, tariffs: [flat(0.1), flat(0.2)] }] },
      'tariff_overlap',
      'candidates[0].tariffs[1].contract_start_date',
    ],
    [
      'holidays without a calendar',
      {
        candidates: [
          {
            name: 'x',
            tariffs: [
              flat(0, {
                schedule: [
                  {
                    days_and_hours: [
                      { hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.1 }] }] },
                      {
                        days: ['Holidays'],
                        hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2 }] }],
                      },
                    ],
                  },
                ],
              }),
            ],
          },
        ],
      },
      'calendar_required',
      undefined,
    ],
    [
      'a wrong charge',
      { candidates: [{ ...candidate, charges: [{ kind: 'DEMAND', name: 'peak' }] }] },
      'price_missing',
      'candidates[0].charges[0].price',
    ],
    [
      'an unknown market',
      { candidates: [{ ...candidate, market_source_id: 'mrs_x' }] },
      'market_source_not_found',
      'candidates[0].market_source_id',
    ],
  ]

  it.each(refusals)('for %s', async (_, part, code, field) => {
    const body = { object_ids: [home], start_date: '2025-03-01', end_date: '2025-04-01', candidates: [candidate] }
    const reply = await post({ ...body, ...part })
    expect(refusalOf(reply)).toEqual([400, code])
    if (field !== undefined) expect(reply.json).toMatchObject({ field })
  })

  it('for locations of two currencies, and accepts 50 candidates and 3 years', async () => {
    const dollars = await makeOne(client, '/locations', { timezone: 'UTC', currency_code: 'USD' })
    const body = { start_date: '2025-03-01', end_date: '2028-03-01', candidates: Array(50).fill(candidate) }
    expect(refusalOf(await post({ ...body, object_ids: [home, dollars] }))).toEqual([400, 'currency_mismatch'])
    expect((await post({ ...body, object_ids: [home] })).status).toBe(200)
  })
})
