import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { languageNames, readTexts } from '../../../services/connect/pages/languages.ts'
import { type Listener, listen } from '../../../services/platform/http/listen.ts'
import { languagesInShort } from '../../support/connect/choose-languages.ts'
import {
  chooseProvider,
  chooseStructure,
  clickContinue,
  fillAddress,
  openTab,
  saveScreenshots,
  waitForTitle,
} from '../../support/connect/connect-browser.ts'
import { allRoutes, loginFixture, tariffsOf } from '../../support/connect/connect-fixture.ts'
import { connectAccount, londonAddress } from '../../support/connect/connect-service.ts'
import { casesOfRun } from '../../support/test-run/short-form.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'

/** Texts that do not fit into their elements, and the page if it is wider than the screen. Runs in the browser. */
const findOverflow = `[...document.querySelectorAll('body *')].filter(element =>
  element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 &&
  getComputedStyle(element).display !== 'inline' &&
  [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== '') &&
  !element.closest('.unseen, svg, option')).map(element => element.outerHTML.slice(0, 200))
  .concat(document.documentElement.scrollWidth > innerWidth ? ['page'] : [])`

const chosen = casesOfRun(languagesInShort)

describe.skipIf(!hasBrowser)('the languages of the Connect page', { timeout: 120_000 }, () => {
  const { service } = loginFixture()
  let listener: Listener
  let browser: Browser
  let references = 0

  beforeAll(async () => {
    listener = await listen(
      service().app,
      { host: '127.0.0.1', port: 0 },
      { now: Date.now, newRequestId: () => 'req_1', log: console as never },
    )
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.[Symbol.asyncDispose]()
  })

  const address = (query: string): string => `http://127.0.0.1:${listener.port}/connect${query}`

  const open = async (more: object, lang: string, width = 390) => {
    const { call } = await connectAccount(service(), 'current')
    references += 1
    const shared = { connect_url: address(''), callback_url: address('/done'), route_options: allRoutes }
    const body = { ...shared, location_reference_id: `language-${references}`, ...more }
    const token = String((await call('POST', '/connect/token', body)).body['connect_token'])
    return { call, token, ...(await openTab(browser, address(`?fp_cot=${token}&lang=${lang}`), { width })) }
  }

  /** Show the current page of a session in each chosen language at 390 px. */
  const showAll = async (tab: Tab, token: string, titleKey: string): Promise<void> => {
    for (const language of chosen) {
      await tab.goto(address(`?fp_cot=${token}&lang=${language}`))
      await waitForTitle(tab, readTexts(language)[titleKey] ?? '')
      expect(await tab.locator('html').getAttribute('lang')).toBe(language)
      expect(await tab.evaluate(findOverflow), `${titleKey} in ${language}`).toEqual([])
      if (['de', 'fr', 'pl', 'sv'].includes(language)) await saveScreenshots(tab, `${titleKey}-${language}`)
    }
    await tab.goto(address(`?fp_cot=${token}&lang=en`))
  }

  it(`fit on a phone on each page: ${chosen.join(', ')}`, { timeout: 600_000 }, async () => {
    const { tab, token, faults } = await open({}, 'en')
    await showAll(tab, token, 'address.title')
    await fillAddress(tab)
    await showAll(tab, token, 'supplier.title')
    await chooseProvider(tab, 'Ecotricity')
    for (const [structure, titleKey] of [
      ['Fixed price', 'fixed.title'],
      ['Time-of-day prices', 'hours.title'],
      ['Other', 'advanced.title'],
      ['Fixed price', 'structure.title'],
    ] as const) {
      if (titleKey === 'structure.title') await showAll(tab, token, titleKey)
      await chooseStructure(tab, structure)
      if (titleKey === 'structure.title') continue
      await showAll(tab, token, titleKey)
      await tab.getByRole('button', { name: 'Back' }).click()
    }
    await waitForTitle(tab, 'What do you pay for a kilowatt-hour?')
    await tab.getByLabel('Price').fill('24.55')
    await clickContinue(tab)
    await showAll(tab, token, 'name.title')
    await tab.getByLabel('Name of the tariff').fill('Grün')
    await clickContinue(tab)
    await showAll(tab, token, 'term.title')
    await clickContinue(tab)
    await showAll(tab, token, 'summary.title')
    expect(faults).toEqual([])
  })

  it('have a page for people without a token, in the language of the browser', async () => {
    for (const language of languageNames) {
      const answer = await fetch(address(''), { headers: { 'Accept-Language': `${language}-XX, en;q=0.1` } })
      const page = await answer.text()
      expect(page).toContain(`<h1>${readTexts(language)['no_link.title']}</h1>`)
      expect(page).not.toContain('<script')
      expect(answer.headers.get('content-language')).toBe(language)
      expect(answer.headers.get('vary')).toContain('Accept-Language')
    }
  })

  it('show errors beside all fields, focus the first, and keep an exact decimal comma', async () => {
    const { tab, faults, call } = await open({}, 'de')
    await waitForTitle(tab, 'Wo verbrauchen Sie Ihren Strom?')
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByRole('alert').waitFor()
    expect(await tab.locator('.field .error').allTextContents()).toEqual([
      'Geben Sie Straße und Hausnummer ein.',
      'Geben Sie die Postleitzahl ein.',
      'Geben Sie den Ort ein.',
      'Wählen Sie ein Land aus.',
    ])
    expect(await tab.getByRole('alert').textContent()).toBe('Bitte prüfen Sie die 4 markierten Felder.')
    expect(await tab.evaluate('document.activeElement.autocomplete')).toBe('address-line1')
    await saveScreenshots(tab, 'errors-de')
    for (const [label, value] of [
      ['Straße und Hausnummer', '10 Downing Street'],
      ['Postleitzahl', 'SW1A 2AA'],
      ['Ort', 'London'],
    ] as const)
      await tab.getByLabel(label).fill(value)
    await tab.getByLabel('Land', { exact: true }).selectOption('GB')
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByLabel('Stromanbieter suchen').fill('ecotr')
    await tab.getByRole('radio', { name: 'Ecotricity' }).check()
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByRole('radio', { name: 'Fester Preis' }).check()
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByLabel('Arbeitspreis').fill('viel')
    await tab.getByRole('button', { name: 'Weiter' }).click()
    expect(await tab.getByRole('alert').textContent()).toBe('Geben Sie einen Preis ein, zum Beispiel 31,9.')
    await tab.getByLabel('Arbeitspreis').fill('31,9000001')
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByLabel('Name des Tarifs').fill('Strom')
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await tab.getByRole('button', { name: 'Weiter' }).click()
    await waitForTitle(tab, 'Ihr Tarif ist verbunden')
    await tab.getByText('31,90 p/kWh').first().waitFor()
    expect(await tariffsOf(call)).toMatchObject([
      { schedule: [{ days_and_hours: [{ hours: [{ rate: [{ fixed: 0.319000001 }] }] }] }] },
    ])
    await tab.getByRole('button', { name: 'Das ist nicht mein Tarif' }).click()
    await tab.getByRole('status').getByText('Vielen Dank').waitFor()
    await saveScreenshots(tab, 'thanks-de')
    expect(faults).toEqual([])
  })

  it('show the request id of an unexpected error in closed details only', async () => {
    const { tab } = await open({ postal_address: londonAddress }, 'en')
    await waitForTitle(tab, 'Who is your supplier?')
    await tab.route('**/connect*', route => route.continue({ postData: '{' }), { times: 1 })
    await chooseProvider(tab, 'Ecotricity')
    const alert = tab.getByRole('alert')
    await alert.waitFor()
    expect(await alert.getByText('req_').isVisible()).toBe(false)
    await alert.getByText('Details for support').click()
    expect(await alert.getByText('req_').isVisible()).toBe(true)
  })
})
