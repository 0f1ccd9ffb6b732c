import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTab, waitForTitle } from '../../support/connect/connect-browser.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'
import { focusedName, tabTo } from '../../support/web/keyboard.ts'

const system = useSharedSystem()

/** Go to an input and type a text. */
const typeInto = async (tab: Tab, name: string | RegExp, text: string): Promise<void> => {
  await tabTo(tab, name)
  await tab.keyboard.type(text)
}

/** Go to a button and press it with a key. */
const pressButton = async (tab: Tab, name: string | RegExp, key: 'Enter' | 'Space' = 'Enter'): Promise<void> => {
  await tabTo(tab, name)
  await tab.keyboard.press(key)
}

describe.skipIf(!hasBrowser)('the Connect page by keyboard alone', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  it('connects a tariff from the address to the end, with visible focus', { timeout: 120_000 }, async () => {
    const { base_url: base } = system.sandbox()
    const client = await system.login()
    const addresses = { connect_url: `${base}/connect`, callback_url: `${base}/docs` }
    const routes = { route_options: { tariff_name_capture: true, contract_term_capture: true } }
    const reference = { location_reference_id: 'keyboard-1' }
    const sent = { ...addresses, ...routes, ...reference }
    const { connect_token: token } = (await client.ask('POST', '/connect/token', sent)) as { connect_token: string }
    const { tab, faults } = await openTab(browser, `${base}/connect?fp_cot=${token}`, { width: 1_280 })

    await waitForTitle(tab, 'Where is your electricity used?')
    expect(await focusedName(tab)).toBe('Where is your electricity used?')
    await pressButton(tab, 'Continue')
    await tab.getByRole('alert').waitFor()
    expect(await focusedName(tab)).toBe('Street and number')
    await tab.keyboard.type('10 Downing Street')
    await typeInto(tab, 'Postcode', 'SW1A 2AA')
    await typeInto(tab, 'Town or city', 'London')
    await typeInto(tab, /^Country/, 'United Kingdom')
    await pressButton(tab, 'Continue')

    await waitForTitle(tab, 'Who is your supplier?')
    await typeInto(tab, 'Find your supplier', 'ecotr')
    await pressButton(tab, /Ecotricity/, 'Space')
    await pressButton(tab, 'Continue', 'Space')

    await waitForTitle(tab, 'Which type of price do you have?')
    await tabTo(tab, /^Fixed price/)
    await tab.keyboard.press('ArrowDown')
    await pressButton(tab, 'Continue')

    await waitForTitle(tab, 'What do you pay, and when?')
    await pressButton(tab, 'Add period', 'Space')
    expect(await tab.getByRole('group', { name: /Period \d/ }).count()).toBe(3)
    await pressButton(tab, 'Remove period 3')
    expect(await tab.getByRole('group', { name: /Period \d/ }).count()).toBe(2)
    expect(await focusedName(tab)).toBe('Add period')
    await typeInto(tab, 'Price', '31.9')
    await typeInto(tab, 'Price', '12.4')
    await pressButton(tab, 'Continue')

    await waitForTitle(tab, 'What is your tariff called?')
    await typeInto(tab, 'Name of the tariff', 'Night saver')
    await tab.keyboard.press('Enter')
    await waitForTitle(tab, 'How long does the contract run?')
    await tabTo(tab, 'Until terminated')
    await tab.keyboard.press('ArrowDown')
    await tab.getByLabel('Contract end date').waitFor()
    await tab.keyboard.press('ArrowUp')
    await pressButton(tab, 'Continue', 'Space')

    await waitForTitle(tab, 'Your tariff is connected')
    await pressButton(tab, 'Tomorrow')
    expect(await tab.getByRole('button', { name: 'Tomorrow' }).getAttribute('aria-pressed')).toBe('true')
    await pressButton(tab, 'This is not my tariff', 'Space')
    await tab.getByText('Thank you').waitFor()
    await pressButton(tab, 'Done')
    await tab.waitForURL(`**/docs?fp_cot=${token}`)

    const { location_id: id } = (await client.ask('GET', `/connect/token?connect_token=${token}`)) as {
      location_id: string
    }
    const { data } = (await client.ask('GET', `/tariffs?location_id=${id}`)) as { data: object[] }
    expect(data).toMatchObject([
      {
        display_name: 'Night saver',
        schedule: [{ days_and_hours: [{ hours: [{ rate: [{ fixed: 0.319 }] }, { rate: [{ fixed: 0.124 }] }] }] }],
      },
    ])
    await tab.close()
    expect(faults).toEqual([])
  })
})
