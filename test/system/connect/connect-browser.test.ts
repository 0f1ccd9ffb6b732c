import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  chooseProvider,
  chooseStructure,
  clickContinue,
  fillAddress,
  openTab,
  saveScreenshots,
  waitForTitle,
} from '../../support/connect/connect-browser.ts'
import { type Client, login } from '../../support/system/client.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'

/** Start a server for images on this machine, with one image. */
const startPictures = async (): Promise<{ readonly address: string; readonly close: () => void }> => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#c33"/></svg>'
  const server = createServer((request, response) => {
    if (request.url === '/logo.svg') response.setHeader('Content-Type', 'image/svg+xml').end(svg)
    else response.writeHead(404).end('gone')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

type Band = {
  readonly valid_from: string
  readonly valid_to: string
  readonly rate: readonly Readonly<Record<string, number | null>>[]
}

describe.skipIf(!hasBrowser)('the Connect page in a browser', () => {
  const folder = dataFolder()
  let system: RunningSystem
  let browser: Browser
  let home: Server
  const visits: string[] = []
  let closePictures = (): void => undefined
  let references = 0

  beforeAll(async () => {
    system = await startPrepared(folder)
    const file = join(folder, 'providers.json')
    const whole = [
      { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.2712 }] }] }] },
    ]
    const shelf = [{ name: 'Standard', description: 'One price', currency_code: 'GBP', schedule: whole }]
    const pictures = await startPictures()
    closePictures = pictures.close
    const providers = [
      { display_name: 'Shelf Power', countries: ['GB'], library_tariffs: shelf },
      { display_name: 'Picture Power', countries: ['GB'], logo_url: `${pictures.address}/logo.svg` },
      { display_name: 'Broken Power', countries: ['GB'], logo_url: `${pictures.address}/gone.svg` },
    ]
    writeFileSync(file, JSON.stringify({ providers }))
    const { code, err } = await runCommand(['providers', 'import', file], { WATTLEDGER_DATA_DIR: folder })
    expect(code, err).toBe(0)
    browser = await launchBrowser()
    home = createServer((request, response) => {
      visits.push(request.url ?? '')
      response.end('done')
    })
    await new Promise<void>(resolve => home.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    await browser?.close()
    home?.close()
    closePictures()
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })

  /** Create a token as the caller's app does, and open the page as a person does. */
  const open = async (apiVersion: 'current' | 'earlier', look: Parameters<typeof openTab>[2] = {}) => {
    const client = await login(system.sandbox, 'test', apiVersion)
    const callback = `http://127.0.0.1:${(home.address() as AddressInfo).port}/done?x=1`
    references += 1
    const routes = { tariff_name_capture: true, contract_term_capture: true, advanced_tariff_capture: true }
    const shared = { location_reference_id: `browser-${references}`, route_options: routes }
    const page = `${system.sandbox.base_url}/connect`
    const [path, addresses] =
      apiVersion === 'current'
        ? ['/connect/token', { connect_url: page, callback_url: callback }]
        : ['/connect/tariff/token', { connect_web_url: page, callback_uri: callback }]
    const { connect_token: token } = (await client.ask('POST', path, { ...shared, ...addresses })) as {
      connect_token: string
    }
    const { tab, faults } = await openTab(browser, `${page}?fp_cot=${token}`, look)
    return { client, token, tab, faults, path }
  }

  const toProviders = async (tab: Tab): Promise<void> => {
    await waitForTitle(tab, 'Where is your electricity used?')
    await saveScreenshots(tab, 'address')
    await clickContinue(tab)
    await tab.getByRole('alert').waitFor()
    await saveScreenshots(tab, 'address-error')
    await fillAddress(tab)
    await saveScreenshots(tab, 'providers')
  }

  const toStructure = async (tab: Tab, structure: string): Promise<void> => {
    await toProviders(tab)
    await chooseProvider(tab, 'Ecotricity')
    await waitForTitle(tab, 'Which type of price do you have?')
    await saveScreenshots(tab, 'structure')
    await chooseStructure(tab, structure)
  }

  const finish = async (tab: Tab, button: string, shown: string): Promise<string> => {
    await waitForTitle(tab, 'What is your tariff called?')
    await saveScreenshots(tab, 'name')
    await tab.getByLabel('Name of the tariff').fill('By hand')
    await clickContinue(tab)
    await waitForTitle(tab, 'How long does the contract run?')
    await saveScreenshots(tab, 'term')
    await clickContinue(tab)
    const main = tab.getByRole('button', { name: button })
    await main.waitFor()
    await saveScreenshots(tab, `summary-${shown}`)
    const before = visits.length
    await main.click()
    await tab.waitForURL('**/done**')
    return visits[before] ?? ''
  }

  const bandsOf = async (client: Client, path: string, token: string): Promise<readonly Band[]> => {
    const { location_id: location } = (await client.ask('GET', `${path}?connect_token=${token}`)) as {
      location_id: string
    }
    const current = await login(system.sandbox)
    const { data } = (await current.ask('GET', `/tariffs?location_id=${location}`)) as {
      data: readonly { schedule: readonly { days_and_hours: readonly { hours: readonly Band[] }[] }[] }[]
    }
    return data[0]?.schedule[0]?.days_and_hours[0]?.hours ?? []
  }

  it('leads from the token to the callback, and saves 24.55 entered pence as 0.2455', async () => {
    const { client, token, tab, faults, path } = await open('current')
    await toStructure(tab, 'Fixed price')
    await clickContinue(tab)
    await tab.getByRole('alert').waitFor()
    await saveScreenshots(tab, 'fixed-error')
    await tab.getByLabel('Price').fill('24.55')
    await clickContinue(tab)
    expect(await finish(tab, 'Done', 'fixed')).toBe(`/done?x=1&fp_cot=${token}`)
    expect(await bandsOf(client, path, token)).toMatchObject([{ rate: [{ fixed: 0.2455 }] }])
    expect(faults).toEqual([])
  }, 60_000)

  it('asks for the standing charge as British bills state it, and puts it on statements', async () => {
    const { client, tab, faults } = await open('current')
    await toStructure(tab, 'Fixed price')
    const charge = tab.getByLabel('Standing charge (optional)')
    const unit = () => tab.locator('.field', { has: charge }).locator('.unit').textContent()
    expect([await tab.getByLabel('Period of the standing charge').inputValue(), await unit()]).toEqual(['DAY', 'p'])
    await tab.getByLabel('Period of the standing charge').selectOption('per month')
    expect(await unit()).toBe('£')
    await tab.getByLabel('Period of the standing charge').selectOption('per day')
    await charge.fill('sixty')
    await clickContinue(tab)
    expect(await tab.locator('.field .error').allTextContents()).toEqual([
      'Enter a price, for example 31.9.',
      'Enter an amount, for example 18.5.',
    ])
    await saveScreenshots(tab, 'standing-error')
    await tab.getByLabel('Price', { exact: true }).fill('24.55')
    await charge.fill('60.97')
    await clickContinue(tab)
    await finish(tab, 'Done', 'standing')
    const { data } = (await client.ask('GET', '/charges?limit=1')) as {
      data: readonly { location_id: string; price: number; per: string }[]
    }
    expect(data).toMatchObject([{ name: 'Standing charge', kind: 'FIXED', price: 0.6097, per: 'DAY' }])
    // Two days: 2 × 0.6097 = 1.2194.
    const days = { start_date: '2026-01-01', end_date: '2026-01-03' }
    const statement = await client.ask('POST', `/statements/${data[0]?.location_id}`, days)
    expect(JSON.stringify(statement)).toContain('1.2194')
    expect(faults).toEqual([])
  }, 60_000)

  it('shows the logo of a supplier from its host, or initials if the logo cannot be loaded', async () => {
    const { tab, faults } = await open('current')
    await fillAddress(tab)
    await tab.getByLabel('Find your supplier').fill('power')
    const pictureOf = async (name: string) => {
      const option = tab.locator('label.option', { hasText: name })
      const sign = option.locator('.sign')
      return [
        await sign.evaluate((element: unknown) => (element as { readonly tagName: string }).tagName),
        await sign.textContent(),
      ]
    }
    await tab.locator('label.option img.sign[src$="/logo.svg"]').waitFor()
    expect(await pictureOf('Picture Power')).toEqual(['IMG', ''])
    expect(await pictureOf('Broken Power')).toEqual(['SPAN', 'BP'])
    expect((await pictureOf('Shelf Power'))[0]).toBe('IMG')
    // A logo can be dark, also in the dark scheme.
    const ground =
      'getComputedStyle(document.querySelector(\'label.option img.sign[src$="/logo.svg"]\')).backgroundColor'
    expect(await tab.evaluate(ground)).toBe('rgb(255, 255, 255)')
    await saveScreenshots(tab, 'logos')
    await chooseProvider(tab, 'Broken Power')
    await waitForTitle(tab, 'Which type of price do you have?')
    expect(faults).toEqual([])
    const answer = await fetch(`${system.sandbox.base_url}/connect`)
    const policy = answer.headers.get('content-security-policy') ?? ''
    const images = policy.split('; ').find(one => one.startsWith('img-src')) ?? ''
    expect(images.split(' ').slice(1)).toEqual([
      "'self'",
      'data:',
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    ])
    expect(policy.replace(images, '')).not.toMatch(/https?:/)
  }, 60_000)

  it('shows the brand, privacy notice and terms of the account on every page after they are set', async () => {
    const without = await open('current')
    await waitForTitle(without.tab, 'Where is your electricity used?')
    for (const part of ['#account', '#brand']) expect(await without.tab.locator(part).isVisible()).toBe(false)
    const pictures = await startPictures()
    try {
      const pages = ['--privacy-url', 'https://volt.example/privacy', '--terms-url', 'https://volt.example/terms']
      const words = [
        'account',
        'set',
        system.sandbox.account_id,
        ...pages,
        '--logo-url',
        `${pictures.address}/logo.svg`,
        '--brand-color',
        '#7a1fa2',
      ]
      const { code, err } = await runCommand(words, { WATTLEDGER_DATA_DIR: folder })
      expect(code, err).toBe(0)
      const { tab, token, faults } = await open('current')
      const policyOf = async (query: string) =>
        (await fetch(`${system.sandbox.base_url}/connect${query}`)).headers.get('content-security-policy')
      expect(await policyOf(`?fp_cot=${token}`)).toContain(pictures.address)
      expect(await policyOf('')).not.toContain(pictures.address)
      await tab.locator('#brand img[src$="/logo.svg"]').waitFor({ state: 'visible' })
      // Logo and name are beside each other, above the title.
      const edges = async (selector: string) => {
        const { y, height } = (await tab.locator(selector).boundingBox()) ?? expect.fail(`${selector} is not visible`)
        return { middle: y + height / 2, top: y, bottom: y + height }
      }
      const [logo, name, title] = [await edges('#brand img'), await edges('#brand span'), await edges('h1')]
      expect(Math.abs(logo.middle - name.middle)).toBeLessThan(2)
      expect(logo.bottom).toBeLessThan(title.top)
      const buttonColor = () => tab.evaluate("getComputedStyle(document.querySelector('button.main')).backgroundColor")
      expect(await buttonColor()).toBe('rgb(122, 31, 162)')
      await tab.emulateMedia({ colorScheme: 'dark' })
      expect(await buttonColor()).toMatch(/^rgb\((1[5-9]|2\d)\d, /)
      await tab.emulateMedia({ colorScheme: 'light' })
      await fillAddress(tab)
      for (const [name, path] of [
        ['Privacy notice', 'privacy'],
        ['Terms', 'terms'],
      ] as const)
        expect(await tab.locator('#account').getByRole('link', { name }).getAttribute('href')).toBe(
          `https://volt.example/${path}`,
        )
      await saveScreenshots(tab, 'account')
      expect(faults).toEqual([])
    } finally {
      pictures.close()
    }
  }, 60_000)

  it('explains how to open the page if the address has no token, and a short page does not scroll', async () => {
    const { tab, faults } = await openTab(browser, `${system.sandbox.base_url}/connect`, { width: 1_280 })
    await waitForTitle(tab, 'Open this page from your app')
    expect(await tab.evaluate('document.documentElement.scrollHeight - document.documentElement.clientHeight')).toBe(0)
    expect(faults).toEqual([])
  })

  it('accepts a time band over midnight, in the earlier API version on a wide dark screen', async () => {
    const { client, token, tab, faults, path } = await open('earlier', { width: 1_280, colorScheme: 'dark' })
    await toStructure(tab, 'Time-of-day prices')
    for (const [index, [from, to, price]] of [
      ['23:30', '07:00', '9.99'],
      ['07:00', '23:30', '28.35'],
    ].entries()) {
      const period = tab.getByRole('group', { name: `Period ${index + 1}` })
      await period.getByLabel('From').fill(from ?? '')
      await period.getByLabel('To').fill(to ?? '')
      await period.getByLabel('Price').fill(price ?? '')
    }
    await saveScreenshots(tab, 'periods')
    await clickContinue(tab)
    expect(await finish(tab, 'Save tariff', 'time-of-day-earlier')).toBe(`/done?x=1&fp_cot=${token}`)
    expect(await bandsOf(client, path, token)).toMatchObject([
      { valid_from: '23:30:00', valid_to: '07:00:00', rate: [{ fixed: 0.0999 }] },
      { valid_from: '07:00:00', valid_to: '23:30:00', rate: [{ fixed: 0.2835 }] },
    ])
    expect(faults).toEqual([])
  }, 60_000)

  it('saves a market surcharge of 18.5 percent as 0.185', async () => {
    const { client, token, tab, faults, path } = await open('current')
    await toStructure(tab, 'Market prices')
    await tab.getByLabel('Surcharge in percent, such as tax').fill('18.5')
    await saveScreenshots(tab, 'surcharge')
    await clickContinue(tab)
    await finish(tab, 'Done', 'market')
    expect(await bandsOf(client, path, token)).toMatchObject([{ rate: [{ surcharge_percentage: 0.185 }] }])
    expect(faults).toEqual([])
  }, 60_000)

  it('accepts a supplier that is not listed, and a library tariff or skipping the library', async () => {
    const { tab, faults, client, token, path } = await open('current')
    await toProviders(tab)
    await clickContinue(tab)
    await tab.getByRole('alert').waitFor()
    await tab.getByRole('button', { name: 'My supplier is not listed' }).click()
    await waitForTitle(tab, 'What is your supplier called?')
    await saveScreenshots(tab, 'provider-name')
    await clickContinue(tab)
    await tab.getByRole('alert').waitFor()
    await tab.getByLabel('Name of the supplier').fill('Corner Shop')
    await clickContinue(tab)
    await waitForTitle(tab, 'Which type of price do you have?')
    await tab.getByRole('button', { name: 'Back' }).click()
    await waitForTitle(tab, 'What is your supplier called?')
    await tab.getByRole('button', { name: 'Back' }).click()
    await waitForTitle(tab, 'Who is your supplier?')
    await chooseProvider(tab, 'Shelf Power')
    await waitForTitle(tab, 'Which tariff do you have?')
    await saveScreenshots(tab, 'library')
    await tab.getByRole('button', { name: 'My tariff is not listed' }).click()
    await waitForTitle(tab, 'Which type of price do you have?')
    await tab.getByRole('button', { name: 'Back' }).click()
    await tab.getByRole('radio', { name: 'Standard' }).check()
    await clickContinue(tab)
    await waitForTitle(tab, 'Your tariff is connected')
    expect(await bandsOf(client, path, token)).toMatchObject([{ rate: [{ fixed: 0.2712 }] }])
    expect(faults).toEqual([])
  }, 60_000)
})
