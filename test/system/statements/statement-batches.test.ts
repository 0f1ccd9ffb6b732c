import { beforeAll, describe, expect, it } from 'vitest'
import { postStatement, refusalOf } from '../../support/statements/statement-answer.ts'
import { doneBatch, exportOf, readBatch, startBatch } from '../../support/statements/statement-batch.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const month = { start_date: '2025-06-01', end_date: '2025-07-01' }
const june = (day: number, hour: number): string => new Date(Date.UTC(2025, 5, day, hour - 2)).toISOString()
const hour = (home: string, kwh: number, day: number, more: object = {}) =>
  bought(home, kwh, june(day, 10), june(day, 11), more)

/** Create locations, each with one record of its number in kWh. */
const makeHomes = async (count: number, more: object = {}): Promise<readonly string[]> => {
  const homes = await inParallel(Array.from({ length: count }), 4, () => makeHome(client, { import: 0.1 }, more))
  await client.submit(homes.map((home, index) => hour(home, index + 1, 3)))
  return homes
}

describe('a batch of statements', () => {
  it('calculates the statements of single requests, with the same ids and amounts', async () => {
    const homes = await makeHomes(4)
    const [first = '', second = ''] = homes
    const tokyo = await makeHome(client, { import: 0.2 }, { timezone: 'Asia/Tokyo' })
    const empty = await makeHome(client, { import: 0.2 })
    await client.submit([
      bought(tokyo, 5, '2025-05-31T15:00:00Z', '2025-05-31T16:00:00Z'),
      bought(tokyo, 50, '2025-05-31T14:00:00Z', '2025-05-31T15:00:00Z'),
    ])
    const session = { kind: 'SESSION', name: 'Parking', price: 1, per: 'SESSION' }
    await makeOne(client, '/charges', { ...session, location_id: second })
    await makeOne(client, '/charges', { location_id: first, kind: 'FIXED', name: 'Base', price: 9, per: 'MONTH' })
    const device = await makeOne(client, '/devices', { reference_id: `charger of ${second}` })
    await client.submit([hour(second, 7, 9, { device_id: device, session_reference_id: `session ${second}` })])
    const all = [...homes, tokyo, empty].sort()
    const batch = await startBatch(client, { object_ids: all.toReversed(), ...month })
    expect([batch.status, batch.total, batch.done, batch.failed]).toEqual(['RUNNING', 6, 0, []])
    const done = await doneBatch(client, batch.id)
    expect([done.done, done.failed_count]).toEqual([6, 0])
    const statements = await exportOf(client, batch.id)
    expect(statements.map(one => one.location_id)).toEqual(all)
    for (const statement of statements) {
      expect(statement).toEqual(await postStatement(client, statement.location_id, month))
    }
  })

  it('selects the locations of a customer', async () => {
    const customer = await makeOne(client, '/customers', {})
    const homes = await makeHomes(2, { customer_id: customer })
    const batch = await startBatch(client, { customer_id: customer, ...month })
    await doneBatch(client, batch.id)
    expect((await exportOf(client, batch.id)).map(one => one.location_id)).toEqual(homes.toSorted())
  })

  it('selects the locations of a plan by its assignments', async () => {
    const [june1 = '', may = ''] = await makeHomes(2)
    const plan = await makeOne(client, '/plans', { name: 'Basic', currency_code: 'EUR', tariffs: [], charges: [] })
    await client.ask('POST', `/plans/${plan}/assignments`, [
      { location_id: june1, start_date: '2025-06-30' },
      { location_id: may, start_date: '2025-05-01', end_date: '2025-06-01' },
    ])
    const batch = await startBatch(client, { plan_id: plan, ...month })
    await doneBatch(client, batch.id)
    expect((await exportOf(client, batch.id)).map(one => one.location_id)).toEqual([june1])
  })

  it('exports a table', async () => {
    const [home = ''] = await makeHomes(1)
    const batch = await startBatch(client, { object_ids: [home], ...month })
    await doneBatch(client, batch.id)
    const [statement] = await exportOf(client, batch.id)
    const path = `/statements/batch/${batch.id}/export`
    const table = await client.send('GET', path, undefined, { Accept: 'text/csv' })
    expect(table.headers.get('content-type')).toContain('text/csv')
    const [names, row, ...more] = table.text.trim().split('\r\n')
    expect(names).toMatch(/^location_id,statement_id,currency_code,period_start,period_end,kind,component,name,/)
    expect(row).toMatch(`${home},${statement?.id},EUR,2025-06-01,2025-07-01,ENERGY,energy,`)
    expect(more).toEqual([])
  })

  it('makes statements FINAL, and lists those that it cannot', async () => {
    const [complete = '', final = '', gap = ''] = await makeHomes(3)
    const request = { ...month, expect: 'NOTHING' }
    const other = await postStatement(client, final, { ...request, periods: 'ONE' })
    await client.ask('POST', `/statements/${other.id}/finalise`)
    // A record without a tariff price: sold energy.
    await client.submit([hour(gap, 1, 4, { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' })])
    const batch = await startBatch(client, { object_ids: [complete, final, gap], ...request, finalise: true })
    const done = await doneBatch(client, batch.id)
    expect([done.total, done.done, done.failed_count]).toEqual([3, 1, 2])
    expect(Object.fromEntries(done.failed.map(({ object_id: id, code }) => [id, code]))).toEqual({
      [final]: 'statement_overlap',
      [gap]: 'statement_incomplete',
    })
    const [statement, ...others] = await exportOf(client, batch.id)
    expect(others).toEqual([])
    expect([statement?.location_id, statement?.status]).toEqual([complete, 'FINAL'])
    expect(await postStatement(client, complete, request)).toEqual(statement)
    const again = await startBatch(client, {
      object_ids: [complete, gap],
      ...request,
      finalise: true,
      allow_incomplete: true,
    })
    expect([(await doneBatch(client, again.id)).done]).toEqual([2])
    expect((await exportOf(client, again.id)).find(one => one.location_id === complete)).toEqual(statement)
    const { data } = (await client.ask('GET', `/events?event_type=statement.finalised&object_id=${statement?.id}`)) as {
      data: object[]
    }
    expect(data).toHaveLength(1)
  })
})

describe('requests of batches', () => {
  it('are refused if they are wrong', async () => {
    const [home = ''] = await makeHomes(1)
    const refusalFor = async (body: object) => {
      const reply = await client.send('POST', '/statements/batch', { ...month, ...body })
      const { code, field } = reply.json as { code: string; field?: string }
      return [reply.status, code, field]
    }
    expect(await refusalFor({})).toEqual([400, 'field_required', 'object_ids'])
    expect(await refusalFor({ object_ids: [] })).toEqual([400, 'value_out_of_range', 'object_ids'])
    expect(await refusalFor({ object_ids: [home], all: true })).toEqual([400, 'field_invalid', 'all'])
    expect(await refusalFor({ object_ids: [home, home] })).toEqual([400, 'field_invalid', 'object_ids[1]'])
    const unknown = 'loc_000000000000000000000001'
    expect(await refusalFor({ object_ids: [home, unknown] })).toEqual([400, 'location_not_found', 'object_ids[1]'])
    expect(await refusalFor({ customer_id: 'cus_000000000000000000000001' })).toEqual([
      ...[400, 'customer_not_found', 'customer_id'],
    ])
    expect(await refusalFor({ plan_id: 'pln_000000000000000000000001' })).toEqual([400, 'plan_not_found', 'plan_id'])
    expect(await refusalFor({ object_ids: [home], allow_incomplete: true })).toEqual([
      ...[400, 'field_invalid', 'allow_incomplete'],
    ])
    expect(await refusalFor({ object_ids: [home], end_date: '2025-06-01' })).toEqual([
      400,
      'end_before_start',
      'end_date',
    ])
  })

  it('start at most two batches at a time, also at the same time', async () => {
    const homes = await makeHomes(30)
    const send = () => client.send('POST', '/statements/batch', { object_ids: homes, ...month, detail: 'PRICE' })
    const replies = await Promise.all(Array.from({ length: 6 }, send))
    const started = replies.filter(({ status }) => status === 202)
    const refused = replies.filter(({ status }) => status !== 202)
    expect(started.length).toBeGreaterThanOrEqual(2)
    expect(refused.length).toBeGreaterThanOrEqual(1)
    for (const reply of refused) {
      expect(refusalOf(reply)).toEqual([400, 'too_many_batches'])
      expect(reply.text).toContain('DELETE /statements/batch/{id}')
    }
    for (const { json } of started) await doneBatch(client, (json as { id: string }).id)
  })

  it('stop a batch, and have no export before its end', async () => {
    const homes = await makeHomes(2)
    const batch = await startBatch(client, { object_ids: homes, ...month })
    await client.ask('DELETE', `/statements/batch/${batch.id}`)
    const { status } = await readBatch(client, batch.id)
    if (status === 'STOPPED') {
      const reply = await client.send('GET', `/statements/batch/${batch.id}/export`)
      expect(refusalOf(reply)).toEqual([422, 'batch_not_done'])
    } else expect(await exportOf(client, batch.id)).toHaveLength(2)
    const unknown = await client.send('GET', '/statements/batch/stb_000000000000000000000001')
    expect(refusalOf(unknown)).toEqual([404, 'not_found'])
  })
})
