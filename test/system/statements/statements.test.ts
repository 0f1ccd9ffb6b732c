import { beforeAll, describe, expect, it } from 'vitest'
import { linesOf, postStatement, refusalOf } from '../../support/statements/statement-answer.ts'
import { hashOfStatement } from '../../support/statements/statement-hash.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

/** Local hour of June 2025 in Berlin. */
const june = (day: number, hour = 0): string => new Date(Date.UTC(2025, 5, day, hour - 2)).toISOString()
const month = { start_date: '2025-06-01', end_date: '2025-07-01' }
const hour = (home: string, kwh: number, day: number, at = 10, more: object = {}) =>
  bought(home, kwh, june(day, at), june(day, at + 1), more)

const addGridFee = (home: string, price: number) =>
  makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'NON_COMMODITY',
    schedule: priceSchedule(price),
  })

describe('a statement', () => {
  it('splits the cost of energy into components, to the last digit', async () => {
    const home = await makeHome(client, { import: 0.1, export: 0.05 })
    await addGridFee(home, 0.033333333)
    const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' }
    await client.submit([hour(home, 1.234567, 3), hour(home, 2.000001, 4), hour(home, 7, 5, 12, sold)])
    const statement = await postStatement(client, home, month)
    const lines = linesOf(statement).map(({ kind, component, tariff_direction: direction, quantity, amount }) => [
      ...[kind, component, direction, quantity, amount],
    ])
    // Grid: round9(1.234567 x 0.033333333) + round9(2.000001 x 0.033333333) = 0.041152233 + 0.066666699.
    expect(lines).toEqual([
      ['ENERGY', 'energy', 'IMPORT', 3.234568, 0.3234568],
      ['ENERGY', 'grid', 'IMPORT', 3.234568, 0.107818932],
      ['ENERGY', 'energy', 'EXPORT', 7, -0.35],
    ])
    const span = { start_time: june(1), end_time: june(31) }
    const costs = (await client.ask('POST', `/costs/interval/${home}`, span)) as {
      data: { tariff: { cost: { value: number } } }[]
    }
    expect(costs.data[0]?.tariff.cost.value).toBe(0.431275732)
    expect(statement.totals.net).toBe(0.081275732)
  })

  it('has one id for one request, and a revision for each change', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([hour(home, 1, 3)])
    const first = await postStatement(client, home, month)
    const sameRequest = { ...month, periods: 'MONTH', include_devices: 'auto', expect: null }
    const again = await postStatement(client, home, sameRequest)
    expect(again).toEqual(first)
    expect((await postStatement(client, home, { ...month, periods: 'ONE' })).id).not.toBe(first.id)
    await client.submit([hour(home, 2, 4)])
    const changed = (await client.ask('GET', `/statements/${first.id}`)) as typeof first
    expect([changed.id, changed.revision, changed.totals.net]).toEqual([first.id, 2, 0.3])
    expect(changed.hash).not.toBe(first.hash)
  })

  it('has the hash of its canonical JSON', async () => {
    const home = await makeHome(client, { import: 0.123456789 })
    await client.submit([hour(home, 1.5, 3), hour(home, 0.000001, 4)])
    const { text } = await client.send('POST', `/statements/${home}`, { ...month, detail: 'PRICE' })
    expect((JSON.parse(text) as { hash: string }).hash).toBe(hashOfStatement(text))
  })

  it('lists gaps by reason, and is complete without them', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const days = { start_date: '2025-06-03', end_date: '2025-06-04' }
    await client.submit([bought(home, 6, june(3), june(3, 6)), bought(home, 6, june(3, 8), june(4))])
    const gap = {
      reason: 'MISSING',
      start_time: '2025-06-03T06:00:00+02:00',
      end_time: '2025-06-03T08:00:00+02:00',
    }
    expect(await postStatement(client, home, days)).toMatchObject({ complete: false, gaps: [gap] })
    expect(await postStatement(client, home, { ...days, expect: 'NOTHING' })).toMatchObject({
      complete: true,
      gaps: [],
    })
    await client.submit([bought(home, 6, june(3, 6), june(3, 8))])
    expect(await postStatement(client, home, days)).toMatchObject({ complete: true, gaps: [] })
    const unpriced = await makeHome(client, {})
    await client.submit([bought(unpriced, 1, june(2, 12), june(4, 12))])
    const statement = await postStatement(client, unpriced, days)
    expect(statement.gaps).toEqual([
      { reason: 'UNPRICED', start_time: '2025-06-03T00:00:00+02:00', end_time: '2025-06-04T00:00:00+02:00' },
    ])
  })

  it('is written as a table on request', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([hour(home, 1.5, 3)])
    const { text, headers } = await client.send('POST', `/statements/${home}`, month, { Accept: 'text/csv' })
    expect(headers.get('Content-Type')).toContain('text/csv')
    const [names, row, ...rest] = text.split('\r\n')
    expect(names).toBe(
      'period_start,period_end,kind,component,name,charge_id,tariff_id,quantity,unit,unit_price,amount,amount_rounded,tax',
    )
    expect(row).toMatch(/^2025-06-01,2025-07-01,ENERGY,energy,Energy,,trf_[0-9a-f]{24},1.5,kWh,0.1,0.15,0.15,false$/)
    expect(rest).toEqual([''])
  })

  it('takes the records of devices as costs do', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const device = { device_id: await makeOne(client, '/devices', { reference_id: `device of ${home}` }) }
    await client.submit([hour(home, 1, 3, 10, device)])
    const net = async (more: object = {}) => (await postStatement(client, home, { ...month, ...more })).totals.net
    expect([await net(), await net({ include_devices: false })]).toEqual([0.1, 0])
    const own = hour(home, 4, 4, 10, { record_reference_id: 'own' })
    await client.submit([own])
    expect([await net(), await net({ include_devices: true })]).toEqual([0.4, 0.5])
    await client.submit([{ ...own, value: 0 }])
    expect(await net()).toBe(0.1)
  })
})

describe('a request of a statement', () => {
  it('is refused with the field that must change', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const post = async (body: object, id = home) => refusalOf(await client.send('POST', `/statements/${id}`, body))
    expect(await post({ start_date: '2025-06-01', end_date: '2025-06-01' })).toEqual([400, 'end_before_start'])
    expect(await post({ start_date: '2025-06-01', end_date: '2028-06-02' })).toEqual([400, 'interval_too_long'])
    expect(await post({ ...month, start_date: '2025-06-31' })).toEqual([400, 'field_invalid'])
    const gap = [
      { start_date: '2025-06-01', end_date: '2025-06-10' },
      { start_date: '2025-06-11', end_date: '2025-07-01' },
    ]
    expect(await post({ ...month, periods: gap })).toEqual([400, 'periods_not_contiguous'])
    expect(await post({ ...month, periods: 'WEEK' })).toEqual([400, 'field_invalid'])
    expect(await post({ ...month, rounding: { decimals: 10 } })).toEqual([400, 'value_out_of_range'])
    const device = await makeOne(client, '/devices', { reference_id: 'device of no location' })
    expect(await post(month, device)).toEqual([400, 'location_required'])
    await client.submit([hour(home, 1, 3, 10, { session_reference_id: 'statement-session' })])
    expect(await post(month, 'statement-session')).toEqual([400, 'location_required'])
    expect(await post(month, 'unknown-session')).toEqual([404, 'not_found'])
    expect(await post(month, 'loc_0198c0ffee00112233445566')).toEqual([404, 'not_found'])
    const get = await client.send('GET', '/statements/stm_0198c0ffee00112233445566')
    expect(refusalOf(get)).toEqual([404, 'not_found'])
  })
})
