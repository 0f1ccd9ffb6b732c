import { mkdirSync } from 'node:fs'
import type { Browser, Page as Tab } from 'playwright-core'
import { pageFaults } from '../web/page-faults.ts'

/** Folder for screenshots of the pages, for example CONNECT_SHOTS=/tmp/shots. Without it, none are saved. */
const screenshotFolder = process.env['CONNECT_SHOTS']

const widths = { phone: 360, desktop: 1_280 }

/**
 * Check that axe finds nothing on the page of a tab, at phone and desktop width, in light and dark mode. Then save its
 * screenshots. Throws with the faults.
 */
export const saveScreenshots = async (tab: Tab, name: string): Promise<void> => {
  const faults = await pageFaults(tab, name)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  if (screenshotFolder === undefined) return
  mkdirSync(screenshotFolder, { recursive: true })
  const before = tab.viewportSize()
  for (const [device, width] of Object.entries(widths)) {
    await tab.setViewportSize({ width, height: 844 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await tab.emulateMedia({ colorScheme })
      await tab.screenshot({ path: `${screenshotFolder}/${name}-${device}-${colorScheme}.png`, fullPage: true })
    }
  }
  if (before !== null) await tab.setViewportSize(before)
  await tab.emulateMedia({ colorScheme: null })
}

export type OpenedTab = {
  readonly tab: Tab
  /** Errors that the page threw or logged. Refusals of the API are not included. */
  readonly faults: readonly string[]
}

/** Open an address with the locale and time zone of London. */
export const openTab = async (
  browser: Browser,
  address: string,
  { width = 360, colorScheme = 'light' }: { readonly width?: number; readonly colorScheme?: 'light' | 'dark' } = {},
): Promise<OpenedTab> => {
  const context = await browser.newContext({
    viewport: { width, height: 844 },
    colorScheme,
    timezoneId: 'Europe/London',
    locale: 'en-GB',
  })
  const tab = await context.newPage()
  tab.setDefaultTimeout(15_000)
  const faults: string[] = []
  tab.on('pageerror', error => faults.push(String(error)))
  tab.on('console', message => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) faults.push(message.text())
  })
  await tab.goto(address)
  return { tab, faults }
}

export const clickContinue = (tab: Tab): Promise<void> => tab.getByRole('button', { name: 'Continue' }).click()
export const waitForTitle = (tab: Tab, title: string): Promise<void> =>
  tab.getByRole('heading', { name: title }).waitFor()

/** Enter an address in London and continue to the suppliers. */
export const fillAddress = async (tab: Tab): Promise<void> => {
  await waitForTitle(tab, 'Where is your electricity used?')
  await tab.getByLabel('Street and number').fill('10 Downing Street')
  await tab.getByLabel('Postcode').fill('SW1A 2AA')
  await tab.getByLabel('Town or city').fill('London')
  await tab.getByLabel('Country').selectOption('GB')
  await clickContinue(tab)
  await waitForTitle(tab, 'Who is your supplier?')
}

export const chooseProvider = async (tab: Tab, name: string): Promise<void> => {
  await tab.getByLabel('Find your supplier').fill(name.slice(0, 5).toLowerCase())
  await tab.getByRole('radio', { name }).check()
  await clickContinue(tab)
}

export const chooseStructure = async (tab: Tab, name: string): Promise<void> => {
  await waitForTitle(tab, 'Which type of price do you have?')
  await tab.getByRole('radio', { name }).check()
  await clickContinue(tab)
}
