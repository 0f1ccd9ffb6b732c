import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'
import { hasBrowser, launchBrowser } from '../../support/web/browser.ts'

/** Folder for screenshots, such as CONSOLE_SHOTS=/tmp/shots. */
const shots = process.env['CONSOLE_SHOTS']
const hourMs = 3_600_000

/** Start a local subscriber, which answers with `status` and records the received ids. */
const startSubscriber = async () => {
  const state = { status: 500, received: [] as string[] }
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => {
      state.received.push(String(request.headers['webhook-id']))
      response
        .writeHead(state.status, { 'content-type': 'text/plain' })
        .end(state.status === 500 ? 'the table of invoices is locked' : '')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { server, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

describe.skipIf(!hasBrowser)('the console in a browser', () => {
  const folder = dataFolder()
  let system: RunningSystem
  let client: Client
  let browser: Browser
  let subscriber: Awaited<ReturnType<typeof startSubscriber>>
  let home = ''
  /** Address of another host that serves only /logo.svg. */
  let pictures = ''
  let pictureServer: Server
  const address = (path: string): string => `${system.sandbox.base_url}${path}`

  beforeAll(async () => {
    system = await startPrepared(folder, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
    client = await login(system.sandbox)
    subscriber = await startSubscriber()
    browser = await launchBrowser()
    pictureServer = createServer((request, response) => {
      const svg =
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#c33"/></svg>'
      if (request.url === '/logo.svg') response.setHeader('Content-Type', 'image/svg+xml').end(svg)
      else response.writeHead(404).end()
    })
    await new Promise<void>(resolve => pictureServer.listen(0, '127.0.0.1', resolve))
    pictures = `http://127.0.0.1:${(pictureServer.address() as AddressInfo).port}/`
    home = await makeHome(client, { import: 0.3125 }, { reference_id: 'Depot Hamburg' })
    const now = Math.floor(Date.now() / hourMs) * hourMs
    const hours = Array.from({ length: 24 * 12 }, (_, n) => now - (n + 1) * hourMs)
    await client.submit(
      hours.map((at, n) => bought(home, 1 + (n % 9), new Date(at).toISOString(), new Date(at + hourMs).toISOString())),
    )
  }, 120_000)

  afterAll(async () => {
    await browser?.close()
    subscriber?.server.close()
    pictureServer?.close()
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })

  type Look = { readonly width: number; readonly colorScheme: 'light' | 'dark' }

  /** Sign in. `complaints` collects page errors and requests to other hosts. */
  const open = async ({ width, colorScheme }: Look, key = system.sandbox.test_key) => {
    const context: BrowserContext = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
    })
    const complaints: string[] = []
    const tab: Tab = await context.newPage()
    tab.on('console', message => message.type() === 'error' && complaints.push(message.text()))
    tab.on('pageerror', error => complaints.push(error.message))
    await tab.route('**', route => {
      const to = route.request().url()
      if (to.startsWith(address('/')) || to.startsWith('data:') || to.startsWith(pictures)) return route.continue()
      complaints.push(to)
      return route.abort()
    })
    await tab.goto(address('/console'))
    await tab.getByLabel('Account ID').fill(system.sandbox.account_id)
    await tab.getByLabel('API key').fill(key)
    await tab.getByRole('button', { name: 'Sign in with key' }).click()
    await tab.waitForURL('**/console')
    return { context, tab, complaints }
  }

  const look = async (tab: Tab, name: string): Promise<void> => {
    if (shots !== undefined) await tab.screenshot({ path: join(shots, `${name}.png`), fullPage: true })
  }

  const looks: readonly Look[] = [
    { width: 1280, colorScheme: 'light' },
    { width: 1280, colorScheme: 'dark' },
    { width: 360, colorScheme: 'light' },
    { width: 360, colorScheme: 'dark' },
  ]

  it.each(looks)(
    'fits and has no errors at $width px, $colorScheme',
    { timeout: 60_000 },
    async ({ width, colorScheme }) => {
      const { context, tab, complaints } = await open({ width, colorScheme })
      const paths = [
        '',
        '/locations',
        `/locations/${home}`,
        `/locations/${home}?hours=168&direction=EXPORT`,
        '/events',
        '/webhooks',
        '/keys',
        '/account',
        '/none',
      ]
      for (const path of paths) {
        await tab.goto(address(`/console${path}`))
        await look(tab, `${width}-${colorScheme}${path.replace(/\W/g, '-').replace(home, 'home')}`)
        expect(
          await tab.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
          path,
        ).toBe(0)
        expect(await tab.locator('.mode').first().isVisible(), path).toBe(true)
      }
      const ground = await tab.evaluate('getComputedStyle(document.body).backgroundColor')
      expect(ground).toBe(colorScheme === 'dark' ? 'rgb(12, 18, 16)' : 'rgb(255, 255, 255)')
      expect(complaints.filter(one => !one.includes('404'))).toEqual([])
      await context.close()
    },
  )

  it('names numbers and times of a compact row on a phone, and cuts off no column on a desktop', {
    timeout: 60_000,
  }, async () => {
    const { context, tab } = await open({ width: 390, colorScheme: 'light' })
    await client.ask('POST', '/customers', { reference_id: 'Phone customer' })
    await tab.goto(address('/console/customers'))
    const nameOf = (column: string) =>
      tab.evaluate(`getComputedStyle(document.querySelector('td[data-name="${column}"]'), '::before').content`)
    expect([await nameOf('Customer'), await nameOf('Locations'), await nameOf('Created')]).toEqual([
      'none',
      '"Locations"',
      '"Created"',
    ])
    await tab.setViewportSize({ width: 1280, height: 900 })
    await tab.goto(address('/console/audit-log'))
    const hidden = await tab.evaluate(
      `Math.max(...[...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth))`,
    )
    expect(hidden).toBe(0)
    await context.close()
  })

  it('draws prices and costs from their tables', { timeout: 60_000 }, async () => {
    const { context, tab } = await open({ width: 1280, colorScheme: 'light' })
    await tab.goto(address(`/console/locations/${home}`))
    await tab.waitForSelector('figure[data-of=costs] canvas')
    const inked = await tab.evaluate(`[...document.querySelectorAll('figure canvas')].map(canvas => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      return data.some((value, place) => place % 4 === 3 && value > 0)
    })`)
    expect(inked).toEqual([true, true])
    expect(await tab.locator('#prices tbody tr').first().locator('td').first().textContent()).toBe('0.3125')
    const { data } = (await client.ask('POST', `/costs/interval/${home}?aggregation=DAY`, {
      start_time: new Date(Date.now() - 3 * 24 * hourMs).toISOString(),
      end_time: new Date().toISOString(),
    })) as { readonly data: readonly { readonly tariff: { readonly cost: { readonly value: number } } }[] }
    const yesterday = String(data.at(-2)?.tariff.cost.value)
    const cost = tab.locator('#costs tbody tr').nth(-2).locator('data')
    expect(await cost.getAttribute('value')).toBe(yesterday)
    expect(await cost.textContent()).toMatch(/^\d+\.\d\d\sEUR$/)
    await context.close()
  })

  it('adds new events to the page until it is paused', { timeout: 60_000 }, async () => {
    const { context, tab } = await open({ width: 1280, colorScheme: 'light' })
    await tab.goto(address('/console/events'))
    const { id } = (await client.ask('POST', '/devices', { reference_id: 'seen live' })) as { readonly id: string }
    await tab.waitForSelector(`#tail tr:first-child:has-text("${id}")`)
    expect(await tab.locator('#news').textContent()).toBe('1 new event')
    await tab.getByRole('button', { name: 'Pause' }).click()
    const rows = await tab.locator('#tail tbody tr').count()
    await client.ask('DELETE', `/devices/${id}`)
    await tab.waitForTimeout(3_000)
    expect(await tab.locator('#tail tbody tr').count()).toBe(rows)
    await tab.getByRole('button', { name: 'Resume' }).click()
    await tab.waitForSelector('#tail tr:first-child:has-text("device.delete")')
    await context.close()
  })

  it('shows the saved logo of the account, and initials if it cannot be loaded', {
    timeout: 60_000,
  }, async () => {
    const { context, tab, complaints } = await open({ width: 360, colorScheme: 'light' }, system.sandbox.live_key)
    await tab.goto(address('/console/account'))
    const source = () => tab.locator('img.logo').getAttribute('src')
    const save = async (logo: string) => {
      await tab.getByLabel('Logo').fill(logo)
      await tab.getByRole('button', { name: 'Save brand' }).click()
      expect(await tab.getByRole('status').textContent()).toBe('Brand saved.')
    }
    expect(await source()).toMatch(/^data:image/)
    await save(`${pictures}logo.svg`)
    await expect.poll(source).toBe(`${pictures}logo.svg`)
    await look(tab, 'account-logo')
    const answered = tab.waitForResponse(`${pictures}gone.svg`)
    await save(`${pictures}gone.svg`)
    expect((await answered).status()).toBe(404)
    await tab.waitForTimeout(200)
    expect(await source()).toMatch(/^data:image/)
    await save('')
    expect(await tab.getByLabel('Logo').inputValue()).toBe('')
    expect(complaints.filter(one => !one.includes('404'))).toEqual([])
    await context.close()
  })

  it('adds an endpoint, shows why deliveries fail, and resends them after the repair', {
    timeout: 180_000,
  }, async () => {
    const { context, tab, complaints } = await open({ width: 1280, colorScheme: 'light' })
    await tab.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await tab.getByLabel('Endpoint URL').fill(subscriber.url)
    await tab.getByLabel('Event types').fill('customer.*')
    await tab.getByLabel('Description').fill('Invoices')
    await tab.getByRole('button', { name: 'Add endpoint' }).click()
    expect(await tab.locator('.secret').textContent()).toMatch(/^whsec_/)
    await look(tab, 'story-1-added')
    await client.ask('POST', '/customers', { reference_id: 'notified' })
    await expect.poll(() => subscriber.state.received.length, { timeout: 40_000 }).toBeGreaterThan(0)
    const endpointLink = tab.getByRole('link', { name: subscriber.url })
    await endpointLink.click()
    const path = tab.url()
    const failing = async () => {
      await tab.goto(path)
      return (await tab.locator('main').textContent())?.includes('failing')
    }
    await expect.poll(failing, { timeout: 40_000 }).toBe(true)
    expect(await tab.locator('.notice.bad').textContent()).toMatch(/returned status 500/)
    await look(tab, 'story-2-failing')
    await tab.locator('td a').first().click()
    await tab.locator('summary').first().click()
    expect(await tab.locator('main').textContent()).toContain('the table of invoices is locked')
    expect(await tab.locator('tbody tr').first().textContent()).toMatch(/failed.*500/)
    expect(await tab.locator('.facts').textContent()).toMatch(/failing.*customer\.create/)
    await look(tab, 'story-3-attempts')
    subscriber.state.status = 204
    await tab.getByRole('button', { name: 'Resend' }).click()
    expect(await tab.getByRole('status').textContent()).toContain('Resend requested.')
    await tab.reload()
    expect(await tab.getByRole('heading', { level: 1 }).textContent()).toBe('Delivery')
    const delivered = async () => {
      await tab.goto(path)
      return tab.locator('tbody tr').first().textContent()
    }
    await expect.poll(delivered, { timeout: 40_000 }).toMatch(/delivered/)
    await look(tab, 'story-4-delivered')
    expect(new Set(subscriber.state.received).size).toBe(1)
    await tab.getByRole('button', { name: 'Send test event' }).click()
    await expect.poll(() => new Set(subscriber.state.received).size, { timeout: 40_000 }).toBe(2)
    await tab.getByRole('button', { name: 'Rotate secret' }).click()
    expect(await tab.locator('.secret').textContent()).toMatch(/^whsec_/)
    await tab.getByLabel('Event types').fill('customer.*, device.*')
    await tab.getByRole('button', { name: 'Save changes' }).click()
    expect(await tab.getByRole('status').textContent()).toBe('Endpoint updated.')
    await tab.getByRole('button', { name: 'Disable' }).click()
    expect(await tab.locator('.facts').textContent()).toContain('disabled')
    await tab.getByRole('button', { name: 'Enable' }).click()
    await tab.getByRole('link', { name: 'Delete' }).click()
    await tab.getByLabel(/^Type .* to confirm$/).fill('another host')
    await tab.getByRole('button', { name: 'Delete endpoint' }).click()
    expect(await tab.locator('#confirm-fault').textContent()).toContain(new URL(subscriber.url).host)
    await tab.getByLabel(/^Type .* to confirm$/).fill(new URL(subscriber.url).host)
    await tab.getByRole('button', { name: 'Delete endpoint' }).click()
    expect(await tab.getByRole('status').textContent()).toBe('Endpoint deleted.')
    expect(await endpointLink.count()).toBe(0)
    expect(complaints.filter(one => !one.includes('400'))).toEqual([])
    await context.close()
  })
})
