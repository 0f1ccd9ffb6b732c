import { beforeAll, describe, expect, it } from 'vitest'
import { costOfInterval, onlyElement, type TextInterval } from '../../support/exact/exact-answers.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let live: Client
let account: string

beforeAll(async () => {
  client = await system.login()
  live = await system.login('live')
  account = system.sandbox().account_id
})

const hour: TextInterval = ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z']
const later: TextInterval = ['2025-06-01T11:00:00Z', '2025-06-01T12:00:00Z']
const day: TextInterval = ['2025-06-01T00:00:00Z', '2025-06-02T00:00:00Z']
const cost = async (id: string, query = '', span = day) => onlyElement(await costOfInterval(client, id, span, query))
const refusal = async (path: string, span: TextInterval = day) => {
  const { status, json } = await client.send('POST', path, { start_time: span[0], end_time: span[1] })
  const { code, field } = json as { code: string; field?: string }
  return [status, code, field]
}
const device = (name: string) => makeOne(client, '/devices', { reference_id: name })

describe('the object of a cost', () => {
  it("is a location with its own or its devices' records, a device, a customer or an account", async () => {
    const customer = await makeOne(live, '/customers', {})
    const [home, office, other] = await Promise.all([
      makeHome(live, { import: 0.1 }, { customer_id: customer }),
      makeHome(live, { import: 0.1 }, { customer_id: customer }),
      makeHome(live, { import: 0.1 }),
    ])
    const car = await makeOne(live, '/devices', { reference_id: 'car' })
    await live.submit([
      bought(home, 1, ...hour),
      bought(home, 2, ...hour, { device_id: car }),
      bought(office, 4, ...hour),
      bought(other, 8, ...hour),
    ])
    const costs = await Promise.all(
      [home, `${home}?include_devices`, car, customer, account].map(async id => {
        const [path = '', flag] = id.split('?')
        return onlyElement(await costOfInterval(live, path, day, flag === undefined ? '' : `${flag}=True`))
      }),
    )
    expect(costs).toEqual([
      ['1000', '0.1'],
      ['3000', '0.3'],
      ['2000', '0.2'],
      ['5000', '0.5'],
      ['13000', '1.3'],
    ])
  })

  it.each(['loc', 'dev', 'cus', 'acc'])('an unknown %s_ id is not found', async kind => {
    expect(await refusal(`/costs/interval/${kind}_0123456789abcdef01234567`)).toEqual([404, 'not_found', undefined])
  })

  it('the other mode has none of these costs', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const { status } = await live.send('POST', `/costs/interval/${home}`, { start_time: day[0], end_time: day[1] })
    expect(status).toBe(404)
  })

  it('a device that was metered at several locations must name one location', async () => {
    const [here, there, nowhere] = await Promise.all([
      makeHome(client, { import: 0.1 }),
      makeHome(client, { import: 0.2 }),
      makeHome(client, {}),
    ])
    const van = await device('van')
    await client.submit([bought(here, 1, ...hour, { device_id: van }), bought(there, 1, ...later, { device_id: van })])
    const path = `/costs/interval/${van}`
    expect(await refusal(path)).toEqual([400, 'location_ambiguous', 'location_id'])
    expect(await refusal(`${path}?location_id=${nowhere}`)).toEqual([400, 'location_not_found', 'location_id'])
    expect([await cost(van, `location_id=${here}`), await cost(van, `location_id=${there}`)]).toEqual([
      ['1000', '0.1'],
      ['1000', '0.2'],
    ])
  })

  it('a customer without locations has cost 0 without a currency, by the calendar of UTC', async () => {
    const customer = await makeOne(client, '/customers', {})
    const span = { start_time: '2025-03-30T00:00:00Z', end_time: '2025-04-01T00:00:00Z' }
    const posted = await client.ask('POST', `/costs/interval/${customer}?aggregation=DAY`, span)
    const nothing = { energy: { value: 0 }, tariff: { cost: { value: 0, confidence: 1 } } }
    expect(posted).toMatchObject({
      object_id: customer,
      currency_code: 'XXX',
      location_timezone: 'UTC',
      data: [
        { ...nothing, start_time: '2025-03-30T00:00:00Z', end_time: '2025-03-31T00:00:00Z' },
        { ...nothing, start_time: '2025-03-31T00:00:00Z', end_time: '2025-04-01T00:00:00Z' },
      ],
    })
    expect(await client.ask('POST', `/costs/interval/${customer}?currency_code=SEK`, span)).toMatchObject({
      currency_code: 'SEK',
    })
  })

  it('a customer with costs in several currencies must name one currency', async () => {
    const customer = await makeOne(client, '/customers', {})
    const home = await makeHome(client, { import: 0.1 }, { customer_id: customer })
    const cottage = await makeHome(
      client,
      { import: 0.2 },
      { customer_id: customer, timezone: 'Europe/London', currency_code: 'GBP' },
    )
    await client.submit([bought(home, 1, ...hour), bought(cottage, 1, ...hour)])
    const path = `/costs/interval/${customer}`
    expect(await refusal(path)).toEqual([400, 'currency_ambiguous', 'currency_code'])
    expect(await refusal(`${path}?currency_code=SEK`)).toEqual([400, 'currency_ambiguous', 'currency_code'])
    const inPounds = await costOfInterval(client, customer, day, 'currency_code=GBP')
    expect([onlyElement(inPounds), inPounds.currency_code, inPounds.location_timezone]).toEqual([
      ['1000', '0.2'],
      'GBP',
      'Europe/London',
    ])
    expect(await cost(customer, 'currency_code=EUR')).toEqual(['1000', '0.1'])
  })

  it('only currencies with costs are named, and none is required if costs have one currency', async () => {
    const customer = await makeOne(client, '/customers', {})
    const make = (currency: string) =>
      makeHome(client, { import: 0.1 }, { customer_id: customer, timezone: 'UTC', currency_code: currency })
    const homes = await Promise.all(['EUR', 'GBP', 'CHF'].map(make))
    const path = `/costs/interval/${customer}`
    const span = { start_time: day[0], end_time: day[1] }
    const messageOf = async (query = '') =>
      ((await client.send('POST', `${path}${query}`, span)).json as { readonly message?: string }).message
    expect(await messageOf()).toBe('currency_code must be one of CHF, EUR, GBP. There are costs in each.')
    await client.submit([bought(homes[0] ?? '', 1, ...hour)])
    const alone = await costOfInterval(client, customer, day)
    expect([onlyElement(alone), alone.currency_code]).toEqual([['1000', '0.1'], 'EUR'])
    expect(await messageOf('?currency_code=SEK')).toBe('currency_code must be EUR, the currency of the costs.')
    await client.submit([bought(homes[1] ?? '', 1, ...hour)])
    expect(await messageOf()).toBe('currency_code must be one of EUR, GBP. There are costs in each.')
    expect(await messageOf('?currency_code=SEK')).toBe('currency_code must be EUR or GBP, the currency of the costs.')
    expect(await messageOf('?currency_code=CHF')).toBeUndefined()
    expect(await messageOf('?tariff_direction=EXPORT')).toBe(
      'currency_code must be one of CHF, EUR, GBP. There are costs in each.',
    )
  })

  it('a currency whose records are all cancelled is not named', async () => {
    const customer = await makeOne(client, '/customers', {})
    const make = (currency: string) =>
      makeHome(client, { import: 0.1 }, { customer_id: customer, timezone: 'UTC', currency_code: currency })
    const [euros = '', pounds = ''] = [await make('EUR'), await make('GBP')]
    const later = ['2025-09-17T10:00:00Z', '2025-09-17T11:00:00Z'] as const
    await client.submit([bought(euros, 1, ...hour), bought(pounds, 1, ...hour), bought(pounds, 1, ...later)])
    const refused = [400, 'currency_ambiguous', 'currency_code']
    expect(await refusal(`/costs/interval/${customer}`)).toEqual(refused)
    await client.submit([bought(pounds, 0, ...later)])
    expect(await refusal(`/costs/interval/${customer}`)).toEqual(refused)
    await client.submit([bought(pounds, 0, ...hour)])
    expect((await costOfInterval(client, customer, day)).currency_code).toBe('EUR')
  })

  it('remains readable after location and device are deleted', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const battery = await device('battery')
    await client.submit([bought(home, 1, ...hour), bought(home, 2, ...hour, { device_id: battery })])
    await client.ask('DELETE', `/devices/${battery}`)
    await client.ask('DELETE', `/locations/${home}`)
    expect([await cost(home), await cost(home, 'include_devices=1'), await cost(battery)]).toEqual([
      ['1000', '0.1'],
      ['3000', '0.3'],
      ['2000', '0.2'],
    ])
  })
})

