import { beforeAll, describe, expect, it } from 'vitest'
import { bought, makeHome } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const [start, end] = ['2025-06-10T01:00:00Z', '2025-06-10T02:00:00Z']
let visitor: Visitor
let home = ''

beforeAll(async () => {
  const client = await system.login()
  home = await makeHome(client, { import: 0.1 })
  const record = bought(home, 5, start, end)
  for (const value of [5, 6, 0]) {
    const { id } = (await client.submit([{ ...record, value }])) as { readonly id: string }
    await client.ask('GET', `/meters/batch/${id}`)
  }
  const { base_url, account_id, test_key } = system.sandbox()
  visitor = await signIn(base_url, account_id, test_key)
})

describe('the corrections of a location', () => {
  it('are shown with the energy before and after, and lead to the record and both batches', async () => {
    const { text } = await visitor.get(`/console/corrections?location_id=${home}`)
    expect(text.indexOf('cancelled')).toBeGreaterThan(0)
    expect(text).toContain(`<a href="/console/locations/${home}">`)
    const csv = await visitor.get(`/console/corrections?location_id=${home}&csv=corrections`)
    const [, cancelled, corrected] = csv.text.trim().split('\n')
    expect(cancelled).toContain('"6000 WH, confidence 1","0 WH, confidence 1"')
    expect(corrected).toContain('"5000 WH, confidence 1","6000 WH, confidence 1"')
    const [, record] = /href="(\/console\/records\/mre_[0-9a-f]{24})"/.exec(text) ?? []
    const page = await visitor.get(record ?? '')
    expect(page.text).toContain('<h2 id="corrected">Corrections</h2>')
    expect(page.text).toContain('5 kWh')
    const batches = [...page.text.matchAll(/href="(\/console\/batches\/bat_[0-9a-f]{24})"/g)].map(([, path]) => path)
    expect(new Set(batches).size).toBe(3)
    for (const path of new Set(batches)) expect((await visitor.get(path ?? '')).status).toBe(200)
  })

  it('say how a record is corrected if there are none', async () => {
    const { text } = await visitor.get(
      '/console/corrections?start_time=2000-01-01T00:00:00Z&end_time=2000-01-02T00:00:00Z',
    )
    expect(text).toContain('To correct a record, send it again with another value.')
  })
})
