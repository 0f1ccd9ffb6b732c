import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import {
  firstAssignment,
  planBody,
  planCharge,
  planTariff,
  refusedWith,
  usePlans,
} from '../../../support/plans/plan-fixture.ts'
import { flatTariff, idOf, listed, make, makeLocation } from '../../../support/registry/service.ts'

const { service, live, test, makePlan, assign } = await usePlans()

describe('a plan', () => {
  it('is created with version 1, listed without prices, renamed and deleted', async () => {
    const created = await live.call('POST', '/plans', planBody())
    expect(created).toMatchObject({
      status: 201,
      body: {
        object: 'plan',
        live_mode: true,
        name: 'Home',
        currency_code: 'EUR',
        sites: 0,
        applied: 0,
        failed: [],
        versions: [
          { version: 1, from: null, tariffs: [{ direction: 'IMPORT' }], charges: [{ kind: 'FIXED', price: 0.5 }] },
        ],
      },
    })
    const id = idOf(created)
    expect((await live.call('GET', `/plans/${id}`)).body).toEqual(created.body)
    expect((await test.call('GET', `/plans/${id}`)).status).toBe(404)
    const [summary] = listed(await live.call('GET', '/plans'))
    expect(summary).toMatchObject({ id, versions: [{ version: 1, from: null }] })
    expect(JSON.stringify(summary)).not.toContain('tariffs')
    const renamed = await live.call('PATCH', `/plans/${id}`, { ...created.body, name: 'Flat' })
    expect(renamed).toMatchObject({ status: 200, body: { name: 'Flat' } })
    expect(await live.call('PATCH', `/plans/${id}`, { currency_code: 'GBP' })).toMatchObject(
      refusedWith(400, 'field_immutable'),
    )
    expect(await live.call('DELETE', `/plans/${id}`)).toMatchObject({ status: 202, body: { message: 'Accepted' } })
    expect((await live.call('GET', `/plans/${id}`)).status).toBe(404)
    const types = listed(await live.call('GET', `/events?object_id=${id}`)).map(one => one['type'])
    expect(types).toEqual(['plan.delete', 'plan.update', 'plan.create'])
  })

  it('names the place of a fault in a tariff or charge', async () => {
    const post = (more: object) => live.call('POST', '/plans', planBody(more))
    expect(await post({ tariffs: [planTariff(0.3), planTariff(0.2)] })).toMatchObject({
      body: { code: 'tariff_overlap', field: 'tariffs[1]' },
    })
    expect(await post({ tariffs: [planTariff(0.3, { schedule: undefined })] })).toMatchObject({
      body: { code: 'field_required', field: 'tariffs[0].schedule' },
    })
    expect(await post({ charges: [planCharge(1), { kind: 'DEMAND', name: 'Power' }] })).toMatchObject({
      body: { code: 'price_missing', field: expect.stringMatching(/^charges\[1\]/) },
    })
    expect(await post({ tariffs: [planTariff(0.3, { location_id: 'loc_1' })] })).toMatchObject({
      body: { code: 'unknown_field' },
    })
    expect(await post({ currency_code: 'XYZ' })).toMatchObject({
      body: { code: 'field_invalid', field: 'currency_code' },
    })
    expect(await post({ charges: Array.from({ length: 201 }, () => planCharge(1)) })).toMatchObject({ status: 400 })
  })
})

describe('a dry run', () => {
  it('answers the effects of each change, and changes nothing', async () => {
    const plan = await makePlan()
    const [one, two, taken] = [await makeLocation(live), await makeLocation(live), await makeLocation(live)]
    service.facts.withRecords.add(one)
    const own = await make(live, '/tariffs', flatTariff(taken))
    const count = async () => {
      const tables = sql`(select count(*) from plans) + (select count(*) from plan_versions)
        + (select count(*) from plan_assignments where deleted_at is null) + (select count(*) from events)
        + (select count(*) from tariffs where voided_at is null) + (select count(*) from audit_log)`
      return (await service.database.operator<{ count: number }>(sql`select ${tables} as count`)).rows[0]?.count
    }
    const before = await count()
    const dry = (method: string, path: string, body?: unknown) => live.call(method, `${path}?dry_run=true`, body)
    const effects = (locations: number, stored_rows: number, errors: readonly object[] = []) => ({
      status: 200,
      body: { object: 'dry_run', locations, stored_rows, errors },
    })
    expect(await dry('POST', '/plans', planBody())).toMatchObject(effects(0, 0))
    expect(await live.call('POST', '/plans', planBody({ dry_run: true }))).toMatchObject(effects(0, 0))
    const elements = [one, two, taken].map(location_id => ({ location_id, start_date: '2026-02-01' }))
    expect(await dry('POST', `/plans/${plan}/assignments`, elements)).toMatchObject(
      effects(2, 1, [{ location_id: taken, number: 3, code: 'tariff_overlap', message: expect.stringContaining(own) }]),
    )
    expect(await count()).toBe(before)
    const id = firstAssignment(await assign(plan, ...elements))
    const after = await count()
    const version = { from: '2026-07-01', tariffs: [planTariff(0.4)] }
    expect(await dry('POST', `/plans/${plan}/versions`, version)).toMatchObject(effects(2, 1))
    expect(await dry('PATCH', `/plans/${plan}/assignments/${id}`, { end_date: '2026-03-01' })).toMatchObject(
      effects(1, 1),
    )
    expect(await dry('DELETE', `/plans/${plan}/assignments/${id}`)).toMatchObject(effects(1, 1))
    expect(await dry('DELETE', `/plans/${plan}`)).toMatchObject(
      effects(0, 0, [{ location_id: null, number: null, code: 'plan_in_use' }]),
    )
    expect((await dry('DELETE', '/plans/pln_unknown')).status).toBe(404)
    expect(await count()).toBe(after)
  })

  it('does not use its Idempotency-Key, but a change does', async () => {
    const headers = { 'idempotency-key': 'plan of the test' }
    const post = (path: string) => live.call('POST', path, planBody(), headers)
    expect((await post('/plans?dry_run=true')).status).toBe(200)
    const first = await post('/plans')
    expect(first.status).toBe(201)
    expect((await post('/plans')).text).toBe(first.text)
  })
})
