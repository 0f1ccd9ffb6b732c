import { beforeAll, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { bought } from '../support/system/home.ts'
import { costsOf } from '../support/system/stored-costs.ts'
import { useSharedSystem } from '../support/system/use-system.ts'

/**
 * Connect attaches a customer's tariff. The caller creates a token and opens `connect_url` in the customer's browser.
 * The page posts each step to `/connect`. Here the test posts the steps of the page. Each test continues the last one.
 */
const system = useSharedSystem()
let client: Client
let token = ''
let home = ''

beforeAll(async () => {
  client = await system.login()
})

type Page = { readonly route: string; readonly data: Readonly<Record<string, unknown>> }

/** Post one step of the page. The token is the only credential. */
const submit = async (body: object): Promise<Page> => {
  const url = `${system.sandbox().base_url}/connect`
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ connect_token: token, ...body }) })
  return (await response.json()) as Page
}

it('1 The caller creates a token for a location of its customer', async () => {
  const session = (await client.ask('POST', '/connect/token', {
    customer_reference_id: 'customer-7',
    location_reference_id: 'home-7',
    connect_url: 'https://app.example.com/connect',
    callback_url: 'https://app.example.com/done',
  })) as { readonly connect_token: string }
  token = session.connect_token
  expect(token).toMatch(/^[A-Za-z0-9_-]{20,}$/)
})

it('2 The customer enters the address', async () => {
  expect(await submit({ route: 'session_start' })).toMatchObject({ route: 'postal_address_capture' })
  const postal_address = {
    address_line1: '10 Downing Street',
    city: 'London',
    post_code: 'SW1A 2AA',
    country_code: 'GB',
  }
  const page = await submit({ route: 'postal_address_capture', data: { postal_address } })
  expect(page.route).toBe('provider_select')
})

it('3 The customer selects the provider and the kind of tariff', async () => {
  const page = await submit({ route: 'provider_name_capture', data: { provider: { name: 'Corner Power' } } })
  expect(page.route).toBe('tariff_structure_select')
  const next = await submit({ route: 'tariff_structure_select', data: { options: ['FIXED'] } })
  expect(next.route).toBe('rate_fixed_capture')
})

it('4 The customer enters the price of a kWh and saves it', async () => {
  const summary = await submit({ route: 'rate_fixed_capture', data: { cost: 0.2455 } })
  const end = await submit({ route: summary.route, action: 'SAVE' })
  // The browser follows the redirect to the caller's own page.
  expect(end.route).toBe('session_redirect')
  expect(String(end.data['redirect_url'])).toMatch(/^https:\/\/app\.example\.com\/done/)
})

it('5 The location has the time zone, the currency and the tariff of the customer', async () => {
  const { data } = (await client.ask('GET', '/locations?reference_id=home-7')) as {
    readonly data: readonly { id: string; timezone: string; currency_code: string; tariff_status: object }[]
  }
  expect(data).toMatchObject([
    { timezone: 'Europe/London', currency_code: 'GBP', tariff_status: { commodity_import: 'CONNECTED' } },
  ])
  home = data[0]?.id ?? ''
})

it('6 Records of the location have costs', async () => {
  const start = Math.floor(Date.now() / 3_600_000) * 3_600_000
  const [from, to] = [new Date(start - 7_200_000).toISOString(), new Date(start - 3_600_000).toISOString()]
  await client.submit([bought(home, 10, from, to, { record_reference_id: 'first' })])
  // 10 kWh × 0.2455 = 2.455
  expect(await costsOf(client, home)).toEqual({ first: 2.455 })
})

it('7 The customer can correct the tariff for ten minutes', async () => {
  expect((await submit({ action: 'EDIT' })).route).toBe('provider_select')
  await submit({ route: 'provider_name_capture', data: { provider: { name: 'Corner Power' } } })
  await submit({ route: 'tariff_structure_select', data: { options: ['FIXED'] } })
  await submit({ route: 'rate_fixed_capture', data: { cost: 0.25 } })
  // 10 kWh × 0.25 = 2.5
  await expect.poll(() => costsOf(client, home), { timeout: 20_000 }).toEqual({ first: 2.5 })
})

it('8 The token opens nothing after the customer has disconnected the tariff', async () => {
  expect((await submit({ action: 'DISCONNECT' })).route).toBe('session_redirect')
  expect((await submit({ action: 'EDIT' })).route).not.toBe('provider_select')
})
