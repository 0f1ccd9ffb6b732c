import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'
import { signIn, type Visitor } from '../../support/web/console-visitor.ts'

type Warning = {
  readonly code: string
  readonly message: string
  readonly records?: number
  readonly record_nums?: readonly number[]
}
type Warned = { readonly id: string; readonly warnings?: readonly Warning[] }

const system = useSystem()
let client: Client
let visitor: Visitor

beforeAll(async () => {
  const { base_url: base, account_id: account, test_key: key } = system.sandbox()
  client = await system.login()
  visitor = await signIn(base, account, key)
})

const at = (hour: number): string => new Date(Date.UTC(2025, 5, 10, hour)).toISOString()
const warningsOf = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
  ((await client.ask(method, path, body)) as Warned).warnings

const receiptOf = (id: string): Promise<Warned & { readonly status: string }> =>
  until(
    async () => (await client.ask('GET', `/meters/batch/${id}`)) as never,
    ({ status }: { readonly status: string }) => status === 'COMPLETE',
  )

/** Warned records that the metrics count. */
const countedOf = async (code: string): Promise<number> => {
  const text = await (await fetch(system.running().metricsUrl)).text()
  return Number(new RegExp(`records_warned_total\\{code="${code}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

const pageText = async (path: string): Promise<string> => {
  const { status, text } = await visitor.get(path)
  expect(status, text).toBe(200)
  return text
}

const implausible = { code: 'implausible_energy', message: expect.stringContaining('above 10 MW') }

describe('a record above 10 MW', () => {
  it('is stored and marked in its receipt, its answers, the overview and the metrics', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const before = await countedOf('implausible_energy')
    const sent = (await client.ask('PUT', '/meters/interval', [
      bought(home, 10_000, at(0), at(1)),
      bought(home, 10_000.001, at(1), at(2)),
      bought(home, -1, at(2), at(3)),
      { ...bought(home, 16_777.215, at(4), at(4)), end_time: at(4) },
      bought(home, 16_777.215, at(5), at(6)),
    ])) as Warned
    const warnings = [{ ...implausible, records: 2, record_nums: [2, 5] }]
    expect(sent.warnings).toEqual(warnings)
    expect(await receiptOf(sent.id)).toMatchObject({ records_processed: 4, warnings })
    expect(await countedOf('implausible_energy')).toBe(before + 2)

    const { data } = (await client.ask('GET', `/meters/records?batch_id=${sent.id}`)) as { data: readonly Warned[] }
    expect(data.map(one => one.warnings)).toEqual([[implausible], undefined, [implausible], undefined])
    const csv = await client.send('GET', `/meters/records?batch_id=${sent.id}`, undefined, { Accept: 'text/csv' })
    const cells = csv.text.split('\r\n').map(line => line.split(',').at(-1))
    expect(cells).toEqual(['warnings', 'implausible_energy', '', 'implausible_energy', '', ''])
    expect(await warningsOf('GET', `/meters/records/${data[0]?.id}`)).toEqual([implausible])
    expect(await warningsOf('GET', `/meters/records/${data[1]?.id}`)).toBeUndefined()

    expect(await client.ask('GET', '/account/overview')).toMatchObject({
      records_warned: 2,
      warned_batches: [{ batch_id: sent.id, records_warned: 2 }],
    })
    expect(await pageText('/console')).toMatch(/Doubtful records<\/span><strong>2</)
    expect(await pageText('/console/warned')).toContain(sent.id)
    const page = await pageText(`/console/batches/${sent.id}`)
    for (const text of ['>2, 5<', 'The mean power is above 10 MW.']) expect(page).toContain(text)
    expect(await pageText(`/console/records/${data[0]?.id}`)).toContain('The mean power is above 10 MW.')
    expect(await pageText(`/console/records?location_id=${home}`)).toContain('>doubtful<')

    // A correction ends the warning of the record. The receipt says what was known at arrival.
    await client.submit([bought(home, 16.777, at(5), at(6))])
    expect(await warningsOf('GET', `/meters/records/${data[0]?.id}`)).toBeUndefined()
    expect(await warningsOf('GET', `/meters/batch/${sent.id}`)).toEqual(warnings)
  })

  it('is marked by an instant cost, and counted if it is stored', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const before = await countedOf('implausible_energy')
    const record = bought(home, 20_000, at(0), at(1))
    expect(await warningsOf('POST', '/costs/instant?non_persistent=true', record)).toEqual([implausible])
    expect(await countedOf('implausible_energy')).toBe(before)
    expect(await warningsOf('POST', '/costs/instant', record)).toEqual([implausible])
    expect(await countedOf('implausible_energy')).toBe(before + 1)
    expect(await warningsOf('POST', '/costs/instant', bought(home, 2, at(2), at(3)))).toBeUndefined()
  })

  it('is allowed by the max_power of its device or location', async () => {
    const register = { kind: 'LIFETIME', max_power: { units: 'KW', value: 50_000 } }
    const home = await makeHome(client, { import: 0.1 }, { register })
    const device = await makeOne(client, '/devices', { reference_id: 'battery park', register })
    const records = [
      bought(home, 20_000, at(0), at(1)),
      bought(home, 20_000, at(0), at(1), { device_id: device, session_reference_id: 'parsed \\ generally' }),
    ]
    const sent = (await client.submit(records)) as Warned
    expect(sent.warnings).toBeUndefined()
    const { data } = (await client.ask('GET', `/meters/records?batch_id=${sent.id}`)) as { data: readonly Warned[] }
    expect(data.map(one => one.warnings)).toEqual([undefined, undefined])
    expect(await warningsOf('POST', '/costs/instant', records[0])).toBeUndefined()
  })
})

const hours = (home: string, more: object = {}) =>
  Array.from({ length: 24 }, (_, hour) => bought(home, 1, at(hour), at(hour + 1), more))
const interval = { start_time: at(-2), end_time: at(22) }
const overlapping = { code: 'overlapping_records', message: expect.stringContaining('the total of a day') }
const costWarnings = (id: string, query = '', body: object = interval) =>
  warningsOf('POST', `/costs/interval/${id}${query}`, body)

describe("a day's total and its hours", () => {
  it('in one submission are named by receipt, cost and statement, until the total is cancelled', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const before = await countedOf('overlapping_records')
    const sent = (await client.ask('PUT', '/meters/interval', [
      ...hours(home),
      bought(home, 24, at(0), at(24)),
    ])) as Warned
    const numbers = Array.from({ length: 25 }, (_, index) => index + 1)
    const warnings = [{ ...overlapping, records: 25, record_nums: numbers }]
    expect(sent.warnings).toEqual(warnings)
    expect(await receiptOf(sent.id)).toMatchObject({ records_processed: 25, warnings })
    expect(await countedOf('overlapping_records')).toBe(before + 25)

    const place = { ...overlapping, location_id: home, device_id: null }
    // Both records that start first start at midnight; times of buckets have the offset of the location.
    expect(await costWarnings(home)).toEqual([{ ...place, start_time: '2025-06-10T00:00:00Z' }])
    for (const unit of ['HOUR', 'DAY'])
      expect(await costWarnings(home, `?aggregation=${unit}`)).toEqual([
        { ...place, start_time: '2025-06-10T02:00:00+02:00' },
      ])
    const { account_id: account } = system.sandbox()
    expect(await costWarnings(account)).toEqual([{ ...place, start_time: '2025-06-10T00:00:00Z' }])
    const statement = { start_date: '2025-06-10', end_date: '2025-06-12' }
    expect(await warningsOf('POST', `/statements/${home}`, statement)).toEqual([
      { ...place, start_time: '2025-06-10T02:00:00+02:00' },
    ])
    // The other direction, and another day.
    expect(await costWarnings(home, '?tariff_direction=EXPORT')).toBeUndefined()
    expect(await costWarnings(home, '', { start_time: at(30), end_time: at(40) })).toBeUndefined()
    expect(await pageText(`/console/costs?object=${home}&from=2025-06-10&to=2025-06-11&by=DAY`)).toContain(
      'with different lengths share time',
    )
    expect(await pageText(`/console/statements?location_id=${home}&start=2025-06-10&end=2025-06-12`)).toContain(
      'with different lengths share time',
    )
    await client.submit([bought(home, 0, at(0), at(24))])
    expect(await costWarnings(home)).toBeUndefined()
    expect(await warningsOf('POST', `/statements/${home}`, statement)).toBeUndefined()
  })

  it('that arrive apart, in any order, are named by cost and statement; the receipts do not know each other', async () => {
    const warnings = await Promise.all(
      [0, 1].map(async order => {
        const home = await makeHome(client, { import: 0.1 })
        const device = await makeOne(client, '/devices', { reference_id: `meter ${order}` })
        const own = { device_id: device }
        const parts = [hours(home, own), [bought(home, 24, at(0), at(24), own)]]
        for (const part of order === 0 ? parts : parts.toReversed())
          expect(((await client.submit(part)) as Warned).warnings).toBeUndefined()
        const [inCost] = (await costWarnings(device)) ?? []
        const statement = { start_date: '2025-06-10', end_date: '2025-06-12' }
        const [inStatement] = (await warningsOf('POST', `/statements/${home}`, statement)) ?? []
        const place = { location_id: home, device_id: device }
        expect([inCost, inStatement]).toMatchObject([place, place])
        return [inCost, inStatement].map(one => ({ ...one, location_id: '', device_id: '' }))
      }),
    )
    expect(warnings[0]).toEqual(warnings[1])
  })

  it('in sessions overlap within one session only', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const session = (name: string) => ({ session_reference_id: name })
    const sent = (await client.submit([
      ...hours(home, session('both plugs 1')),
      bought(home, 24, at(0), at(24), session('both plugs 2')),
    ])) as Warned
    expect([sent.warnings, await costWarnings(home)]).toEqual([undefined, undefined])
    expect(await warningsOf('POST', '/costs/session/both%20plugs%201')).toBeUndefined()
    await client.submit([bought(home, 24, at(0), at(24), session('both plugs 1'))])
    expect(await warningsOf('POST', '/costs/session/both%20plugs%201')).toMatchObject([overlapping])
    expect(await pageText('/console/sessions?reference=both+plugs+1')).toContain('with different lengths share time')
    expect(await costWarnings(home)).toMatchObject([overlapping])
  })

  it('add up without a warning if they have one length, or if one is an estimate', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const phases = ['L1', 'L2'].flatMap(name => hours(home, { record_reference_id: name }))
    const estimate = bought(home, 60, at(0), at(24), { confidence: 0.5 })
    expect(((await client.submit([...phases, estimate])) as Warned).warnings).toBeUndefined()
    expect(await costWarnings(home)).toBeUndefined()
  })
})
