import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../../support/system/home.ts'
import { useSharedSystem } from '../../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'
import { acceptInvitation, type ConsolePerson, openPerson } from '../../../support/web/console-person.ts'
import { openReceiver } from '../../../support/webhooks/receiver.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const today = Math.floor(Date.now() / dayMs) * dayMs
const isoAt = (at: number): string => new Date(at).toISOString()

describe.skipIf(!hasBrowser)('a person at the console', () => {
  const system = useSharedSystem()
  let browser: Browser
  let client: Client
  const person = (): Promise<ConsolePerson> => openPerson(browser, system.sandbox(), system.sandbox().test_key)

  beforeAll(async () => {
    browser = await launchBrowser()
    client = await system.login()
  }, 120_000)

  afterAll(() => browser?.close())

  it('sees who changed a tariff, when, from what and to what', { timeout: 90_000 }, async () => {
    const location = await makeOne(client, '/locations', {
      reference_id: 'Bakery Bremen',
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
    })
    await makeOne(client, '/tariffs', {
      location_id: location,
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'Bread rate',
      schedule: priceSchedule(0.31),
    })
    const address = 'grace@example.com'
    const { link } = (await client.ask('POST', '/users', { address, role: 'support' })) as { readonly link: string }
    {
      await using colleague = await acceptInvitation(browser, system.sandbox(), link)
      await colleague.find('bread')
      await colleague.follow('Bread rate')
      await colleague.follow('Change prices')
      const price = colleague.tab.getByRole('textbox', { name: 'Price per kWh, row 1' })
      expect(await price.inputValue()).toBe('0.31')
      await price.fill('0.29')
      await colleague.press('Check prices')
      await colleague.press('Save prices')
      await colleague.tab.getByRole('heading', { level: 1, name: 'Bread rate' }).waitFor()
    }
    await using one = await person()
    await one.find('bread')
    await one.follow('Bread rate')
    const change = one.tab.getByRole('row', { name: /tariff\.update/ })
    expect(await change.innerText()).toContain(address)
    expect(await change.locator('time').getAttribute('datetime')).toContain(isoAt(today).slice(0, 8))
    await change.getByText('Show').click()
    const detail = await change.innerText()
    expect(detail).toContain('0.31')
    expect(detail).toContain('0.29')
  })

  it('sees which locations have unpriced energy, and why', { timeout: 60_000 }, async () => {
    const bare = await makeOne(client, '/locations', {
      reference_id: 'Kiosk without tariff',
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
    })
    const later = await makeOne(client, '/locations', {
      reference_id: 'Kiosk with a later tariff',
      timezone: 'Europe/Berlin',
      currency_code: 'EUR',
    })
    await makeOne(client, '/tariffs', {
      location_id: later,
      direction: 'IMPORT',
      type: 'COMMODITY',
      display_name: 'New rate',
      contract_start_date: isoAt(today - 5 * dayMs),
      schedule: priceSchedule(0.3),
    })
    const [start, end] = [today - 10 * dayMs, today - 10 * dayMs + hourMs]
    await client.submit([
      bought(bare, 2.5, isoAt(start), isoAt(end)),
      bought(bare, 1.5, isoAt(end), isoAt(end + hourMs)),
      bought(later, 7, isoAt(start), isoAt(end)),
    ])
    await using one = await person()
    await one.follow(/Energy without a price/)
    const rows = one.tab.getByRole('row')
    // 2.5 + 1.5 = 4
    expect(await rows.filter({ hasText: 'Kiosk without tariff' }).innerText()).toMatch(/4\s+kWh\s+2\s/)
    const row = rows.filter({ hasText: 'Kiosk with a later tariff' })
    expect(await row.innerText()).toMatch(/7\s+kWh\s+1\s/)
    await row.getByRole('link', { name: '1', exact: true }).click()
    await one.tab.getByRole('row').nth(1).getByRole('link').first().click()
    expect(await one.read()).toContain('no price')
    expect(await one.read()).toContain('New rate starts later')
    await one.goTo('Unpriced energy')
    await rows.filter({ hasText: 'Kiosk without tariff' }).getByRole('link', { name: '2', exact: true }).click()
    await one.tab.getByRole('row').nth(1).getByRole('link').first().click()
    expect(await one.read()).toContain('The location has no tariff for bought energy')
  })

  it('sees which record was corrected, when, and from what', { timeout: 60_000 }, async () => {
    const mill = await makeHome(client, { import: 0.25 }, { reference_id: 'Mill Jena' })
    const [start, end] = [isoAt(today - 3 * dayMs), isoAt(today - 3 * dayMs + hourMs)]
    await client.submit([bought(mill, 7, start, end), bought(mill, 2, end, isoAt(today - 3 * dayMs + 2 * hourMs))])
    const before = Date.now()
    await client.submit([bought(mill, 4.5, start, end)])
    await using one = await person()
    await one.find('mill')
    await one.follow('Mill Jena')
    await one.follow('View corrections')
    const rows = one.tab.locator('#corrections tbody tr')
    await expect.poll(() => rows.count()).toBe(1)
    expect(await rows.first().innerText()).toMatch(/7\s+kWh\s+4\.5\s+kWh/)
    const corrected = Date.parse((await rows.locator('time').first().getAttribute('datetime')) ?? '')
    expect(corrected).toBeGreaterThanOrEqual(before - 1_000)
    expect(corrected).toBeLessThanOrEqual(Date.now() + 1_000)
    await rows.first().getByRole('link').first().click()
    // 4.5 × 0.25 = 1.125
    expect(await one.read()).toContain('4.5 kWh × 0.25 EUR/kWh = 1.125 EUR')
  })

  it('sees that the webhook for an event arrived', { timeout: 90_000 }, async () => {
    await using receiver = await openReceiver()
    await client.ask('POST', '/webhooks', { url: receiver.url, event_types: ['customer.*'] })
    await client.ask('POST', '/customers', { reference_id: 'Tenant 12' })
    await expect.poll(() => receiver.received.length, { timeout: 40_000 }).toBe(1)
    await using one = await person()
    const delivered = async (): Promise<string> => {
      await one.goTo('Events')
      await one.tab.getByRole('row').filter({ hasText: 'customer.create' }).getByRole('link', { name: /^evt_/ }).click()
      await one.tab.getByRole('heading', { level: 1, name: 'Event', exact: true }).waitFor()
      return one.read()
    }
    await expect.poll(delivered, { timeout: 30_000 }).toMatch(/customer\.create delivered 1/)
    expect(await one.read()).toContain(receiver.url)
    await one.tab.getByRole('row').filter({ hasText: 'delivered' }).getByRole('link').first().click()
    expect(await one.read()).toMatch(/delivered 204/)
  })

  it('sees which tariffs end in 30 days', { timeout: 60_000 }, async () => {
    for (const [name, days] of [
      ['Ends in 12 days', 12],
      ['Ends in 31 days', 31],
    ] as const) {
      const location = await makeHome(client, {}, { reference_id: `Site ${name}` })
      await makeOne(client, '/tariffs', {
        location_id: location,
        direction: 'IMPORT',
        type: 'COMMODITY',
        display_name: name,
        contract_end_date: isoAt(today + days * dayMs),
        schedule: priceSchedule(0.3),
      })
    }
    await using one = await person()
    await one.follow(/Tariffs that end soon/)
    const row = one.tab.getByRole('row').filter({ hasText: 'Ends in 12 days' })
    expect(await row.locator('time').getAttribute('datetime')).toContain(isoAt(today + 12 * dayMs).slice(0, 10))
    expect(await row.innerText()).toContain('Site Ends in 12 days')
    expect(await one.read()).not.toContain('Ends in 31 days')
  })

  it('sees what set the peak of this month', { timeout: 60_000 }, async () => {
    const month = isoAt(today).slice(0, 7)
    const plant = await makeHome(client, { import: 0.2 }, { reference_id: 'Plant Kiel', timezone: 'UTC' })
    await client.ask('POST', '/charges', {
      location_id: plant,
      kind: 'DEMAND',
      name: 'Peak power',
      component: 'grid',
      start_date: `${month}-01`,
      price: 8,
      interval_minutes: 15,
      per: 'MONTH',
    })
    const press = await makeOne(client, '/devices', { reference_id: 'press' })
    const oven = await makeOne(client, '/devices', { reference_id: 'oven' })
    const quarter = (device: string, kwh: number, clock: string, until: string) =>
      bought(plant, kwh, `${month}-01T${clock}:00Z`, `${month}-01T${until}:00Z`, { device_id: device })
    await client.submit([
      quarter(press, 9, '10:00', '10:15'),
      quarter(oven, 3, '10:00', '10:15'),
      quarter(press, 5, '14:00', '14:15'),
    ])
    await using one = await person()
    await one.find('Plant')
    await one.follow('Plant Kiel')
    await one.follow('View statement')
    const text = await one.read()
    // (9 + 3) kWh in a quarter hour are 48 kW; 9 of 12 kWh are 75 %. 48 kW × 8 EUR = 384 EUR.
    expect(text).toContain('The highest power was 48 kW')
    expect(text).toMatch(/from 01 \w+ \d+, 10:00/)
    expect(text).toMatch(/press 9 kWh 75 %/)
    expect(text).toMatch(/oven 3 kWh 25 %/)
    expect(text).toMatch(/Peak power grid demand 48 kW 8 384\.00 EUR/)
  })
})
