import type { Page as Tab } from 'playwright-core'

/** Parameters that change the order or the form of a page, not its kind. */
const ignored = /^(?:sort-|csv$|done$|starting_after$|ending_before$|before$)/

/** Name of the kind of a page: its path without ids, and a question mark if it has parameters. */
export const kindOfPage = (address: string): string => {
  const { pathname, searchParams } = new URL(address)
  const path = pathname.replaceAll(/[a-z]{3}_[0-9a-f]{24}/g, ':id')
  return [...searchParams.keys()].some(name => !ignored.test(name)) ? `${path}?` : path
}

/**
 * Follow the links of a site from the given addresses, and visit one page of each kind. `isPage` selects the addresses
 * to visit. Returns the names of the visited kinds, sorted.
 */
export const crawl = async (
  tab: Tab,
  starts: readonly string[],
  isPage: (url: URL) => boolean,
  visit: (kind: string) => Promise<void>,
): Promise<readonly string[]> => {
  const visited = new Set<string>()
  const waiting = [...starts]
  for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
    const kind = kindOfPage(address)
    if (visited.has(kind)) continue
    visited.add(kind)
    await tab.goto(address)
    if ((await tab.locator('[data-load]').count()) > 0) await tab.waitForLoadState('networkidle')
    await visit(kind)
    const links = (await tab.evaluate('[...document.links].map(link => link.href.split("#")[0])')) as readonly string[]
    waiting.push(...links.filter(link => URL.canParse(link) && isPage(new URL(link))))
  }
  return [...visited].sort()
}

/**
 * Follow the links of the console and the parts that its pages load, without a browser, and load one page of each kind. `load` returns the text of a page.
 * CSV files and assets are left out. Returns the number of loaded pages.
 */
export const crawlConsole = async (
  base: string,
  starts: readonly string[],
  load: (kind: string, path: string) => Promise<string>,
): Promise<number> => {
  const loaded = new Set<string>()
  const waiting = [...starts]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const kind = kindOfPage(base + path)
    if (loaded.has(kind) || kind.startsWith('/console/assets') || path.includes('csv=')) continue
    loaded.add(kind)
    const text = await load(kind, path)
    for (const [, href = ''] of text.matchAll(/(?:href|data-load)="(\/console[^"#]*)["#]/g))
      waiting.push(href.replaceAll('&amp;', '&'))
  }
  return loaded.size
}
