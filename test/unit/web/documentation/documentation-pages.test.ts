import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../../services/operations.ts'
import { createApp } from '../../../../services/platform/http/app.ts'
import { type Listener, listen } from '../../../../services/platform/http/listen.ts'
import { documentationPages } from '../../../../services/web/documentation/documentation-pages.ts'
import { renderPage } from '../../../../services/web/documentation/markdown.ts'
import { notFoundPage } from '../../../../services/web/reference/landing.ts'
import { referencePages } from '../../../../services/web/reference/reference-page.ts'
import { testApp } from '../../../support/http/http-app.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'

const ports = { ...testApp().ports, notFoundPage }
const app = createApp([], [...referencePages(operations), ...documentationPages(operations)], ports)
const files = globSync('docs/**/*.md').map(path => path.slice('docs/'.length))
const addressOf = (file: string): string => (file === 'README.md' ? '/docs' : `/docs/${file.slice(0, -3)}`)

const read = async (address: string): Promise<string> => {
  const response = await app.request(address)
  expect([address, response.status]).toEqual([address, 200])
  return response.text()
}

const resultsOf = async (query: string): Promise<readonly string[]> => {
  const markup = await read(`/docs/search?q=${encodeURIComponent(query)}`)
  const results = markup.slice(markup.indexOf('<ol class="results">'))
  return [...results.matchAll(/<li><a href="([^"]*)"/g)].map(([, address = '']) => address)
}

describe('the documentation', () => {
  it('serves each page of docs/, and its links lead to pages and headings', async () => {
    expect(files.length).toBeGreaterThan(25)
    const pages = new Map<string, string>()
    for (const file of files) pages.set(addressOf(file), await read(addressOf(file)))
    for (const path of ['/docs/api', '/docs/api/earlier']) pages.set(path, await read(path))
    const faults: string[] = []
    for (const [page, markup] of pages) {
      for (const [, link = ''] of markup.matchAll(/\shref="([#/][^"]*)"/g)) {
        const [path = '', fragment = ''] = link.split('#')
        const target = path === '' ? markup : (pages.get(path) ?? '')
        const isOther = !path.startsWith('/docs') && path !== ''
        if (!isOther && (target === '' || (fragment !== '' && !target.includes(` id="${fragment}"`))))
          faults.push(`${page}: ${link}`)
      }
    }
    expect(faults).toEqual([])
  })

  it('lists each page in its navigation', async () => {
    const markup = await read('/docs')
    const navigation = markup.slice(markup.indexOf('<nav'), markup.indexOf('</nav>'))
    const missing = files.map(addressOf).filter(address => !navigation.includes(`href="${address}"`))
    expect(missing).toEqual([])
  })

  it('serves its images, as images only', async () => {
    for (const path of globSync('docs/**/*.{png,svg}')) {
      const { status, headers } = await app.request(`/${path}`)
      expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^image\/(png|svg\+xml)$/)])
      expect(headers.get('content-security-policy')).toContain('sandbox')
    }
  })

  it.each([
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/rules',
    '/docs/README',
    '/docs/rules/costs.md',
  ])('serves no other file: %s', async path => {
    expect((await app.request(path)).status).toBe(404)
  })

  it('has a policy that allows own images, own forms, and no request of a script', async () => {
    const policy = (await app.request('/docs')).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; style-src 'sha256-")
    expect(policy).toContain("form-action 'self'")
    expect(policy).not.toMatch(/unsafe|connect-src|https?:/)
  })

  it('does not depend on the working directory', () => {
    const module = new URL('../../../../services/web/documentation/documentation-pages.ts', import.meta.url)
    const program = `import { documentationPages } from '${module}'
const page = await documentationPages([]).find(({ path }) => path === '/docs').read('/docs', new URLSearchParams())
process.stdout.write(page.body)`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: tmpdir() })
    expect(output.toString()).toContain('href="/docs/rules/costs"')
  })
})

