import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../../support/system/client.ts'
import { bought, makeOne, priceSchedule } from '../../../support/system/home.ts'
import { useSharedSystem } from '../../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'
import { type ConsolePerson, openPerson } from '../../../support/web/console-person.ts'

/** Prices of the tariff "Night saver": 0.32 EUR from 6 to 22 h, 0.20 EUR at night. */
const nightSaver = [
  {
    days_and_hours: [
      {
        hours: [
          { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.32 }] },
          { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.2 }] },
        ],
      },
    ],
  },
]

/** Year of the last month with this number (1 to 12) that has ended. */
const lastYearOf = (month: number): number => {
  const today = new Date(Date.now())
  return today.getUTCFullYear() - (today.getUTCMonth() >= month ? 0 : 1)
}

const october = lastYearOf(10)
const march = lastYearOf(3)

/** Instant of a clock time of Berlin in October. Summer time ends after the 25th at the earliest. */
const at = (day: number, clock: string): string => `${october}-10-${String(day).padStart(2, '0')}T${clock}:00+02:00`

describe.skipIf(!hasBrowser)('a person at the console', () => {
  const system = useSharedSystem()
  let browser: Browser
  let client: Client
  let depot = ''
  const person = (): Promise<ConsolePerson> => openPerson(browser, system.sandbox(), system.sandbox().test_key)

  beforeAll(async () => {
    browser = await launchBrowser()
    client = await system.login()
    depot = await makeOne(client, '/locations', {
      reference_id: 'Depot Hamburg',
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
    })
    await makeOne(client, '/tariffs', {
      location_id: depot,
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'Night saver',
      schedule: nightSaver,
    })
    const wallbox = await makeOne(client, '/devices', { reference_id: 'wallbox-7' })
    const charge = (kwh: number, session: string, start: string, end: string) =>
      bought(depot, kwh, start, end, { device_id: wallbox, session_reference_id: session })
    await client.submit([
      charge(4, 'monday-noon', at(3, '10:00'), at(3, '12:00')),
      charge(6, 'friday-night', at(4, '23:00'), at(5, '01:00')),
      charge(8, 'saturday-evening', at(14, '21:00'), at(14, '23:00')),
      bought(depot, 10, `${march}-03-05T10:00:00+01:00`, `${march}-03-05T12:00:00+01:00`),
      bought(depot, 10, `${march}-03-06T23:00:00+01:00`, `${march}-03-07T01:00:00+01:00`),
    ])
    await client.ask('POST', '/plans', {
      name: 'Plan B',
      currency_code: 'EUR',
      tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', display_name: 'Flat', schedule: priceSchedule(0.24) }],
      charges: [{ kind: 'FIXED', name: 'Standing charge', component: 'base', price: 0.1, per: 'DAY' }],
    })
  }, 120_000)

  afterAll(() => browser?.close())

  it('sees what a device cost in October, and why', { timeout: 60_000 }, async () => {
    await using one = await person()
    await one.find('wallbox')
    await one.follow('wallbox-7')
    await one.follow('View costs')
    await one.tab.getByLabel('From', { exact: true }).fill(`${october}-10-01`)
    await one.tab.getByLabel('To', { exact: true }).fill(`${october}-10-31`)
    await one.press('Show')
    // 4 × 0.32 + 6 × 0.20 + 4 × 0.32 + 4 × 0.20 = 1.28 + 1.20 + 1.28 + 0.80
    expect(await one.read()).toMatch(/Energy 18 kWh Cost 4\.56 EUR/)
    await one.tab
      .getByRole('cell')
      .getByRole('link', { name: /14 Oct/ })
      .click()
    await one.tab.getByRole('cell').getByRole('link', { name: /21:00/ }).click()
    const why = await one.read()
    expect(why).toContain('4 kWh × 0.32 EUR/kWh = 1.28 EUR')
    expect(why).toContain('4 kWh × 0.2 EUR/kWh = 0.8 EUR')
    expect(why).toContain('Sum of 2 pieces = 2.08 EUR')
    await one.follow('Night saver')
    expect(await one.tab.getByRole('heading', { level: 1 }).innerText()).toBe('Night saver')
  })

  it('sees why one session is more expensive than another', { timeout: 60_000 }, async () => {
    await using one = await person()
    await one.find('saturday')
    await one.follow('saturday-evening')
    await one.tab.getByLabel('Compare with').fill('friday-night')
    await one.press('Show')
    // 8 kWh for 2.08 EUR at 0.26; 6 kWh for 1.20 EUR at 0.20; 2 × 0.20 = 0.40, and 8 × 0.06 = 0.48
    const text = await one.read()
    expect(text).toMatch(/Energy 8 kWh 6 kWh Cost 2\.08 EUR 1\.20 EUR Mean price 0\.26\d* EUR\S* 0\.2\d* EUR/)
    expect(text).toContain('Session saturday-evening costs 0.88 EUR more than friday-night')
    expect(text).toContain('0.40 EUR more because of 2 kWh more energy, and 0.48 EUR more because of a mean price')
    await one.tab.getByLabel('Session', { exact: true }).fill('friday-night')
    await one.tab.getByLabel('Compare with').fill('saturday-evening')
    await one.press('Show')
    expect(await one.read()).toContain('Session friday-night costs 0.88 EUR less than saturday-evening')
  })

  it('sees what March would have cost on another plan', { timeout: 60_000 }, async () => {
    await using one = await person()
    await one.find('depot')
    await one.follow('Depot Hamburg')
    await one.follow('Compare plans')
    await one.tab.getByLabel('First day').fill(`${march}-03-01`)
    await one.tab.getByLabel('Day after the last').fill(`${march}-04-01`)
    await one.tab.getByLabel('Plan', { exact: true }).selectOption('Plan B')
    await one.press('Compare')
    const text = await one.read()
    // 10 × 0.32 + 10 × 0.20 = 5.20, but 20 × 0.24 + 31 × 0.10 = 4.80 + 3.10 = 7.90
    expect(text).toContain('With Plan B the bill is 7.90 EUR instead of 5.20 EUR: 2.70 EUR more.')
    expect(text).toMatch(/Standing charge 0\.00 EUR 3\.10 EUR 3\.10 EUR/)
  })

  it('sees when the car charges tonight, and what it saves', { timeout: 60_000 }, async () => {
    const day = (days: number) =>
      new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Berlin' }).format(Date.now() + days * 86_400_000)
    await using one = await person()
    await one.find('depot')
    await one.follow('Depot Hamburg')
    await one.follow('View prices')
    await one.follow('Plan a charge at these prices')
    await one.tab.getByLabel(/^Device ID/).fill('reference:wallbox-7')
    await one.tab.getByLabel('Energy in kWh').fill('22')
    await one.tab.getByLabel('Maximum power in kW').fill('11')
    await one.tab.getByLabel(/^From \(/).fill(`${day(0)}T18:00`)
    await one.tab.getByLabel(/^Until \(/).fill(`${day(1)}T07:00`)
    await one.press('Calculate schedule')
    await one.tab.getByRole('heading', { level: 1, name: /^Schedule from/ }).waitFor()
    expect(await one.read()).toContain('Location Depot Hamburg')
    const hours = await one.tab.locator('svg.plot text.tick').allTextContents()
    expect(hours).toEqual(expect.arrayContaining(['21:00', '03:00', '06:00']))
    // 22 × 0.20 = 4.40 in the night, and 22 × 0.32 = 7.04 at once. 2.64 of 7.04 are 37.5 %.
    expect(await one.read()).toMatch(/Cost 4\.40 EUR.* 2\.64 EUR \(37\.5 %\)/)
    const rows = one.tab.locator('#runs tbody tr')
    const runs = await rows.locator('time').allInnerTexts()
    expect(runs.length).toBeGreaterThanOrEqual(2)
    for (const time of runs) expect(time).toMatch(/, (?:22|23|0[0-5]):\d\d$|, 06:00$/)
    expect(await rows.first().innerText()).toMatch(/11\skW/)
  })
})