describe('the sum of costs', () => {
  it('has one flow and one tariff direction', async () => {
    const home = await makeHome(client, { import: 0.1, export: 0.05 })
    await client.submit([
      bought(home, 1, ...hour),
      bought(home, 2, ...hour, { energy_flow_direction: 'OUTBOUND' }),
      bought(home, 4, ...hour, { energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }),
      bought(home, 8, ...hour, { tariff_direction: 'LOCAL' }),
    ])
    const queries = ['', 'tariff_direction=EXPORT', 'energy_flow_direction=OUTBOUND', 'tariff_direction=LOCAL']
    expect(await Promise.all(queries.map(query => cost(home, query)))).toEqual([
      ['1000', '0.1'],
      ['2000', '0.1'],
      ['4000', '0.4'],
      ['8000', '0'],
    ])
    expect(await cost(home, 'tariff_direction=EXPORT&energy_flow_direction=INBOUND')).toEqual(['0', '0'])
  })

  it('counts energy without a price separately, without a cost', async () => {
    const home = await makeHome(client, {})
    await client.submit([bought(home, 1.5, ...hour), bought(home, 0.25, ...later)])
    const { data } = await costOfInterval(
      client,
      home,
      ['2025-06-01T10:30:00Z', '2025-06-01T13:00:00Z'],
      'aggregation=HOUR',
    )
    expect(
      data.map(element => [element.energy.value, element.unpriced_records, element.unpriced_energy?.value]),
    ).toEqual([
      // Half an hour of 1.5 kWh, then 0.25 kWh, then no energy.
      ['0', '1', '750'],
      ['0', '1', '250'],
      ['0', undefined, undefined],
    ])
    expect(data.map(({ tariff }) => tariff.cost)).toEqual(
      ['0', '0', '1'].map(confidence => ({ value: '0', confidence })),
    )
    expect(data.map(({ records }) => records)).toEqual(['1', '1', '0'])
  })

  it('weights the confidence of estimates by their energy', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([bought(home, 1, ...hour, { confidence: 0.5 }), bought(home, 3, ...later)])
    const { data } = await costOfInterval(client, home, day, 'aggregation=HOUR')
    const whole = await costOfInterval(client, home, day)
    // (1 kWh × 0.5 + 3 kWh × 1) / 4 kWh = 0.875
    expect(whole.data[0]?.tariff.cost).toEqual({ value: '0.4', confidence: '0.875' })
    // 09:00Z is empty, 10:00Z is the estimate.
    expect(data.slice(9, 13).map(({ tariff }) => tariff.cost.confidence)).toEqual(['1', '0.5', '1', '1'])
  })
})

