import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const hourMs = 3_600_000
const iso = (at: number): string => new Date(at).toISOString()

let visitor: Visitor
let client: Client
/** Start of the current hour. */
let hour: number
let market = ''
let device = ''

/** Market prices of 0.10 to 0.33 per kWh: hour n after now has the price 0.10 + 0.01 × n. */
beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
  hour = Math.floor(Date.now() / hourMs) * hourMs
  const source = await makeOne(client, '/markets', { display_name: 'Own market', currency_code: 'EUR' })
  const prices = Array.from({ length: 24 }, (_, n) => ({
    start_time: iso(hour + n * hourMs),
    end_time: iso(hour + (n + 1) * hourMs),
    value: (10 + n) / 100,
  }))
  await client.ask('PUT', `/markets/${source}/prices`, prices)
  const location = { timezone: 'Europe/Berlin', currency_code: 'EUR', market_sources: { import: source } }
  market = await makeOne(client, '/locations', location)
  await makeOne(client, '/tariffs', {
    location_id: market,
    direction: 'IMPORT',
    type: 'COMMODITY',
    market_rates: true,
    schedule: [{ days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }] }] }],
  })
  device = await makeOne(client, '/devices', { reference_id: 'Car of Ada' })
})

describe('the page of prices', () => {
  it('ends the choice of days where the prices end, and shows known prices up to there', async () => {
    const from = iso(hour + hourMs).slice(0, 10)
    const page = await visitor.get(`/console/prices?location_id=${market}&from=${from}&to=2099-01-01`)
    expect(page.status, page.text).toBe(200)
    const end = hour + 24 * hourMs
    const day = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format(end - 1)
    expect(page.text).toContain(`max="${day}"`)
    expect(page.text).toContain(`<time datetime="${iso(end).replace('.000', '')}">`)
    expect(page.text).toContain('title="Exact: 0.33 EUR/kWh"')
  })

  it('has no end for a tariff with fixed prices', async () => {
    const home = await makeHome(client, { import: 0.3125 })
    const page = await visitor.get(`/console/prices?location_id=${home}`)
    expect(page.text).not.toContain('max="')
    expect(page.text).not.toContain('forecast end at')
    expect(page.text).toContain('title="Exact: 0.3125 EUR/kWh"')
    const csv = await visitor.get(`/console/prices?location_id=${home}&csv=prices`)
    expect(csv.text).toMatch(/^valid_from,valid_to,price,confidence\r?\n/)
  })

  it('says what to do for a location without a tariff', async () => {
    const bare = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    const page = await visitor.get(`/console/prices?location_id=${bare}`)
    expect(page.status).toBe(200)
    expect(page.text).toContain('curl -X POST')
    expect(page.text).toContain(`href="/console/tariffs?location_id=${bare}"`)
  })
})

