import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const days = 'from=2026-03-10&to=2026-03-11&by=DAY'

let visitor: Visitor
let client: Client

beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
})

/** Text of the cells of the table of costs, row by row. */
const rowsOf = async (home: string): Promise<readonly string[]> => {
  const { status, text } = await visitor.get(`/console/costs?object=${home}&${days}`)
  expect(status, text).toBe(200)
  const [, body = ''] = /<table[^<>]*id="costs">[\s\S]*?<tbody>([\s\S]*?)<\/tbody>/.exec(text) ?? []
  return body.split('</tr>').map(row =>
    row
      .replace(/<[^<>]*>|&nbsp;/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}

const record = (home: string, day: number, hour: number) =>
  bought(home, 1, `2026-03-${day}T${hour}:00:00Z`, `2026-03-${day}T${hour + 1}:00:00Z`)

describe('the page of costs', () => {
  it('says that records have no price, and calls no price a forecast that is known', async () => {
    const home = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    // Prices begin at 13:00 in Berlin on the second day: one of its two records has a price.
    await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.3),
      contract_start_date: '2026-03-11T12:00:00Z',
    })
    await client.submit([record(home, 10, 10), record(home, 11, 10), record(home, 11, 14)])
    const [first = '', second = ''] = await rowsOf(home)
    expect(first).toMatch(/ 0 kWh no price 1 1 kWh$/)
    expect(second).toMatch(/ 1 kWh 0\.30 EUR 2 1 kWh$/)
    expect(first + second).not.toContain('forecast')
    const account = await visitor.get(`/console/costs/sums?${days}`)
    expect(account.text).toMatch(/Costs of the locations(?:'|&#39;) own records\./)
  })

  it('says which energy is estimated and which has a forecast price', async () => {
    const home = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    // The contract ends with the first day. Its prices go on, and can still change.
    await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.3),
      contract_end_date: '2026-03-11T00:00:00+01:00',
    })
    await client.submit([{ ...record(home, 10, 10), confidence: 0.5 }, record(home, 11, 10)])
    const [first = '', second = ''] = await rowsOf(home)
    expect(first).toMatch(/ 1 kWh 0\.30 EUR estimated 1$/)
    expect(second).toMatch(/ 1 kWh 0\.30 EUR forecast 1$/)
    const { text } = await visitor.get(`/console/costs?object=${home}&${days}`)
    expect(text).toMatch(/<dt>Estimated energy<\/dt><dd><data [^>]*>1&nbsp;kWh/)
    expect(text).toMatch(/<dt>Energy with a forecast price<\/dt><dd><data [^>]*>1&nbsp;kWh/)
    const records = await visitor.get(`/console/records?location_id=${home}`)
    const tags = [...records.text.matchAll(/<span class="tag [a-z]+">([a-z ]+)</g)].map(([, tag]) => tag)
    expect(tags).toEqual(['forecast', 'priced', 'estimated'])
  })

  it('reads the days of the zone of the location, also of one whose zone it knew before', async () => {
    const home = await makeHome(client, { import: 0.3 })
    // 23:30 in UTC is on the next day in Berlin.
    await client.submit([bought(home, 1, '2026-03-09T23:15:00Z', '2026-03-09T23:30:00Z')])
    const first = await rowsOf(home)
    expect(first[0]).toMatch(/ 1 kWh 0\.30 EUR 1$/)
    expect(await rowsOf(home)).toEqual(first)
  })

  it('loads the costs of the account and of a customer after the page, or with it', async () => {
    const customer = await makeOne(client, '/customers', { reference_id: 'Tenant of the costs' })
    const home = await makeHome(client, { import: 0.3 }, { customer_id: customer })
    await client.submit([record(home, 20, 10)])
    const day = 'from=2026-03-20&to=2026-03-20&by=DAY'
    for (const [object, name] of [
      ['', 'Costs of the account'],
      [customer, 'Tenant of the costs'],
    ] as const) {
      const page = await visitor.get(`/console/costs?object=${object}&${day}`)
      expect(page.text).toContain(name)
      expect(page.text).toContain('name="from" type="date" value="2026-03-20"')
      expect(page.text).not.toContain('0.30')
      const [, part = ''] = /data-load="([^"]*)"/.exec(page.text) ?? expect.fail(page.text)
      const [, whole = ''] = /<a href="([^"]*)">Load the costs with the page/.exec(page.text) ?? expect.fail(page.text)
      const [partText, wholeText] = await Promise.all(
        [part, whole].map(async address => (await visitor.get(address.replaceAll('&amp;', '&'))).text),
      )
      for (const text of [partText, wholeText]) {
        expect(text).toMatch(/title="Exact: 0\.3 EUR">0\.30&nbsp;EUR/)
        // Links of the table lead to the page, not to the part.
        expect(text).toMatch(/href="\/console\/costs\?[^"]*sort-costs=cost"/)
        expect(text).toContain('/costs/interval/')
      }
      const csv = await visitor.get(`/console/costs?object=${object}&${day}&csv=costs`)
      expect(csv.text).toMatch(/^start_time,energy_wh,cost,records\r\n2026-03-20T00:00:00\S*,1000,0\.3,1\r\n$/)
    }
    const unknown = await visitor.get('/console/costs/sums?object=cus_000000000000000000000000')
    expect(unknown.text).toContain('role="alert"')
  })

  it('leads to records only from days that have some, and finds records by days', async () => {
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([record(home, 10, 10)])
    const { text } = await visitor.get(`/console/costs?object=${home}&${days}`)
    expect([...text.matchAll(/href="\/console\/records\?/g)].length).toBe(2)
    const rowsOfRecords = async (query: string) =>
      (await visitor.get(`/console/records?location_id=${home}&${query}&csv=records`)).text.trim().split('\r\n')
        .length - 1
    expect(await rowsOfRecords('start_time=2026-03-10&end_time=2026-03-11')).toBe(1)
    expect(await rowsOfRecords('start_time=2026-03-11')).toBe(0)
    const corrections = await visitor.get('/console/corrections?start_time=2026-03-10')
    expect(corrections.status).toBe(200)
  })
})
