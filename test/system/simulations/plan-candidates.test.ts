import { beforeAll, describe, expect, it } from 'vitest'
import { type BillAnswer, type SimulationAnswer, simulate } from '../../support/simulations/simulation-answer.ts'
import { refusalOf } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let calendar: string
let market: string
let home: string
let plan: string

const allDay = (rate: readonly object[]) => [{ valid_from: '00:00:00', valid_to: '00:00:00', rate }]

const holidayTariff = (price: number, onHolidays: number) => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: [
    {
      days_and_hours: [
        { hours: allDay([{ fixed: price, to_kwh: 20 }, { fixed: price * 2 }]) },
        { days: ['Holidays', '#maintenance'], hours: allDay([{ fixed: onHolidays }]) },
      ],
    },
  ],
})
const grid = (price: number) => ({ direction: 'IMPORT', type: 'NON_COMMODITY', schedule: priceSchedule(price) })
const sale = { direction: 'EXPORT', type: 'COMMODITY', market_rates: true, component: 'feed-in' }

const charges = (price: number) => [
  { kind: 'FIXED', name: 'base', price, per: 'MONTH' },
  {
    kind: 'DEMAND',
    name: 'peak',
    price: price * 0.77,
    highest: 2,
    distinct_days: true,
    ratchet: { share: 0.9, months: 2 },
  },
  { kind: 'USAGE', name: 'levy', price: 0.0123, end_date: '2025-04-20' },
  { kind: 'PERCENTAGE', name: 'VAT', rate: 0.25 },
]

const range = { start_date: '2025-03-05', end_date: '2025-05-01' }

/** Uneven energies from February to April. A record with a session starts before the range and ends in it. */
const records = (location: string) => [
  ...Array.from({ length: 80 }, (_, index) => {
    const start = Date.UTC(2025, 1, 10) + index * 86_400_000 + ((index * 7) % 24) * 3_600_000
    const [from, to] = [start, start + 3_600_000].map(at => new Date(at).toISOString())
    return bought(location, ((index * 37) % 101) / 13 + 0.000_001, from ?? '', to ?? '')
  }),
  bought(location, 4.7, '2025-03-04T20:00:00Z', '2025-03-05T03:00:00Z', { session_reference_id: 'night' }),
  bought(location, 3.3, '2025-04-06T10:00:00Z', '2025-04-06T12:00:00Z', {
    energy_flow_direction: 'OUTBOUND',
    tariff_direction: 'EXPORT',
  }),
]

const newHome = (more: object = {}) =>
  makeOne(client, '/locations', {
    timezone: 'Europe/Berlin',
    currency_code: 'EUR',
    calendar_id: calendar,
    market_sources: { import: market, export: market },
    ...more,
  })

beforeAll(async () => {
  client = await system.login()
  calendar = await makeOne(client, '/calendars', {
    name: 'own',
    add: [{ date: '2025-03-19', name: 'Fair' }],
    day_types: [{ name: 'maintenance', dates: ['2025-04-15'] }],
  })
  market = await makeOne(client, '/markets', { display_name: 'own', currency_code: 'EUR' })
  await client.ask('PUT', `/markets/${market}/prices`, [
    { start_time: '2025-02-01T00:00:00Z', end_time: '2025-05-02T00:00:00Z', value: 0.0437 },
  ])
  home = await newHome()
  plan = await makeOne(client, '/plans', {
    name: 'Family',
    currency_code: 'EUR',
    tariffs: [holidayTariff(0.2111, 0.05), grid(0.0701), sale],
    charges: charges(9.99),
  })
  await client.ask('POST', `/plans/${plan}/versions`, {
    from: '2025-04-10',
    tariffs: [holidayTariff(0.2333, 0.06), grid(0.0801)],
    charges: charges(11.11),
  })
  await client.submit(records(home))
})

const ofBill = ({ name: _, difference: __, standing_days_difference: ___, months, ...bill }: BillAnswer) => ({
  ...bill,
  months: months.map(({ difference: _, ...month }) => month),
})

const simulatePlan = (location: string, more: object = {}, others: object = {}) =>
  simulate(client, {
    object_ids: [location],
    ...range,
    lines: true,
    candidates: [{ name: 'plan', plan_id: plan, ...more }],
    ...others,
  })

