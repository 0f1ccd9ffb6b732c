import { beforeAll, expect, it } from 'vitest'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { paths, signIn, type Visitor } from '../../support/web/console-visitor.ts'
import { crawlConsole } from '../../support/web/crawl.ts'

const system = useSharedSystem()
const objects = {
  location: { reference_id: 'ref-location', display_name: 'Quay north' },
  unpriced: { reference_id: 'ref-unpriced', display_name: 'Quay south' },
  device: { reference_id: 'ref-device', display_name: 'Charger west' },
  customer: { reference_id: 'ref-customer', display_name: 'Harbour office' },
} as const

let visitor: Visitor
let ids = {} as Readonly<Record<'location' | 'unpriced' | 'plan', string>>

const hourMs = 3_600_000
const at = (hours: number): string => new Date(Math.floor(Date.now() / hourMs - hours) * hourMs).toISOString()

beforeAll(async () => {
  const client = await system.login()
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  visitor = await signIn(base, account, key)
  const customer_id = await makeOne(client, '/customers', objects.customer)
  const device_id = await makeOne(client, '/devices', objects.device)
  const location = await makeHome(client, {}, { ...objects.location, customer_id })
  const unpriced = await makeHome(client, {}, objects.unpriced)
  const tariff = { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.2) }
  await makeOne(client, '/tariffs', { location_id: location, ...tariff, contract_end_date: at(-24 * 9) })
  await makeOne(client, '/charges', { location_id: location, kind: 'FIXED', name: 'Base', price: 3, per: 'MONTH' })
  const plan = await makeOne(client, '/plans', { name: 'Quays', currency_code: 'EUR', tariffs: [tariff] })
  await client.ask('POST', `/plans/${plan}/assignments`, [{ location_id: unpriced, start_date: '2040-01-01' }])
  const session = { session_reference_id: 'session-1' }
  await client.submit([
    { ...bought(location, 4, at(9), at(8), session), device_id },
    { ...bought(location, 5, at(10), at(9), session), device_id },
    bought(unpriced, 4, at(9), at(8)),
  ])
  await client.submit([{ ...bought(location, 6, at(10), at(9), session), device_id }])
  await client.ask('POST', `/schedules/amount/${location}`, {
    data: [
      {
        device_id,
        start_time: at(-2),
        end_time: at(-8),
        tariff_direction: 'IMPORT',
        energy: { units: 'KWH', value: 5 },
        max_power: { units: 'KW', value: 11 },
      },
    ],
  })
  await until(
    async () => (await client.ask('GET', '/account/overview')) as { readonly unpriced: readonly object[] },
    one => one.unpriced.length > 0,
  )
  ids = { location, unpriced, plan }
}, 120_000)

/** Texts of the cells of all tables of a page. */
const cellsOf = (text: string): readonly string[] =>
  [...text.matchAll(/<td\b[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) => cell.replaceAll(/<[^<>]*>/g, ' ').trim())

it.each(['/console/statements', '/console/prices', '/console/schedules'])(
  'a location is suggested by its name, and entered by its reference: %s',
  async path => {
    const { reference_id: reference, display_name: name } = objects.location
    expect((await visitor.get(path)).text).toContain(`<option value="${reference}">${name}</option>`)
  },
)

it('each table of the console shows the name of an object, not its reference or id', { timeout: 180_000 }, async () => {
  const bare: string[] = []
  const named = new Map<string, string>()
  const starts = [
    ...[...paths, '/console/audit-log', '/console/warned', `/console/plans/${ids.plan}`, '/console/schedules'],
    ...[`/console/records?location_id=${ids.location}`, `/console/corrections?location_id=${ids.location}`],
    `/console/sessions?reference=session-1`,
  ]
  await crawlConsole(system.sandbox().base_url, starts, async (_, path) => {
    const { text } = await visitor.get(path)
    for (const cell of cellsOf(text)) {
      for (const { reference_id: reference, display_name: name } of Object.values(objects)) {
        if (cell === reference) bare.push(`${path}: ${cell}`)
        if (cell === name) named.set(path.split('?')[0] ?? '', name)
      }
      if (cell === ids.location || cell === ids.unpriced) bare.push(`${path}: ${cell}`)
    }
    return text
  })
  const events = /^\/console\/(events|audit-log|changes)?(\?|:|$)/
  expect(bare.filter(one => !events.test(one))).toEqual([])
  expect([...named.keys()]).toEqual(
    expect.arrayContaining([
      ...['/console/locations', '/console/devices', '/console/customers', '/console/unpriced', '/console/ending'],
      ...['/console/tariffs', '/console/charges', '/console/records', '/console/sessions', '/console/schedules'],
      ...['/console/corrections', `/console/plans/${ids.plan}`],
    ]),
  )
})
