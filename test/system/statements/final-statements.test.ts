import { beforeAll, describe, expect, it } from 'vitest'
import {
  amountsOf,
  linesOf,
  postStatement,
  refusalOf,
  type StatementAnswer,
} from '../../support/statements/statement-answer.ts'
import { hashOfStatement } from '../../support/statements/statement-hash.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const rounding = { profile: 'LARGEST_REMAINDER' }
const march = { start_date: '2025-03-01', end_date: '2025-04-01', rounding, expect: 'NOTHING' }
const april = { ...march, start_date: '2025-04-01', end_date: '2025-05-01' }
const may = { ...march, start_date: '2025-05-01', end_date: '2025-06-01' }

const on = (home: string, kwh: number, date: string, more: object = {}) =>
  bought(home, kwh, `2025-${date}T10:00:00Z`, `2025-${date}T11:00:00Z`, more)

const finalise = (id: string, body: object = {}) => client.send('POST', `/statements/${id}/finalise`, body)
const get = async (id: string): Promise<StatementAnswer> => (await client.ask('GET', `/statements/${id}`)) as never
const final = async (home: string, body: object): Promise<StatementAnswer> => {
  const { id, hash } = await postStatement(client, home, body)
  const { status, text } = await finalise(id, { hash })
  expect([status, text]).toEqual([200, expect.stringContaining('"status":"FINAL"')])
  return JSON.parse(text) as StatementAnswer
}

const eventsOf = async (id: string) =>
  ((await client.ask('GET', `/events?object_id=${id}`)) as { data: { type: string; data: object }[] }).data