describe('a plan as a candidate', () => {
  it('has the bill of a location with the plan, to the last digit', async () => {
    const { data, baseline } = await simulatePlan(home)
    const [simulated] = data
    expect(simulated?.lines?.map(({ name }) => name)).toEqual([
      ...['Energy', 'Grid fee', 'base', 'peak', 'levy', 'VAT', 'Energy export'],
    ])
    expect(baseline?.total).toBe(0)
    const elements = [{ location_id: home, start_date: '2020-01-01' }]
    await client.ask('POST', `/plans/${plan}/assignments`, elements)
    // The stored costs follow the assignment.
    const isCosted = ({ baseline: stored, data: [own] }: SimulationAnswer) => stored?.total === own?.total
    const after = await until(() => simulatePlan(home), isCosted)
    expect(after.baseline).toEqual(simulated && ofBill(simulated))
    expect(after.data.map(ofBill)).toEqual(data.map(ofBill))
    const statement = (await client.ask('POST', `/statements/${home}`, range)) as {
      readonly totals: { readonly gross: number }
      readonly periods: readonly { readonly totals: { readonly gross: number } }[]
    }
    expect(statement.totals.gross).toBe(simulated?.total)
    expect(statement.periods.map(({ totals }) => totals.gross)).toEqual(simulated?.months.map(({ total }) => total))
  })

  it('gives the tariffs or charges that the candidate leaves out', async () => {
    const own = [{ kind: 'FIXED', name: 'own', price: 1, per: 'DAY' }]
    const [whole, onlyTariffs, ownCharges, onlyCharges] = await Promise.all(
      [{}, { charges: [] }, { charges: own }, { tariffs: [] }].map(
        async more => (await simulatePlan(home, more)).data[0],
      ),
    )
    expect(onlyTariffs).toMatchObject({ energy: whole?.energy, charges: 0, tax: 0 })
    // 27 days of March and 30 of April.
    expect(ownCharges).toMatchObject({ energy: whole?.energy, charges: 57, tax: 0 })
    expect(onlyCharges?.energy).toBe(0)
    expect(onlyCharges?.charges).toBe(whole?.charges)
  })

  it('in a large simulation is as it was at the request', { timeout: 120_000 }, async () => {
    const fees = Array.from({ length: 40 }, (_, index) => ({ kind: 'FIXED', name: `${index}`, price: 1, per: 'MONTH' }))
    const body = { name: 'Fees', currency_code: 'EUR', charges: fees }
    const feePlan = await makeOne(client, '/plans', body)
    const candidate = { name: 'fees', plan_id: feePlan }
    const days = { object_ids: [home], start_date: '2023-01-01', end_date: '2025-12-01' }
    const expected = await simulate(client, { ...days, candidates: [candidate] })
    const sent = await client.send('POST', '/simulations', { ...days, candidates: Array(50).fill(candidate) })
    expect(sent.status).toBe(202)
    await client.ask('PATCH', `/plans/${feePlan}/versions/1`, { charges: [] })
    const { id } = sent.json as SimulationAnswer
    const get = async () => (await client.ask('GET', `/simulations/${id}`)) as SimulationAnswer
    const done = await until(get, ({ status }) => status !== 'PENDING')
    // 40 x 35 months.
    expect(done.data[0]?.charges).toBe(1_400)
    expect(done.data).toEqual(Array(50).fill(expected.data[0]))
  })

  const refusals: readonly (readonly [string, () => Promise<object>, string])[] = [
    ['an unknown plan', async () => ({ plan_id: 'pln_0198c0ffee00112233445566' }), 'plan_not_found'],
    [
      'a plan of another currency',
      async () => ({ plan_id: await makeOne(client, '/plans', { name: 'US', currency_code: 'USD' }) }),
      'currency_mismatch',
    ],
    ['a plan with tariffs and charges', async () => ({ plan_id: plan, tariffs: [], charges: [] }), 'field_invalid'],
  ]

  it.each(refusals)('is refused for %s', async (_, member, code) => {
    const candidates = [{ name: 'x', ...(await member()) }]
    const reply = await client.send('POST', '/simulations', { object_ids: [home], ...range, candidates })
    expect(refusalOf(reply)).toEqual([400, code])
    expect(reply.json).toMatchObject({ field: 'candidates[0].plan_id' })
  })

  it('is refused for locations whose calendar or market does not fit', async () => {
    const other = await makeOne(client, '/calendars', { name: 'other', add: [{ date: '2025-03-19', name: 'Fair' }] })
    const homes = await Promise.all([
      newHome({ calendar_id: undefined }),
      newHome({ calendar_id: other }),
      newHome({ market_sources: undefined }),
    ])
    const replies = await Promise.all(
      homes.map(id =>
        client.send('POST', '/simulations', {
          object_ids: [home, id],
          ...range,
          candidates: [{ name: 'x', plan_id: plan }],
        }),
      ),
    )
    expect(replies.map(({ json }) => json)).toMatchObject(
      ['calendar_required', 'day_type_not_found', 'currency_mismatch'].map(code => ({
        code,
        field: 'candidates[0].plan_id',
      })),
    )
    expect(replies.map(({ text }, index) => text.includes(String(homes[index])))).toEqual([true, true, true])
  })

  it('is refused with more than 1 MiB of prices in all plans', async () => {
    const windows = Array(50).fill({ months: ['Jan'], days: ['Mon'] })
    const large = Array.from({ length: 150 }, (_, index) => ({
      kind: 'DEMAND',
      name: `${index}`,
      price: 1,
      windows,
    }))
    const body = { name: 'Large', currency_code: 'EUR', charges: large }
    const plans = [await makeOne(client, '/plans', body), await makeOne(client, '/plans', body)]
    const send = (ids: readonly string[]) =>
      client.send('POST', '/simulations', {
        object_ids: [home],
        start_date: '2025-04-01',
        end_date: '2025-04-02',
        candidates: ids.map(id => ({ name: id, plan_id: id })),
      })
    expect((await send(plans.slice(0, 1))).status).toBe(200)
    const refused = await send(plans)
    expect(refusalOf(refused)).toEqual([400, 'value_out_of_range'])
    expect(refused.json).toMatchObject({ field: 'candidates[1].plan_id' })
  })
})