describe('the search', () => {
  it.each([
    ['standing charge VAT', '/docs/whole-bill'],
    ['idempotency key', '/docs/rules/versions-and-transport#idempotency'],
    ['Create a webhook endpoint', '/docs/api#webhook_create'],
    ['tarifs', '/docs/rules/tariffs'],
    ['fall-back hour october', '/docs/'],
  ])('finds %j in %s', async (query, address) => {
    expect((await resultsOf(query)).slice(0, 8)).toContainEqual(expect.stringContaining(address))
  })

  it('shows a query as text', async () => {
    const markup = await read(`/docs/search?q=${encodeURIComponent('"><script>alert(1)</script> tariff')}`)
    expect(markup).not.toContain('<script>alert')
    expect(markup).toContain('value="&quot;&gt;&lt;script&gt;')
  })

  it('without a match or without words explains the next step', async () => {
    expect(await read('/docs/search?q=zzzzqqqq')).toContain('No results.')
    for (const query of ['', '?q=', '?q=%20..%20']) expect(await read(`/docs/search${query}`)).toContain('Enter one')
  })

  it('looks at the first 200 characters and 10 words, and answers at once', async () => {
    const words = Array.from({ length: 400 }, (_, index) => `t${index}`).join(' ')
    await read('/docs/search?q=tariff')
    const startedAt = performance.now()
    await read(`/docs/search?q=${encodeURIComponent(words)}`)
    await read(`/docs/search?q=${'a'.repeat(3000)}`)
    expect(performance.now() - startedAt).toBeLessThan(3000)
    expect(await resultsOf(`${'a '.repeat(10)}tariff`)).toEqual(await resultsOf('a '.repeat(10)))
  })
})

describe('a page', () => {
  it('shows HTML as text, and never runs it', () => {
    const { markup } = renderPage('# A\n\n<script>x</script>\n\nb <img src=x onerror=y> c', () => null)
    expect(markup).not.toMatch(/<script|<img/)
    expect(markup).toContain('&lt;script&gt;')
  })

  it('gives repeated headings the anchors of GitHub', () => {
    const { markup, sections } = renderPage('# A\n\n## B `c`\n\nx\n\n## B `c`\n\ny', () => null)
    expect([...markup.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)).toEqual(['a', 'b-c', 'b-c-1'])
    expect(sections.map(({ anchor, text }) => [anchor, text.trim()])).toEqual([
      ['', ''],
      ['b-c', 'x'],
      ['b-c-1', 'y'],
    ])
  })

  it('replaces links to files that the service does not serve by their text', () => {
    expect(renderPage('# A\n\n[code](../services/a.ts)', () => null).markup).toContain(
      '<span class="file" title="../services/a.ts, in the repository">code</span>',
    )
    expect(renderPage('# A\n\n[x](javascript:alert%281%29)', () => null).markup).not.toContain('href="javascript')
  })
})

describe.skipIf(!hasBrowser)('in a browser', () => {
  let browser: Browser
  let listener: Listener

  beforeAll(async () => {
    listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.close(1_000)
  })

  it.each(['light', 'dark'] as const)('pages fit 390 px without errors: %s', async colorScheme => {
    const tab = await browser.newPage({ viewport: { width: 390, height: 800 }, colorScheme })
    const errors: string[] = []
    tab.on('console', message => message.type() === 'error' && errors.push(message.text()))
    tab.on('pageerror', error => errors.push(error.message))
    const wide: string[] = []
    const addresses = colorScheme === 'light' ? files.map(addressOf) : ['/docs']
    for (const address of [...addresses, '/docs/search?q=tariff']) {
      await tab.goto(`http://127.0.0.1:${listener.port}${address}`)
      const excess = await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      if (excess !== 0) wide.push(`${address}: ${excess} px`)
    }
    expect([errors, wide]).toEqual([[], []])
    await tab.close()
  })

  it('a search works without JavaScript', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const tab = await context.newPage()
    await tab.goto(`http://127.0.0.1:${listener.port}/docs`)
    await tab.locator('#search').fill('idempotency')
    await tab.locator('#search').press('Enter')
    await tab.locator('.results a').first().click()
    expect(await tab.locator('article h1').count()).toBe(1)
    await context.close()
  })
})
