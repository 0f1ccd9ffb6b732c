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
      ...{ location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.3) },
      contract_start_date: '2026-03-11T12:00:00Z',
    })
    await client.submit([record(home, 10, 10), record(home, 11, 10), record(home, 11, 14)])
    const [first = '', second = ''] = await rowsOf(home)
    expect(first).toMatch(/ 0 kWh no price 1 1 kWh$/)
    expect(second).toMatch(/ 1 kWh 0\.30 EUR 2 1 kWh$/)
    expect(first + second).not.toContain('forecast')
  })

  it('reads the days of the zone of the location, also of one whose zone it knew before', async () => {
    const home = await makeHome(client, { import: 0.3 })
    // 23:30 in UTC is on the next day in Berlin.
    await client.submit([bought(home, 1, '2026-03-09T23:15:00Z', '2026-03-09T23:30:00Z')])
    const first = await rowsOf(home)
    expect(first[0]).toMatch(/ 1 kWh 0\.30 EUR 1$/)
    expect(await rowsOf(home)).toEqual(first)
  })
})
