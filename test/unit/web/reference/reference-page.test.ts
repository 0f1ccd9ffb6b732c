import { createHash } from 'node:crypto'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { openApiDocument } from '../../../../services/contract/openapi/openapi.ts'
import { operations } from '../../../../services/operations.ts'
import { createApp } from '../../../../services/platform/http/app.ts'
import { type Listener, listen } from '../../../../services/platform/http/listen.ts'
import { documentRoute } from '../../../../services/platform/http/static-routes.ts'
import { notFoundPage } from '../../../../services/web/reference/landing.ts'
import { referencePages } from '../../../../services/web/reference/reference-page.ts'
import { testApp } from '../../../support/http/http-app.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'

const ports = { ...testApp().ports, notFoundPage }
const app = createApp([], referencePages(operations), ports)
const paths = ['/', '/docs/api', '/docs/api/earlier'] as const
const idsOf = (apiVersion: (typeof apiVersions)[number]) =>
  operations.filter(one => one.routes[apiVersion].length > 0).map(one => one.id)

describe.each(paths)('%s', path => {
  it('links only to the service, and its policy allows no request', async () => {
    const response = await app.request(path)
    const markup = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    for (const [, address = ''] of markup.matchAll(/\s(?:src|href|action)="([^"]*)"/g))
      expect(address).toMatch(/^(#|\/(?!\/)|data:)/)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    for (const kind of ['style', 'script']) {
      const [, content = ''] = markup.match(new RegExp(`<${kind}>([^]*?)</${kind}>`)) ?? []
      expect(policy).toContain(`${kind}-src 'sha256-${createHash('sha256').update(content).digest('base64')}'`)
    }
    expect(markup.replace(/<script>[\s\S]*?<\/script>/, '')).not.toMatch(/\sstyle="|\son\w+="|undefined|\[object/)
  })
})

describe('the former address of the earlier reference', () => {
  it('redirects, so that bookmarks of its operations stay valid', async () => {
    const { status, headers } = await app.request('/docs/earlier')
    expect([status, headers.get('location')]).toEqual([308, '/docs/api/earlier'])
  })
})

describe('an unknown path', () => {
  const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  it('is a page for browsers, and the error object for other clients', async () => {
    const page = await app.request('/nowhere', { headers: { accept: browserAccept } })
    expect([page.status, page.headers.get('content-type'), page.headers.get('vary')]).toEqual([
      404,
      'text/html; charset=utf-8',
      'Accept, Accept-Encoding',
    ])
    expect(await page.text()).toContain('Page not found')
    const requests = [{}, { headers: { accept: '*/*' } }, { headers: { accept: 'application/json' } }]
    for (const request of [...requests, { method: 'POST', headers: { accept: browserAccept } }]) {
      const answer = await app.request('/nowhere', request)
      expect([answer.status, await answer.json()]).toMatchObject([404, { object: 'error', code: 'not_found' }])
    }
  })

  it.each(['/docs/api/', '/docs/api/earlier/'])('does not include pages with a trailing slash: %s', async path => {
    expect((await app.request(path)).status).toBe(200)
  })
})

describe.skipIf(!hasBrowser)('in a browser', () => {
  let browser: Browser
  let listener: Listener
  const base = (): string => `http://127.0.0.1:${listener.port}`

  beforeAll(async () => {
    listener = await listen(app, { host: '127.0.0.1', port: 0 }, ports)
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.close(1_000)
  })

  /** Open a page. `complaints` collects errors and requests to other hosts. */
  const open = async (
    path: string,
    width = 1440,
  ): Promise<{ readonly tab: Tab; readonly complaints: readonly string[] }> => {
    const tab = await browser.newPage({ viewport: { width, height: 900 }, reducedMotion: 'reduce' })
    const complaints: string[] = []
    tab.on('console', message => message.type() === 'error' && complaints.push(message.text()))
    tab.on('pageerror', error => complaints.push(error.message))
    await tab.route('**', route => {
      const address = route.request().url()
      if (address.startsWith(`${base()}/`)) return route.continue()
      complaints.push(address)
      return route.abort()
    })
    await tab.goto(`${base()}${path}`)
    return { tab, complaints }
  }

  it.each(paths)('%s loads without errors and fits screens of 360 and 1440 px', async path => {
    for (const width of [360, 1440]) {
      const { tab, complaints } = await open(path, width)
      expect(complaints).toEqual([])
      expect(await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
      await tab.close()
    }
  })

  it.each(apiVersions)(
    'the reference of the %s API version shows and links each of its operations',
    async apiVersion => {
      const { tab } = await open(apiVersion === 'current' ? '/docs/api' : '/docs/api/earlier')
      const shown = await tab
        .locator('section.operation:not(.chapter)')
        .evaluateAll(sections => sections.map(section => section.id))
      expect(shown.toSorted()).toEqual(idsOf(apiVersion).toSorted())
      const targets = await tab
        .locator('.contents a')
        .evaluateAll(links => links.map(link => link.getAttribute('href')))
      expect(targets).toEqual(expect.arrayContaining(shown.map(id => `#${id}`)))
      await tab.locator('.contents a[href="#tariff_create"]').click()
      await tab.waitForSelector('.contents a[href="#tariff_create"][aria-current]')
      expect(await tab.locator('#tariff_create h3').isVisible()).toBe(true)
      await tab.locator('.layouts a:not([aria-current])').click()
      await tab.waitForURL(apiVersion === 'current' ? '**/docs/api/earlier#tariff_create' : '**/docs/api#tariff_create')
      await tab.close()
    },
  )

  it('the filter has a shortcut, filters the contents and shows the count', async () => {
    const { tab } = await open('/docs/api')
    const all = await tab.locator('.contents li:visible').count()
    await tab.keyboard.press('/')
    await tab.keyboard.type('delete /customers')
    expect(await tab.locator('.contents li:visible').allInnerTexts()).toEqual([
      expect.stringContaining('Delete a customer'),
    ])
    expect(await tab.locator('.contents h2:visible').allInnerTexts()).toEqual(['Customers'])
    expect(await tab.locator('#found').textContent()).toBe('1 entry')
    await tab.keyboard.press('Enter')
    expect(new URL(tab.url()).hash).toBe('#customer_delete')
    await tab.locator('#filter').fill('no such thing')
    expect(await tab.locator('#found').textContent()).toBe('No matches')
    await tab.locator('#filter').press('Escape')
    expect(await tab.locator('.contents li:visible').count()).toBe(all)
    await tab.close()
  })

  it.each(['/docs/api', '/docs/api/', '/docs/api/earlier', '/docs/api/earlier/'])(
    'requests use the address of %s',
    async path => {
      const { tab } = await open(path)
      expect(await tab.locator('#customer_create pre').first().textContent()).toMatch(`curl ${base()}/customers \\\n`)
      expect(
        await tab
          .locator('.base')
          .evaluateAll((places, address) => places.every(place => place.textContent === address), base()),
      ).toBe(true)
      await tab.close()
    },
  )

  it('the bar has margins and one line at 360 px', async () => {
    const { tab } = await open('/docs/api', 360)
    const [menu, place] = await Promise.all(['#menu', '.place'].map(name => tab.locator(name).boundingBox()))
    expect((menu?.x ?? 0) + (menu?.width ?? 0)).toBeLessThanOrEqual(360 - 16)
    expect(place?.height ?? 0).toBeLessThan(30)
    await tab.close()
  })

  it.each([360, 1280])('each event type is on one line, above its description, at %d px', async width => {
    const { tab } = await open('/docs/api', width)
    const names = tab.locator('#event-types dt')
    expect(await names.count()).toBeGreaterThan(20)
    for (const { height } of await Promise.all(
      (await names.all()).map(async one => (await one.boundingBox()) ?? { height: 0 }),
    )) {
      expect(height).toBeGreaterThan(10)
      expect(height).toBeLessThan(36)
    }
    await tab.close()
  })

  it('a small screen opens the contents on demand and closes them after a click', async () => {
    const { tab } = await open('/docs/api', 390)
    const link = tab.locator('.contents a[href="#location_create"]')
    expect(await link.isVisible()).toBe(false)
    await tab.locator('#menu').click()
    expect(await tab.locator('#menu').getAttribute('aria-expanded')).toBe('true')
    await link.click()
    expect(await link.isVisible()).toBe(false)
    expect(await tab.locator('#location_create h3').isVisible()).toBe(true)
    await tab.close()
  })
})

describe('pages that are created at the first request', () => {
  it('are created in several turns of the event loop', async () => {
    const pages = [
      documentRoute('/openapi.json', nextTurn => openApiDocument(operations, 'current', '/', nextTurn)),
      ...referencePages(operations),
    ]
    for (const page of pages.filter(({ path }) => path.startsWith('/docs/api') || path.startsWith('/openapi'))) {
      let eventLoopTurns = 0
      let isOver = false
      const count = (): void => {
        eventLoopTurns += 1
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const read = () => page.read(page.path, new URLSearchParams())
      const [first, second] = await Promise.all([read(), read()])
      isOver = true
      expect(second).toBe(first)
      expect(eventLoopTurns, page.path).toBeGreaterThan(3)
    }
  })
})
