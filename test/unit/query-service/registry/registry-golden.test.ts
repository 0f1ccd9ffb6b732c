import { describe, expect, it } from 'vitest'
import { type ApiVersion, apiVersionDates, apiVersions } from '../../../../services/contract/api-version.ts'
import {
  type Answer,
  flatTariff,
  idOf,
  makeAccount,
  maskedText,
  useService,
} from '../../../support/registry/service.ts'
import { allHours } from '../../../support/tariffs/all-hours.ts'

const service = await useService()

const schedule = [
  {
    months: ['Jan', 'Dec'],
    dates: [24, 31],
    days_and_hours: [
      { days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.1 }] }] },
    ],
  },
  {
    months: ['All'],
    days_and_hours: [
      {
        days: ['Weekdays'],
        hours: [
          {
            valid_from: '06:00:00',
            valid_to: '22:00:00',
            rate: [
              { fixed: 0.31, to_kwh: 250.5 },
              { fixed: 0.2899, surcharge_fixed: 0.01, surcharge_percentage: 0.19 },
            ],
          },
          { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.24 }] },
        ],
      },
      { days: ['Weekend'], hours: [{ valid_from: '00:00:00', valid_to: '24:00:00', rate: [{ fixed: 0.2 }] }] },
    ],
  },
]

/** Charges of each kind. The members that are left out have their defaults. */
const charges = [
  { kind: 'FIXED', name: 'Standing charge', price: 0.4785, start_date: '2026-03-01', end_date: '2027-03-01' },
  { kind: 'USAGE', name: 'Grid', component: 'grid', schedule: allHours([{ fixed: 0.0472 }]) },
  {
    kind: 'DEMAND',
    name: 'Peak',
    tiers: [{ to_kw: 5, price: 4.25 }, { price: 5.66 }],
    round_kw: {},
    windows: [{ days: ['Weekdays'], hours: [{ valid_from: '16:00:00', valid_to: '21:00:00' }], weight: 0.5 }],
    ratchet: { share: 0.8, months: 11, in_months: ['Jun'] },
    history: [{ month: '2025-07', kw: 131.6 }],
  },
  {
    kind: 'SESSION',
    name: 'Blocking fee',
    price: 0.1,
    per: 'MINUTE',
    while: 'IDLE',
    after_minutes: 30,
    max_amount: 12,
  },
  { kind: 'MINIMUM', name: 'Minimum bill', amount: 20, per: 'MONTH', base: { kinds: ['ENERGY', 'FIXED'] } },
  { kind: 'MAXIMUM', name: 'Maximum tariff', per_kwh: 0.34, base: { components: ['grid'] } },
  { kind: 'PERCENTAGE', name: 'VAT', rate: 0.25 },
]

/** Create one object of each kind and return its answers in an API version. */
const answersIn = async (apiVersion: ApiVersion): Promise<Readonly<Record<string, Answer>>> => {
  const { live } = await makeAccount(service)
  const call = (method: string, path: string, body?: unknown) =>
    live.call(method, path, body, { 'api-version': apiVersionDates[apiVersion] })
  const tariffs = apiVersion === 'current' ? '/tariffs' : '/tariffs/elements'
  const customer = idOf(await call('POST', '/customers', { reference_id: 'household-17', metadata: { floor: '3' } }))
  const market = await call('POST', '/markets', { display_name: 'Own prices', currency_code: 'EUR' })
  const location = idOf(
    await call('POST', '/locations', {
      reference_id: 'home-17',
      customer_id: customer,
      postal_address: { address_line1: 'Unter den Linden 1', city: 'Berlin', post_code: '10117', country_code: 'DE' },
      market_sources: { import: idOf(market) },
    }),
  )
  const device = idOf(await call('POST', '/devices', { reference_id: 'charger-4711' }))
  service.facts.lastSeen.set(device, Date.UTC(2026, 0, 1))
  const contract = { contract_start_date: '2025-01-01T00:00:00+01:00', contract_end_date: '2026-01-01T00:00:00+01:00' }
  const tariff = idOf(
    await call('POST', tariffs, flatTariff(location, { ...contract, display_name: 'Day and night', schedule })),
  )
  await call(
    'POST',
    tariffs,
    flatTariff(location, {
      direction: 'EXPORT',
      market_rates: true,
      schedule: allHours([{ surcharge_fixed: -0.01 }]),
    }),
  )
  const price = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-01T00:15:00Z', value: 0.081234567 }
  const prices = `/markets/${idOf(market)}/prices`
  return {
    customer: await call('GET', `/customers/${customer}`),
    customer_list: await call('GET', '/customers'),
    location: await call('GET', `/locations/${location}`),
    location_status: await call('GET', `/locations/${location}/status`),
    device: await call('GET', `/devices/${device}`),
    tariff: await call('GET', `${tariffs}/${tariff}`),
    tariff_list: await call('GET', `${tariffs}?location_id=${location}&direction=IMPORT`),
    market_source: market,
    market_price_change: await call('PUT', prices, [price]),
    market_prices: await call('GET', `${prices}?start_time=${price.start_time}&end_time=${price.end_time}`),
    event_list: await call('GET', '/events?event_type=device.create'),
    error: await call('POST', '/devices', { reference_id: 'charger-4711' }),
    event_of_refusal: await call('GET', '/events?event_type=device.create.failed'),
    ...(apiVersion === 'current'
      ? { ...(await chargeAnswers(call, location)), ...(await planAnswers(call, location)) }
      : {}),
    accepted: await call('DELETE', `/devices/${device}`),
    account: await call('GET', '/account'),
  }
}