describe('the page of schedules', () => {
  const local = (at: number): string =>
    new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin', dateStyle: 'short', timeStyle: 'short' })
      .format(at)
      .replace(' ', 'T')

  it('plans the cheapest hours in local time and draws them over the prices', async () => {
    const at = `/console/schedules?location_id=${market}`
    const fields = { device_id: device, energy: '22', power: '11' }
    // The prices rise: 22 kWh at 11 kW take the first two hours, at 0.12 and 0.13: 11 × 0.12 + 11 × 0.13 = 2.75.
    const times = { start_time: local(hour + 2 * hourMs), end_time: local(hour + 12 * hourMs) }
    const created = await visitor.send(at, '/console/schedules/new', { ...fields, ...times })
    expect([created.status, created.text]).toEqual([303, ''])
    const page = await visitor.get(created.to ?? '')
    expect(page.text).toContain('title="Exact: 2.75 EUR"')
    expect(page.text.match(/class="band/g)?.length).toBeGreaterThan(0)
    expect(page.text).toMatch(/class="line"/)
    const runs = await visitor.get(`${created.to}&csv=runs`)
    expect(runs.text).toContain(`${iso(hour + 2 * hourMs).replace('.000', '')}`)
    expect((await visitor.get(at)).text).toContain(created.to?.split('?')[0] ?? 'none')
  })

  it('shows an error beside its input and keeps what was entered', async () => {
    const at = `/console/schedules?location_id=${market}`
    const fields = { device_id: 'dev_000000000000000000000000', energy: '22', power: 'much' }
    const wrong = await visitor.send(at, '/console/schedules/new', {
      ...fields,
      start_time: local(hour),
      end_time: local(hour + hourMs),
    })
    expect(wrong.status).toBe(400)
    expect(wrong.text).toContain('id="power-fault">Enter a number above 0')
    expect(wrong.text).toContain('value="22"')
    const unknown = await visitor.send(at, '/console/schedules/new', {
      ...fields,
      power: '11',
      start_time: local(hour),
      end_time: 'tomorrow',
    })
    expect(unknown.text).toContain('id="end_time-fault"')
  })
})

describe('the page of simulations', () => {
  it('compares a bill with that of a plan, line by line', async () => {
    const home = await makeHome(client, { import: 0.3 })
    const start = Date.UTC(2026, 2, 10, 11)
    await client.submit([bought(home, 10, iso(start), iso(start + hourMs))])
    const plan = await makeOne(client, '/plans', {
      name: 'Plan B',
      currency_code: 'EUR',
      tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.25) }],
      charges: [{ kind: 'FIXED', name: 'Plan fee', price: 0.2, per: 'MONTH' }],
    })
    const query = `object=${home}&start=2026-03-01&end=2026-04-01`
    // Stored: 10 × 0.30 = 3. Plan B: 10 × 0.25 + 0.20 = 2.70.
    const page = await visitor.get(`/console/simulations?${query}&plan=${plan}`)
    expect(page.status, page.text).toBe(200)
    for (const exact of ['3', '2.7', '0.3', '0.2']) expect(page.text).toContain(`title="Exact: ${exact} EUR"`)
    expect(page.text).toContain('less.')
    expect(page.text).toContain('Days with all standing charges: 0 stored, 31 with Plan B.')
    const other = await visitor.get(
      `/console/simulations?${query}&tariff=${encodeURIComponent(JSON.stringify({ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.4) }))}`,
    )
    expect(other.text).toContain('title="Exact: 4 EUR"')
    expect(other.text).not.toContain('standing charges:')
    await makeOne(client, '/charges', {
      location_id: home,
      kind: 'FIXED',
      name: 'Plan fee',
      price: 0.1,
      per: 'MONTH',
      start_date: '2026-03-28',
      component: 'fixed',
    })
    const partly = await visitor.get(`/console/simulations?${query}&plan=${plan}`)
    for (const name of ['fixed: Plan fee', '2026-03'])
      expect(partly.text).toContain(`${name} (4 days stored, 31 days simulated)`)
    const invalid = await visitor.get(`/console/simulations?${query}&tariff=no`)
    expect([invalid.status, invalid.text.includes('role="alert"')]).toEqual([400, true])
  })
})

describe('the name of a location', () => {
  it('is on the pages of its prices and simulations', async () => {
    const named = await makeOne(client, '/locations', {
      timezone: 'UTC',
      currency_code: 'EUR',
      reference_id: 'site-7',
      display_name: 'Quay, north',
    })
    const tariff = { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.3) }
    await makeOne(client, '/tariffs', { ...tariff, location_id: named })
    const prices = await visitor.get('/console/prices?location_id=site-7')
    expect(prices.text).toContain('<h1>Prices of Quay, north</h1>')
    const text = encodeURIComponent(JSON.stringify(tariff))
    const simulated = await visitor.get(`/console/simulations?object=${named}&start=2026-03-01&tariff=${text}`)
    expect(simulated.text).toContain('<dt>Bill of</dt><dd>Quay, north</dd>')
  })
})
