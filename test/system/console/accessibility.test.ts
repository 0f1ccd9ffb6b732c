import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fillWithDemo } from '../../demo/run-demo.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'
import { openPerson } from '../../support/web/console-person.ts'
import { paths, signInPath } from '../../support/web/console-visitor.ts'
import { crawl } from '../../support/web/crawl.ts'
import { tabTo } from '../../support/web/keyboard.ts'
import { pageFaults } from '../../support/web/page-faults.ts'

const system = useSharedSystem()
const address = (path: string): string => `${system.sandbox().base_url}${path}`

const heading = (tab: Tab, name: string | RegExp) => tab.getByRole('heading', { level: 1, name }).waitFor()

describe.skipIf(!hasBrowser)('the console', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
    await fillWithDemo(system.sandbox(), 2)
  }, 240_000)

  afterAll(() => browser?.close())

  it('has no page with an accessibility fault, in each width and colour scheme', { timeout: 900_000 }, async () => {
    await using one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
    const faults: string[] = []
    const isPage = ({ origin, pathname, searchParams }: URL): boolean =>
      origin === new URL(address('/')).origin && /^\/console(?:\/|$)/.test(pathname) && !searchParams.has('csv')
    const starts = ['/console', '/console/find?query=home', '/console/none', ...paths].map(address)
    const kinds = await crawl(one.tab, starts, isPage, async kind => {
      faults.push(...(await pageFaults(one.tab, kind)))
    })
    expect(kinds).toEqual(expect.arrayContaining(paths))
    expect(kinds.length).toBeGreaterThan(60)
    await one.tab.getByRole('button', { name: 'Sign out' }).click()
    await one.tab.waitForURL(`**${signInPath}*`)
    faults.push(...(await pageFaults(one.tab, signInPath)))
    expect(faults).toEqual([])
  })

  it('shows faults in a page that has some', { timeout: 60_000 }, async () => {
    const tab = await browser.newPage()
    await tab.setContent('<html><body style="width:2000px"><img src="x"><p style="color:#aaa">pale</p></body></html>')
    const faults = await pageFaults(tab, 'planted')
    for (const text of ['390 px: scrolls horizontally', 'image-alt at img', 'dark: color-contrast at p'])
      expect(faults.some(fault => fault.includes(text))).toBe(true)
    await tab.close()
  })

  it('can be used by keyboard alone, with visible focus', { timeout: 120_000 }, async () => {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } })
    const tab = await context.newPage()
    await tab.goto(address('/console'))
    await tabTo(tab, 'Account ID')
    await tab.keyboard.type(system.sandbox().account_id)
    await tabTo(tab, 'API key')
    await tab.keyboard.type(system.sandbox().test_key)
    await tab.keyboard.press('Enter')
    await heading(tab, 'Overview')
    await tab.keyboard.press('/')
    await tab.keyboard.type('oslo')
    await tab.keyboard.press('Enter')
    await heading(tab, /Results for/)
    await tabTo(tab, 'Oslo home')
    await tab.keyboard.press('Enter')
    await heading(tab, 'Oslo home')
    await tabTo(tab, 'Edit')
    await tab.keyboard.press('Enter')
    await heading(tab, 'Edit Oslo home')
    await tabTo(tab, 'Reference')
    await tab.keyboard.press('Control+a')
    await tab.keyboard.type('Oslo house')
    await tabTo(tab, 'Save changes')
    await tab.keyboard.press('Enter')
    await heading(tab, 'Oslo house')
    await tabTo(tab, 'Sign out')
    await tab.keyboard.press('Enter')
    await heading(tab, /Sign in/)
    await context.close()
  })
})
