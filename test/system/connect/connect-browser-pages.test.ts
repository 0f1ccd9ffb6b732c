import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Listener, listen } from '../../../services/platform/http/listen.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import {
  chooseProvider,
  chooseStructure,
  clickContinue,
  fillAddress,
  openTab,
  saveScreenshots,
  waitForTitle,
} from '../../support/connect/connect-browser.ts'
import {
  allRoutes,
  apiVersions,
  locationOf,
  loginFixture,
  retrieve,
  tariffsOf,
} from '../../support/connect/connect-fixture.ts'
import { type ApiVersion, connectAccount, londonAddress } from '../../support/connect/connect-service.ts'
import { providerPlan } from '../../support/connect/provider-app.ts'
import type { Call } from '../../support/registry/service.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'

const hourMs = 3_600_000

describe.skipIf(!hasBrowser)('each page of Connect in a browser', { timeout: 60_000 }, () => {
  const { provider, service } = loginFixture()
  let listener: Listener
  let browser: Browser
  let references = 0

  beforeAll(async () => {
    listener = await listen(
      service().app,
      { host: '127.0.0.1', port: 0 },
      { now: Date.now, newRequestId: () => 'req_1', log: console as never },
    )
    provider().connectAddress = address()
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.[Symbol.asyncDispose]()
  })

  const address = (path = '/connect'): string => `http://127.0.0.1:${listener.port}${path}`

  const openAs = async (call: Call, apiVersion: ApiVersion, more: object = {}, path = '/connect') => {
    const [to, addresses] =
      apiVersion === 'current'
        ? ['/connect/token', { connect_url: address(path), callback_url: address('/done') }]
        : ['/connect/tariff/token', { connect_web_url: address(path), callback_uri: address('/done') }]
    const { body } = await call('POST', to, { ...addresses, route_options: allRoutes, ...more })
    const token = String(body['connect_token'])
    return { token, ...(await openTab(browser, `${address(path)}?fp_cot=${token}`)) }
  }

  const open = async (apiVersion: ApiVersion, more: object = {}, path = '/connect') => {
    const { call } = await connectAccount(service(), apiVersion)
    references += 1
    return { call, ...(await openAs(call, apiVersion, { location_reference_id: `tab-${references}`, ...more }, path)) }
  }

  const toLogin = async (apiVersion: ApiVersion) => {
    const visit = await open(apiVersion)
    await fillAddress(visit.tab)
    await chooseProvider(visit.tab, 'Direct Energy')
    await visit.tab.waitForURL('**/login**')
    const logIn = async () => {
      await visit.tab.getByLabel('User').fill('ann')
      await visit.tab.getByLabel('Hand my tariff over').check()
      await visit.tab.getByRole('button', { name: 'Log in' }).click()
    }
    return { ...visit, logIn }
  }

  it('thanks a person who reports a wrong tariff, in a live region that was there before', async () => {
    const { tab, faults } = await open('current', { postal_address: londonAddress, route_options: {} })
    await chooseProvider(tab, 'Ecotricity')
    await chooseStructure(tab, 'Fixed price')
    await tab.getByLabel('Price', { exact: true }).fill('24.55')
    const region = await tab.locator('[role=status]').elementHandle()
    await clickContinue(tab)
    const report = tab.getByRole('button', { name: 'This is not my tariff' })
    await report.click()
    const thanks = tab.locator('[role=status]', { hasText: 'Thank you for telling us. We will check this tariff.' })
    await thanks.waitFor()
    // Screen readers say a change of a region that they know, so the element must be the same.
    expect(await thanks.evaluate((shown, known) => shown === known, region)).toBe(true)
    expect(await report.count()).toBe(0)
    await saveScreenshots(tab, 'thanks')
    expect(faults).toEqual([])
  })

  it.each(apiVersions)('goes to a login at the provider and back, in the %s API version', async apiVersion => {
    provider().reply = { status: 422, body: { message: 'Wrong password' } }
    const { tab, faults, logIn } = await toLogin(apiVersion)
    await logIn()
    await tab.getByText('Wrong password').waitFor()
    provider().reply = { status: 200, body: providerPlan(0.2455) }
    await logIn()
    await tab.waitForURL(/\/connect\?fp_cot=/)
    await waitForTitle(tab, apiVersion === 'current' ? 'Your tariff is connected' : 'Is this your tariff?')
    await tab.getByText('Direct Green').waitFor()
    await saveScreenshots(tab, `summary-direct-${apiVersion}`)
    expect(faults).toEqual([])
  })

  it.each(apiVersions)(
    'reports that a provider is slow, and later that the provider has failed, in the %s API version',
    async apiVersion => {
      provider().reply = 'never'
      const { tab, faults, logIn, call } = await toLogin(apiVersion)
      await logIn()
      await waitForTitle(tab, 'Waiting for your supplier')
      await saveScreenshots(tab, `pending-${apiVersion}`)
      const { clock, turn } = service()
      const made = clock.at
      try {
        for (const waited of [hourMs, 50 * hourMs]) {
          clock.at = made + waited
          await turn()
        }
        const later = await openAs(call, apiVersion, { location_id: (await locationOf(call))['id'] })
        await waitForTitle(later.tab, 'Your supplier did not send your prices')
        await saveScreenshots(later.tab, `failed-${apiVersion}`)
        if (apiVersion === 'earlier') await later.tab.getByRole('button', { name: 'Try again' }).click()
        else await later.tab.getByRole('button', { name: 'Change tariff' }).click()
        if (apiVersion === 'earlier') await later.tab.waitForURL('**/login**')
        else await waitForTitle(later.tab, 'Who is your supplier?')
        const again = await openAs(call, apiVersion, { location_id: (await locationOf(call))['id'] })
        again.tab.on('dialog', dialog => void dialog.accept())
        await again.tab.getByRole('button', { name: 'Disconnect' }).click()
        await again.tab.waitForURL('**/done?fp_cot=**')
        expect([...faults, ...later.faults, ...again.faults]).toEqual([])
      } finally {
        clock.at = made
      }
    },
  )

  it('accepts prices by season, day and amount', async () => {
    const { tab, faults, call } = await open('current', { postal_address: londonAddress })
    await chooseProvider(tab, 'Ecotricity')
    await chooseStructure(tab, 'Other')
    await waitForTitle(tab, 'Your prices')
    await clickContinue(tab)
    await tab.getByRole('alert').waitFor()
    const fill = async (
      index: number,
      texts: Readonly<Record<string, string>>,
      chosen: Readonly<Record<string, string>>,
    ) => {
      const row = tab.getByRole('group', { name: `Period ${index}` })
      for (const [label, text] of Object.entries(texts)) await row.getByLabel(label, { exact: true }).fill(text)
      for (const [label, value] of Object.entries(chosen))
        await row.getByLabel(label, { exact: true }).selectOption(value)
    }
    await fill(
      1,
      { Price: '24.55', 'Monthly limit of this price (optional)': '150', 'Price above the limit': '20' },
      { 'First month': 'Oct', 'Last month': 'Mar' },
    )
    await tab.getByRole('button', { name: 'Add period' }).click()
    await fill(2, { Price: '18.5' }, { 'First month': 'Apr', 'Last month': 'Sep' })
    await tab.getByRole('button', { name: 'Add period' }).click()
    await fill(3, { Price: '9.9' }, { Days: 'Weekend', 'First month': 'Apr', 'Last month': 'Sep' })
    await saveScreenshots(tab, 'advanced')
    await clickContinue(tab)
    await waitForTitle(tab, 'What is your tariff called?')
    await tab.getByLabel('Name of the tariff').fill('Seasons')
    await clickContinue(tab)
    await waitForTitle(tab, 'How long does the contract run?')
    await clickContinue(tab)
    await waitForTitle(tab, 'Your tariff is connected')
    const [tariff] = await tariffsOf(call)
    expect(tariff?.['schedule']).toMatchObject([
      {
        months: ['Oct', 'Nov', 'Dec', 'Jan', 'Feb', 'Mar'],
        days_and_hours: [{ hours: [{ rate: [{ fixed: 0.2455, to_kwh: 150 }, { fixed: 0.2 }] }] }],
      },
      {
        months: ['Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep'],
        days_and_hours: [
          { days: ['All'], hours: [{ rate: [{ fixed: 0.185 }] }] },
          { days: ['Weekend'], hours: [{ rate: [{ fixed: 0.099 }] }] },
        ],
      },
    ])
    expect(faults).toEqual([])
  })

  /** Import hourly prices around now for two regions of Great Britain. */
  const importPrices = async (): Promise<void> => {
    const { database, clock } = service()
    const from = Math.floor(clock.at / hourMs) * hourMs - 48 * hourMs
    await withOperator(database, async transaction => {
      for (const area of ['GB', 'GB-C']) {
        const draft = { displayName: area, currencyCode: 'GBP', area, resolutionMinutes: 60, importer: null }
        const { id } = await createMarket(transaction, draft, clock.at)
        const prices = Array.from({ length: 96 }, (_, index) => {
          const price = Math.round(120 + 80 * Math.sin((index % 24) / 3.8)) * 1_000_000 * (index % 24 === 4 ? -0.3 : 1)
          return { start: from + index * hourMs, end: from + (index + 1) * hourMs, value: BigInt(Math.round(price)) }
        })
        await putMarketPrices(transaction, id, prices)
      }
    })
  }

  it('shows the market region on a separate page or with the surcharge, and the prices as bars', async () => {
    await importPrices()
    const now = await open('current', { postal_address: londonAddress, route_options: {} })
    await chooseProvider(now.tab, 'Ecotricity')
    await chooseStructure(now.tab, 'Market prices')
    await waitForTitle(now.tab, 'Which market area are you in?')
    await saveScreenshots(now.tab, 'region')
    await clickContinue(now.tab)
    await waitForTitle(now.tab, 'Which market area are you in?')
    await now.tab.getByRole('radio', { name: 'London' }).check()
    await clickContinue(now.tab)
    await waitForTitle(now.tab, 'What does your supplier add to the market price?')
    await now.tab.getByLabel('Surcharge per kilowatt-hour').fill('2')
    await clickContinue(now.tab)
    await waitForTitle(now.tab, 'Your tariff is connected')
    await saveScreenshots(now.tab, 'summary-market-prices')
    // The drawing of the chart is smaller on phones, and its texts can be read.
    for (const text of ['.tick', '.now-word']) {
      const size = `parseFloat(getComputedStyle(document.querySelector('.chart ${text}')).fontSize)`
      const scale = "document.querySelector('.chart').getBoundingClientRect().width / 420"
      expect(await now.tab.evaluate(`${size} * ${scale}`), text).toBeGreaterThanOrEqual(12)
    }
    expect(await now.tab.locator('.chart .bar').count()).toBeGreaterThanOrEqual(23)
    expect(await now.tab.locator('.chart .bar.now').count()).toBe(1)
    await now.tab.getByText('Prices as a table').click()
    expect(await now.tab.getByRole('row').count()).toBeGreaterThanOrEqual(24)
    await now.tab.getByRole('button', { name: 'Yesterday' }).click()
    expect(await now.tab.locator('.chart .bar.now').count()).toBe(0)

    const before = await open('earlier', { postal_address: londonAddress, route_options: {} })
    await chooseProvider(before.tab, 'Ecotricity')
    await chooseStructure(before.tab, 'Market prices')
    await waitForTitle(before.tab, 'What does your supplier add to the market price?')
    await clickContinue(before.tab)
    await before.tab.getByRole('alert').waitFor()
    await saveScreenshots(before.tab, 'surcharge-region-error')
    await before.tab.getByRole('radio', { name: 'London' }).check()
    await clickContinue(before.tab)
    await waitForTitle(before.tab, 'Is this your tariff?')
    await before.tab.getByRole('button', { name: 'Save tariff' }).click()
    await before.tab.waitForURL('**/done?fp_cot=**')
    expect((await retrieve(before.call, 'earlier', before.token)).body['is_tariff_processed']).toBe(true)
    expect([...now.faults, ...before.faults]).toEqual([])
  })

  it('works with the keyboard alone and survives a reload', async () => {
    const { tab, faults, call } = await open(
      'current',
      { postal_address: londonAddress, route_options: {} },
      '/flow/here/',
    )
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await tab.keyboard.press(key)
    }
    await waitForTitle(tab, 'Who is your supplier?')
    await tab.getByLabel('Find your supplier').focus()
    await tab.keyboard.type('ecotr')
    await press('Tab', 'Space', 'Enter')
    await waitForTitle(tab, 'Which type of price do you have?')
    expect(await tab.evaluate('document.activeElement.tagName')).toBe('H1')
    await press('Tab', 'Space', 'Enter')
    await waitForTitle(tab, 'What do you pay for a kilowatt-hour?')
    await tab.reload()
    await waitForTitle(tab, 'What do you pay for a kilowatt-hour?')
    await press('Tab')
    await tab.keyboard.type('24,55')
    await press('Enter')
    await waitForTitle(tab, 'Your tariff is connected')
    expect(await tariffsOf(call)).toMatchObject([{ display_name: 'Ecotricity' }])
    expect(faults).toEqual([])
  })

  it('reports that a link has expired', async () => {
    const { tab } = await openTab(browser, `${address()}?fp_cot=cot_${'0'.repeat(32)}`)
    await waitForTitle(tab, 'This link has expired')
    await tab.getByRole('alert').waitFor()
    await saveScreenshots(tab, 'unknown')
  })
})
