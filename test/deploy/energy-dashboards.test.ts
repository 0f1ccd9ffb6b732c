import { describe, expect, it } from 'vitest'
import { db, insert, own, tenant, useMeterTables } from '../suites/meter-tables.ts'
import { bought, makeHome } from '../support/system/home.ts'
import { useSharedSystem } from '../support/system/use-system.ts'
import { read } from './deploy-files.ts'

type Target = {
  readonly rawSql?: string
  readonly url?: string
  readonly url_options?: {
    readonly method: string
    readonly params: readonly { readonly key: string; readonly value: string }[]
    readonly data: string
  }
  readonly columns?: readonly { readonly selector: string }[]
}
type Panel = { readonly title: string; readonly targets: readonly [Target] }

const panelsOf = (path: string): readonly Panel[] => JSON.parse(read(path)).panels

/** Replace the macros and variables of Grafana. */
const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(name, value), text)

describe('the dashboard of energy and cost from ClickHouse', () => {
  useMeterTables()
  const panels = panelsOf('deploy/grafana/energy-and-cost.json')

  const rowsOf = async (sql: string, accountId: string): Promise<string> => {
    const filled = fill(sql, {
      '${account}': accountId,
      '${live_mode}': String(tenant.liveMode),
      '${currency}': 'EUR',
      $__fromTime: "toDateTime('2026-01-01 00:00:00', 'UTC')",
      $__toTime: "toDateTime('2026-02-01 00:00:00', 'UTC')",
    })
    expect(filled).not.toContain('$')
    return JSON.stringify(await db.rows(filled))
  }

  /** Figures of a record of 2.5 kWh at 0.3 per kWh. */
  const figures: Readonly<Record<string, readonly RegExp[]>> = {
    'Energy bought': [/\b2\.5\b/],
    'Cost of bought energy': [/EUR/, /\b0\.75\b/],
    'Revenue of sold energy': [/^\[\]$/],
    'Energy without a price': [/^\[\["?(?:0|null)"?\]\]$/],
    'Energy by day (UTC), by the start of the record': [/2026-01-15/, /\b2\.5\b/],
    'Cost by day (UTC), by the start of the record': [/2026-01-15/, /\b0\.75\b/],
    'Mean price per kWh by hour (UTC)': [/2026-01-15 10/, /\b0\.3\b/],
    'Locations with the highest cost': [/loc_0{23}1/, /\b2\.5\b/, /\b0\.75\b/],
  }

  it('adds up the stored rows of one account and mode', async () => {
    await insert([own({ start: Date.UTC(2026, 0, 15, 10) })])
    await insert([own({ start: Date.UTC(2026, 0, 15, 10), version: 2n })])
    expect(panels.map(({ title }) => title)).toEqual(Object.keys(figures))
    for (const { title, targets } of panels) {
      const sql = targets[0].rawSql ?? ''
      const rows = await rowsOf(sql, tenant.accountId)
      for (const figure of figures[title] ?? []) expect(rows, title).toMatch(figure)
      expect(await rowsOf(sql, 'acc_ffffffffffffffffffffffff'), title).toMatch(/^\[(?:\["?(?:0|null)"?\])?\]$/)
    }
  })
})

describe('the dashboard of energy and cost from the API', () => {
  const system = useSharedSystem()
  const panels = panelsOf('deploy/grafana/energy-and-cost-http.json')

  it('sends requests that the API answers, and reads members of the answer', async () => {
    const client = await system.login()
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([bought(home, 2, '2026-01-15T10:00:00Z', '2026-01-15T11:00:00Z')])
    for (const { title, targets } of panels) {
      const { url = '', url_options: options, columns = [] } = targets[0]
      const query = new URLSearchParams(options?.params.map(({ key, value }) => [key, value] as [string, string]))
      const body = fill(options?.data ?? '', {
        '${__from:date:iso}': '2026-01-14T00:00:00.000Z',
        '${__to:date:iso}': '2026-01-17T00:00:00.000Z',
      })
      const path = `${fill(url, { '${location}': home })}?${query}`
      const answer: { readonly data: readonly object[] } = await client.ask(options?.method ?? '', path, body)
      const values = columns.map(({ selector }) =>
        answer.data.map(element =>
          selector.split('.').reduce<unknown>((value, name) => Reflect.get(Object(value), name), element),
        ),
      )
      expect(
        values.flat().filter(value => value === undefined),
        title,
      ).toEqual([])
      expect(
        values[1]?.some(value => Number(value) > 0),
        title,
      ).toBe(true)
    }
  })
})
