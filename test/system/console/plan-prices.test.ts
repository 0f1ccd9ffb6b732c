import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'
import { type ConsolePerson, openPerson } from '../../support/web/console-person.ts'
import { pageFaults } from '../../support/web/page-faults.ts'

const system = useSharedSystem()

type Prices = { readonly tariffs: readonly object[]; readonly charges: readonly object[] }
type Plan = { readonly versions: readonly (Prices & { readonly from: string | null })[] }

const planId = (address: string): string => /pln_[0-9a-f]{24}/.exec(address)?.[0] ?? ''

const tiers = [{ fixed: 0.31, to_kwh: 1500 }, { fixed: 0.271234567 }]
const hours = [
  { valid_from: '06:00:00', valid_to: '22:00:00', rate: tiers },
  { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.21 }] },
]
const schedule = [
  { months: ['Jan', 'Feb', 'Mar'], days_and_hours: [{ days: ['All'], hours }] },
  {
    months: ['Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
    days_and_hours: [
      { days: ['Weekdays'], hours },
      { days: ['Weekend', 'Holidays'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: tiers }] },
    ],
  },
]
const marketRate = { surcharge_fixed: 0.021, surcharge_percentage: 0.19 }
const grid = [{ days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [marketRate] }] }] }]
const steps = [
  { from_kw: 0, amount: 125 },
  { from_kw: 2.5, amount: 206.123456789 },
]
const prices: Prices = {
  tariffs: [
    { direction: 'IMPORT', type: 'COMMODITY', display_name: 'Day and night', schedule },
    { direction: 'EXPORT', type: 'COMMODITY', market_rates: true, component: 'feed-in', schedule: grid },
  ],
  charges: [
    {
      kind: 'FIXED',
      name: 'Standing charge',
      price: 9.900000001,
      per: 'MONTH',
      prorate: 'NONE',
      start_date: '2026-01-01',
    },
    { kind: 'DEMAND', name: 'Peak', steps, per: 'MONTH', highest: 3, distinct_days: true },
    { kind: 'PERCENTAGE', name: 'Tax', rate: 0.25 },
  ],
}

describe.skipIf(!hasBrowser)('the form of the prices of a plan', () => {
  let browser: Browser
  let person: ConsolePerson

  beforeAll(async () => {
    browser = await launchBrowser()
    person = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
  }, 120_000)

  afterAll(() => browser?.close())

  const open = async (path: string) => {
    await person.tab.goto(`${system.sandbox().base_url}/console${path}`)
    await person.tab.getByRole('heading', { level: 1 }).waitFor()
  }
  const planOf = async (id: string) => (await (await system.login()).ask('GET', `/plans/${id}`)) as Plan
  const part = (name: string) => person.tab.getByRole('group', { name, exact: true })

  it('creates a plan without JSON, and says which row is wrong', { timeout: 60_000 }, async () => {
    await open('/plans/new')
    const { tab, press } = person
    await tab.getByLabel('Name').first().fill('Paris night')
    await tab.getByLabel('Currency').fill('EUR')
    await tab.getByLabel('Price per kWh, row 1').fill('0,2516')
    await tab.getByLabel('Price per kWh, row 2').fill('cheap')
    await press('Add charge')
    await part('Charge 1').getByLabel('Name').fill('Subscription')
    await part('Charge 1').getByLabel('Price', { exact: true }).fill('12.60')
    await part('Charge 1').getByLabel('Per', { exact: true }).selectOption('MONTH')
    await press('Create plan')
    await tab
      .getByText(/^Tariff 1: Row 2: Price per kWh must be a number/)
      .first()
      .waitFor()
    expect(await tab.getByLabel('Price per kWh, row 1').inputValue()).toBe('0,2516')
    expect(await pageFaults(tab, 'plan-prices-error')).toEqual([])
    await tab.getByLabel('Price per kWh, row 2').fill('0.1828')
    await press('Create plan')
    await tab.waitForURL(/pln_[0-9a-f]{24}\?done=created$/)
    const { versions } = await planOf(planId(tab.url()))
    expect(versions).toMatchObject([
      {
        from: null,
        tariffs: [
          {
            direction: 'IMPORT',
            type: 'COMMODITY',
            market_rates: false,
            schedule: [{ days_and_hours: [{ hours: [{ rate: [{ fixed: 0.2516 }] }, { rate: [{ fixed: 0.1828 }] }] }] }],
          },
        ],
        charges: [{ kind: 'FIXED', name: 'Subscription', price: 12.6, per: 'MONTH' }],
      },
    ])
  })

  it('keeps every member that is not edited', { timeout: 60_000 }, async () => {
    const client = await system.login()
    const id = await makeOne(client, '/plans', { name: 'All members', currency_code: 'EUR', ...prices })
    await open(`/plans/${id}/versions/new`)
    await person.tab.getByLabel('First day').first().fill('2027-01-01')
    await person.press('Check changes')
    await person.tab.getByRole('heading', { name: 'Day and night, import' }).waitFor()
    await person.press('Save version')
    await person.tab.waitForURL(/\?done=saved$/)
    const [first, second] = (await planOf(id)).versions
    expect(second).toMatchObject({ from: '2027-01-01', tariffs: first?.tariffs, charges: first?.charges })
    expect(first?.charges).toMatchObject([{ prorate: 'NONE', start_date: '2026-01-01' }, { highest: 3, steps }, {}])
  })

  it('adds and removes tariffs and charges, and shows an error in its charge', { timeout: 60_000 }, async () => {
    const client = await system.login()
    const id = await makeOne(client, '/plans', { name: 'Changing', currency_code: 'EUR', ...prices })
    await open(`/plans/${id}`)
    const { tab, press, follow } = person
    await follow('Edit version 1')
    await press('Add tariff')
    await part('Tariff 3').getByLabel('Price per kWh, row 1').fill('0.05')
    await part('Tariff 3').getByLabel('From, row 1').fill('00:00')
    await part('Tariff 3').getByLabel('To, row 1').fill('00:00')
    await part('Tariff 3').getByLabel('Type').selectOption('NON_COMMODITY')
    await part('Tariff 2').getByLabel('Remove this tariff').check()
    await part('Charge 2').getByLabel('Remove this charge').check()
    await part('Charge 3').getByLabel('Rate of a percentage').fill('25')
    await press('Check changes')
    await part('Charge 2').getByText('write 0.25 for 25 percent').waitFor()
    expect(await pageFaults(tab, 'plan-prices-charge-error')).toEqual([])
    await part('Charge 2').getByLabel('Rate of a percentage').fill('0.2')
    await press('Check changes')
    await press('Save version')
    await tab.waitForURL(/\?done=saved$/)
    const [version] = (await planOf(id)).versions
    expect(version).toMatchObject({
      from: null,
      tariffs: [
        { direction: 'IMPORT', type: 'COMMODITY' },
        { direction: 'IMPORT', type: 'NON_COMMODITY' },
      ],
      charges: [
        { kind: 'FIXED', name: 'Standing charge' },
        { kind: 'PERCENTAGE', rate: 0.2 },
      ],
    })
  })
})
