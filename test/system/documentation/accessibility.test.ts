import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'
import { pageFaults } from '../../support/web/page-faults.ts'

/** One page of each kind. The pages of a kind share their frame and their elements. */
const paths = ['/', '/docs', '/docs/questions', '/docs/rules/costs', '/docs/search?query=tariff', '/docs/none']

describe.skipIf(!hasBrowser)('the documentation', () => {
  const system = useSharedSystem()
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
  })

  afterAll(() => browser?.close())

  it.each(paths)('%s has no accessibility fault, in each width and colour scheme', { timeout: 120_000 }, async path => {
    const tab = await browser.newPage()
    await tab.goto(`${system.sandbox().base_url}${path}`)
    expect(await pageFaults(tab, path)).toEqual([])
    await tab.close()
  })
})