describe('intervals', () => {
  it('have at most ten years and 4,000 elements; empty and reversed intervals are refused', async () => {
    const path = `/costs/interval/${await makeHome(client, { import: 0.1 })}`
    const ask = async (start: string, end: string, query = '') =>
      (await refusal(`${path}?${query}`, [start, end])).slice(0, 2)
    const passes = [200, undefined]
    expect(await ask('2015-01-01T00:00:00Z', '2025-01-01T00:00:00Z')).toEqual(passes)
    expect(await ask('2015-01-01T00:00:00Z', '2025-01-01T00:00:00.001Z')).toEqual([400, 'interval_too_long'])
    expect(await ask('2015-01-01T00:00:00Z', '2025-01-01T00:00:00Z', 'aggregation=MONTH')).toEqual(passes)
    // 4,000 hours are 166 days and 16 hours.
    expect(await ask('2025-05-01T00:00:00Z', '2025-10-14T16:00:00Z', 'aggregation=HOUR')).toEqual(passes)
    expect(await ask('2025-05-01T00:00:00Z', '2025-10-14T16:00:00.001Z', 'aggregation=HOUR')).toEqual([
      400,
      'too_many_elements',
    ])
    expect(await ask('2025-05-01T00:00:00Z', '2025-05-01T00:00:00Z')).toEqual([400, 'end_before_start'])
    expect(await ask('2025-05-01T00:00:00Z', '2025-04-01T00:00:00Z')).toEqual([400, 'end_before_start'])
    expect(await ask('2025-05-01T00:00:00Z', '2025-05-02T00:00:00Z', 'aggregation=YEAR')).toEqual([
      400,
      'field_invalid',
    ])
  })
})
