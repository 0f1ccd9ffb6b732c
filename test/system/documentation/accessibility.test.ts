import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'
import { pageFaults } from '../../support/web/page-faults.ts'

/** One page of each kind. The pages of a kind share their frame and their elements. */
const paths = ['/', '/docs', '/docs/questions', '/docs/rules/costs', '/docs/search?query=tariff', '/docs/none']

/**
 * Remove the sections of the reference that have no new kind of element: axe needs minutes for all of its 33,000 elements.
 * Returns the number of sections before and after.
 */
const keepOneOfEachKind = `(() => {
  const seen = new Set()
  const sections = [...document.querySelectorAll('main > *')]
  const kindOf = element => [element.parentElement.tagName, element.tagName, element.className].join(' ')
  const kept = sections.filter(section => {
    const kinds = [...section.querySelectorAll('*')].map(kindOf)
    const isNew = kinds.some(kind => !seen.has(kind))
    for (const kind of kinds) seen.add(kind)
    if (!isNew) section.remove()
    return isNew
  })
  return [sections.length, kept.length]
})()`

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

  it('/docs/api has no accessibility fault in any kind of element', { timeout: 180_000 }, async () => {
    const tab = await browser.newPage()
    await tab.goto(`${system.sandbox().base_url}/docs/api`)
    const [all = 0, kept = 0] = (await tab.evaluate(keepOneOfEachKind)) as readonly number[]
    expect(all).toBeGreaterThan(100)
    expect(kept).toBeGreaterThan(5)
    expect(await pageFaults(tab, '/docs/api')).toEqual([])
    await tab.close()
  })
})
