import { Readable } from 'node:stream'
import { beforeAll, describe, expect, it } from 'vitest'
import { readCsv } from '../../../services/interchange/platform/csv.ts'
import { createIds, type Ids } from '../../support/registry/isolation-fixture.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { paths, signIn, type Visitor } from '../../support/web/console-visitor.ts'
import { crawlConsole } from '../../support/web/crawl.ts'

const system = useSharedSystem()

/** Tables without a CSV file. The page has this text instead. */
const exceptions: Readonly<Record<string, string>> = {
  // These links lead to the same figures with a CSV file.
  'chart prices': '>View prices</a>',
  'chart costs': '>View costs</a>',
  // The rows are inputs of a form.
  'form Prices': '<form',
}

type FoundTable = { readonly name: string; readonly id: string | null; readonly rowCount: number }

const countOf = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length

/** Find the tables of a page. The name says what an exception is. */
const tablesOf = (page: string): readonly FoundTable[] =>
  [...page.matchAll(/aria-label="([^"]*)"><table([^>]*)>([\s\S]*?)<\/table>/g)].map(
    ([, label, attributes = '', rows = '']) => {
      const [, id = null] = /id="([^"]+)"/.exec(attributes) ?? []
      const isChart = page.includes(`data-of="${id}"`)
      const kind = isChart ? `chart ${id}` : rows.includes('<input') ? `form ${label}` : label
      const [, body = ''] = /<tbody>([\s\S]*)<\/tbody>/.exec(rows) ?? []
      return { name: kind ?? '', id, rowCount: countOf(body, /<tr[ >]/g) }
    },
  )

/** Return the address of the CSV file that a page offers for a table. */
const fileOf = (page: string, id: string | null): string | null => {
  const links = [...page.matchAll(/<a href="([^"]+)" download>/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
  return links.find(href => new URL(href, 'http://console').searchParams.get('csv') === id) ?? null
}

const form = { delimiter: ',', encoding: null, skipLines: 0 }

/** Read the rows of a CSV file. */
const rowsOf = async (text: string): Promise<readonly (readonly string[])[]> =>
  (await Array.fromAsync(readCsv(Readable.from([Buffer.from(text)]), form))).flat().map(({ cells }) => cells)

const linked = '/console/overview/costs?zone=UTC&currencies=EUR'
let [visitor, client] = [] as unknown as [Visitor, Client]
let ids: Ids = {}
let plant = ''

/** Create a location with a peak in September 2025 and energy of the last days. */
const createPlant = async (): Promise<string> => {
  const location = await makeHome(client, { import: 0.2 })
  const demand = { kind: 'DEMAND', name: 'Peak power', component: 'grid', price: 8, interval_minutes: 15, per: 'MONTH' }
  await client.ask('POST', '/charges', { location_id: location, start_date: '2025-09-01', ...demand })
  const at = (hours: number): string => new Date(Math.floor(Date.now() / 3_600_000 - hours) * 3_600_000).toISOString()
  await client.submit([
    bought(location, 9, '2025-09-03T10:00:00Z', '2025-09-03T10:15:00Z'),
    bought(location, 4, at(49), at(48)),
  ])
  return location
}

beforeAll(async () => {
  const sandbox = system.sandbox()
  client = await system.login()
  visitor = await signIn(sandbox.base_url, sandbox.account_id, sandbox.test_key)
  ids = await createIds(sandbox, 'test', 'session-csv')
  plant = await createPlant()
}, 240_000)