const gridTariff = {
  direction: 'IMPORT',
  type: 'NON_COMMODITY',
  display_name: 'Grid',
  schedule: allHours([{ fixed: 0.1 }]),
}

/** Create a plan with a version and an assignment, and return them, their lists, a dry run and an event. */
const planAnswers = async (call: Call, location: string): Promise<Readonly<Record<string, Answer>>> => {
  const prices = { tariffs: [gridTariff], charges: charges.slice(0, 1) }
  const plan = idOf(await call('POST', '/plans', { name: 'Home', currency_code: 'EUR', ...prices }))
  const path = `/plans/${plan}`
  const elements = [
    { location_id: location, start_date: '2026-03-01', end_date: '2027-01-01' },
    { location_id: location, start_date: '2026-12-31' },
  ]
  const dry_run = await call('POST', `${path}/assignments?dry_run=true`, elements)
  const plan_assignment_result = await call('POST', `${path}/assignments`, elements)
  const plan_version = await call('POST', `${path}/versions`, { from: '2026-07-01', tariffs: [gridTariff] })
  const plan_assignment_list = await call('GET', `${path}/assignments`)
  const [assignment] = plan_assignment_list.body['data'] as readonly { readonly id: string }[]
  return {
    dry_run,
    plan_assignment_result,
    plan_version,
    plan_assignment_list,
    plan_assignment: await call('GET', `${path}/assignments/${assignment?.id}`),
    plan: await call('GET', path),
    plan_list: await call('GET', '/plans'),
    event_of_plan: await call('GET', '/events?event_type=plan.create'),
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<Answer>

/** Create the charges of a location, and return them, their list and an event. */
const chargeAnswers = async (call: Call, location: string): Promise<Readonly<Record<string, Answer>>> => {
  const answers: Record<string, Answer> = {}
  for (const charge of charges)
    answers[`charge_${charge.kind.toLowerCase()}`] = await call('POST', '/charges', {
      location_id: location,
      ...charge,
    })
  return {
    ...answers,
    charge_list: await call('GET', `/charges?location_id=${location}&limit=2`),
    event_of_charge: await call('GET', '/events?event_type=charge.create&limit=1'),
  }
}

/** Create a calendar and return the answers. Calendars exist in the current API version only. */
const calendarAnswers = async (): Promise<Readonly<Record<string, Answer>>> => {
  const { live } = await makeAccount(service)
  const call = (method: string, path: string, body?: unknown) =>
    live.call(method, path, body, { 'api-version': apiVersionDates.current })
  const calendar = await call('POST', '/calendars', {
    name: 'Bavaria and our fairs',
    country_code: 'DE',
    state: 'BY',
    add: [{ date: '2026-12-24', name: 'Christmas Eve' }],
    remove: ['2026-06-04'],
    day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
  })
  return {
    calendar,
    calendar_with_dates: await call('GET', `/calendars/${idOf(calendar)}?year=2026`),
    calendar_list: await call('GET', '/calendars'),
    event_of_calendar: await call('GET', '/events?event_type=calendar.create'),
  }
}

describe('calendars', async () => {
  const answers = await calendarAnswers()

  it.each(Object.keys(answers))('writes %s as published', async name => {
    await expect(maskedText(answers[name] as Answer)).toMatchFileSnapshot(`../../../golden/current/${name}.json`)
  })

  it('exist in the current API version only', async () => {
    const { live } = await makeAccount(service)
    expect((await live.call('GET', '/calendars', undefined, { 'api-version': apiVersionDates.earlier })).status).toBe(
      404,
    )
  })
})

describe.each(apiVersions)('the %s API version', async apiVersion => {
  const answers = await answersIn(apiVersion)

  it.each(Object.keys(answers))('writes %s as published', async name => {
    await expect(maskedText(answers[name] as Answer)).toMatchFileSnapshot(`../../../golden/${apiVersion}/${name}.json`)
  })
})

it('masks only ids and times', () => {
  const text = JSON.stringify({
    id: `loc_${'0'.repeat(24)}`,
    time_created: '2026-01-01T00:00:00Z',
    contract_end_date: '2026-01-01T00:00:00Z',
  })
  const answer = { status: 200, headers: new Headers(), body: {}, text }
  expect(JSON.parse(maskedText(answer))).toEqual({
    id: 'loc_…',
    time_created: '…',
    contract_end_date: '2026-01-01T00:00:00Z',
  })
})