describe('a FINAL statement', () => {
  it('stays as it was, and the next draft adjusts it once', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05'), on(home, 20, '04-05')])
    const first = await final(home, march)
    await client.submit([on(home, 5, '03-06')])
    expect(await get(first.id)).toEqual(first)
    expect(await postStatement(client, home, march)).toEqual(first)
    const draft = await postStatement(client, home, april)
    const adjustment = linesOf(draft).find(({ kind }) => kind === 'ADJUSTMENT')
    expect(adjustment).toMatchObject({
      component: 'energy',
      amount: 0.5,
      tax: false,
      reason: { statement_id: first.id },
    })
    // 20 kWh x 0.10 + 5 kWh x 0.10.
    expect(draft.totals.gross_rounded).toBe(2.5)
    const second = await final(home, april)
    expect(second.totals).toEqual(draft.totals)
    expect(amountsOf(await postStatement(client, home, may))).toEqual({})
    // A correction of the same day leads to another adjustment, of the rest only.
    await client.submit([on(home, 1, '03-06')])
    expect(amountsOf(await postStatement(client, home, may))).toEqual({ energy: -0.4 })
  })

  it('has its own hash, its event, and the table of its lines', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const { id, hash } = await postStatement(client, home, march)
    const answer = await finalise(id, { hash })
    const kept = JSON.parse(answer.text) as StatementAnswer
    expect(kept.hash).toBe(hashOfStatement(answer.text))
    expect((await client.send('GET', `/statements/${id}`)).text).toBe(answer.text)
    const [{ type, data } = { type: '', data: {} }] = await eventsOf(id)
    const { periods, ...members } = kept
    const summary = periods.map(({ start_date, end_date, totals }) => ({ start_date, end_date, totals }))
    expect([type, data]).toEqual(['statement.finalised', { ...members, periods: summary }])
    const table = await client.send('GET', `/statements/${id}`, undefined, { Accept: 'text/csv' })
    expect(table.text).toContain('2025-03-01,2025-04-01,ENERGY,energy,Energy,')
    // A repeated request gets the kept answer, with the hash of the draft too.
    expect((await finalise(id, { hash })).text).toBe(answer.text)
    expect(refusalOf(await finalise(id, { hash: 'other' }))).toEqual([409, 'statement_changed'])
  })

  it('is refused if the draft has another hash or gaps', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const { id, hash } = await postStatement(client, home, march)
    await client.submit([on(home, 10, '03-06')])
    expect(refusalOf(await finalise(id, { hash }))).toEqual([409, 'statement_changed'])
    const gaps = await postStatement(client, home, { ...march, expect: 'EVERY_INTERVAL' })
    expect(refusalOf(await finalise(gaps.id))).toEqual([422, 'statement_incomplete'])
    const { status } = await finalise(gaps.id, { hash: gaps.hash, allow_incomplete: true })
    expect(status).toBe(200)
    expect(refusalOf(await finalise(id))).toEqual([400, 'statement_overlap'])
  })

  it('needs allow_incomplete for energy with a provisional price, and states its gap', async () => {
    const home = await makeHome(client, {})
    // The prices go on after the contract: 1 of the 2 kWh of 5 March is provisional.
    await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.1),
      contract_end_date: '2025-03-05T11:30:00+01:00',
    })
    await client.submit([on(home, 2, '03-05')])
    const draft = await postStatement(client, home, march)
    expect([draft.status, draft.complete]).toEqual(['DRAFT', false])
    expect(refusalOf(await finalise(draft.id, { hash: draft.hash }))).toEqual([422, 'statement_incomplete'])
    expect(refusalOf(await finalise(draft.id, { hash: draft.hash, allow_incomplete: false }))).toEqual([
      ...[422, 'statement_incomplete'],
    ])
    expect((await get(draft.id)).status).toBe('DRAFT')
    const { status, text } = await finalise(draft.id, { hash: draft.hash, allow_incomplete: true })
    expect(status).toBe(200)
    const gaps = [
      {
        reason: 'PROVISIONAL_PRICE',
        energy: 1,
        start_time: '2025-03-05T11:30:00+01:00',
        end_time: '2025-03-05T12:00:00+01:00',
      },
    ]
    expect(JSON.parse(text)).toMatchObject({
      status: 'FINAL',
      complete: false,
      gaps,
      totals: { provisional_energy: 1 },
    })
    expect(await get(draft.id)).toEqual(JSON.parse(text))
  })

  it('is the only one of two concurrent requests with a common day', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const bodies = [march, { ...march, end_date: '2025-03-02' }, { ...march, periods: 'ONE' }]
    const drafts = await Promise.all(bodies.map(body => postStatement(client, home, body)))
    const answers = await Promise.all(drafts.flatMap(({ id }) => [finalise(id), finalise(id)]))
    const finalIds = new Set(
      answers.filter(({ status }) => status === 200).map(({ json }) => (json as { id: string }).id),
    )
    const refusals = answers.filter(({ status }) => status !== 200).map(refusalOf)
    expect(finalIds.size).toBe(1)
    expect(refusals).toEqual([0, 1, 2, 3].map(() => [400, 'statement_overlap']))
  })

  it('adjusts another one once, if two statements become FINAL at the same time', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    await final(home, march)
    await client.submit([on(home, 3, '03-06')])
    const drafts = await Promise.all([april, may].map(body => postStatement(client, home, body)))
    expect(drafts.map(amountsOf)).toEqual([{ energy: 0.3 }, { energy: 0.3 }])
    const answers = await Promise.all(drafts.map(({ id }) => finalise(id)))
    const amounts = answers.map(({ json }) => amountsOf(json))
    expect(amounts.toSorted((a, b) => Object.keys(a).length - Object.keys(b).length)).toEqual([{}, { energy: 0.3 }])
  })

  it('is voided unless a later one adjusts it', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05'), on(home, 20, '04-05')])
    const first = await final(home, march)
    await client.submit([on(home, 5, '03-06')])
    const second = await final(home, april)
    const remove = (id: string) => client.send('DELETE', `/statements/${id}`)
    expect(refusalOf(await remove(first.id))).toEqual([400, 'statement_adjusted'])
    expect((await remove(second.id)).status).toBe(202)
    const [{ type } = { type: '' }] = await eventsOf(second.id)
    expect(type).toBe('statement.voided')
    expect(await get(second.id)).toMatchObject({ status: 'DRAFT', id: second.id })
    expect((await remove(first.id)).status).toBe(202)
    expect(amountsOf(await get(second.id))).toEqual({ energy: 2 })
    // The request of a draft is deleted.
    expect((await remove(first.id)).status).toBe(202)
    expect(refusalOf(await client.send('GET', `/statements/${first.id}`))).toEqual([404, 'not_found'])
  })

  it('includes records that were acknowledged before', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const { id } = await postStatement(client, home, march)
    const records = Array.from({ length: 28 }, (_, index) => on(home, 1, `03-${String(index + 1).padStart(2, '0')}`))
    await client.ask('PUT', '/meters/interval', records)
    const { json } = await finalise(id)
    expect(amountsOf(json)).toEqual({ energy: 2.8 })
  })

  it('stays after the location is deleted', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await client.submit([on(home, 10, '03-05')])
    const kept = await final(home, march)
    await client.ask('DELETE', `/locations/${home}`)
    await until(
      () => client.send('GET', `/locations/${home}`),
      ({ status }) => status === 404,
    )
    expect(await get(kept.id)).toEqual(kept)
  })
})