describe('the tables of the console', () => {
  it('have a CSV file with all their rows, on each page', { timeout: 240_000 }, async () => {
    const calendar = await makeOne(client, '/calendars', {
      name: 'Berlin',
      country_code: 'DE',
      day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
    })
    const faults: string[] = []
    const found = new Set<string>()
    const starts = [
      ...[`/console/calendars/${calendar}`, `/console/schedules/${ids['sae']}`, linked, `/console/locations/${plant}`],
      ...[`/console/webhooks/${ids['whe']}/deliveries/${ids['whd']}`, '/console/find?query=session', ...paths],
      `/console/statements?location_id=${plant}&start=2025-09-01&plan=${ids['pln']}`,
      `/console/costs?object=${plant}`,
      `/console/records?location_id=${ids['loc']}`,
    ]
    const { base_url: base } = system.sandbox()
    const count = await crawlConsole(base, starts, async (kind, path) => {
      const { text } = await visitor.get(path)
      expect(countOf(text, /<table/g), kind).toBe(tablesOf(text).length)
      for (const { name, id, rowCount } of tablesOf(text)) {
        found.add(name in exceptions ? name : (id ?? name))
        if (name in exceptions) {
          expect(text).toContain(exceptions[name])
          continue
        }
        const file = fileOf(text, id)
        if (file === null) {
          faults.push(`${kind}: the table ${name} has no CSV file`)
          continue
        }
        const csv = await visitor.get(file)
        const rows = await rowsOf(csv.text)
        if (csv.headers.get('content-type') !== 'text/csv; charset=utf-8') faults.push(`${file}: no CSV`)
        if (rows.length - 1 < rowCount) faults.push(`${file}: ${rows.length - 1} of ${rowCount} rows`)
        if (rows.some(row => row.length !== rows[0]?.length)) faults.push(`${file}: rows of different lengths`)
      }
      return text
    })
    expect(faults).toEqual([])
    expect(count).toBeGreaterThan(60)
    expect([...found].sort()).toEqual(
      expect.arrayContaining([
        ...['events', 'latest-events', 'overview-costs', 'attempts', 'deliveries', 'webhooks', 'changes', 'schedules'],
        ...Object.keys(exceptions),
        ...[
          'costs',
          'simulated-lines',
          'runs',
          'windows',
          'keys',
          'holidays',
          'special-days',
          'peak-1',
          'lines',
          'records',
          'locations',
        ],
      ]),
    )
  })

  it('say in the name and a header of the file whether more rows follow', async () => {
    for (let index = 0; index < 31; index += 1) await client.ask('POST', '/customers', { reference_id: `c-${index}` })
    const first = await visitor.get('/console/customers?csv=customers')
    expect(first.headers.get('x-has-more')).toBe('true')
    expect(first.headers.get('content-disposition')).toBe('attachment; filename="customers-more-follows.csv"')
    const { text } = await visitor.get('/console/customers')
    const [, older = ''] = /rel="next" href="([^"]+)"/.exec(text) ?? []
    const last = await visitor.get(`${older}&csv=customers`)
    expect(last.headers.get('x-has-more')).toBe('false')
    expect(last.headers.get('content-disposition')).toBe('attachment; filename="customers.csv"')
    expect((await rowsOf(first.text)).length + (await rowsOf(last.text)).length - 2).toBeGreaterThan(31)
  })

  it('protect a spreadsheet from formulas, and have the data of events', async () => {
    const device = await makeOne(client, '/devices', { reference_id: '=HYPERLINK("http://example.com")' })
    const { text } = await visitor.get(`/console/events?object_id=${device}&csv=events`)
    const [names, row] = await rowsOf(text)
    expect(names).toEqual(['time_created', 'type', 'object', 'id', 'data'])
    expect(JSON.parse(row?.[4] ?? '')).toMatchObject({ id: device, reference_id: '=HYPERLINK("http://example.com")' })
    const devices = await visitor.get('/console/devices?csv=devices')
    expect((await rowsOf(devices.text)).flat()).toContain(`'=HYPERLINK("http://example.com")`)
  })

  it('keep the address of the page after an action', async () => {
    const keys = await visitor.send('/console/keys', '/console/keys', { scope: 'read', description: '=1+1' })
    const file = fileOf(keys.text, 'keys')
    expect(file).toBe('/console/keys?csv=keys')
    const csv = await visitor.get(file ?? '')
    expect((await rowsOf(csv.text)).flat()).toContain("'=1+1")
    const [, secret = ''] = /<code class="secret">([^<]+)</.exec(keys.text) ?? []
    expect(secret).not.toBe('')
    expect(csv.text).not.toContain(secret)
  })
})
