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
import { flatTariff, listed, make, makeAccount, makeLocation } from '../../../support/registry/service.ts'

const { service, live, turn, applyAll, wait, makePlan, assign, tariffsAt, chargesAt, eventsOf } = await usePlans()

describe('a version', () => {
  it('follows at all locations, and the plan shows the progress', async () => {
    const plan = await makePlan()
    const locations = [await makeLocation(live), await makeLocation(live), await makeLocation(live)]
    await assign(plan, ...locations.map(location_id => ({ location_id, start_date: '2026-02-01' })))
    const created = await live.call('POST', `/plans/${plan}/versions`, {
      from: '2026-07-01',
      tariffs: [planTariff(0.4)],
      charges: [planCharge(0.6), planCharge(0.6)],
    })
    expect(created).toMatchObject({
      status: 202,
      body: { object: 'plan_version', plan_id: plan, version: 2, from: '2026-07-01', sites: 3, applied: 0 },
    })
    expect(await applyAll()).toBe(2)
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 3, applied: 3 })
    for (const location of locations) {
      expect(await tariffsAt(location)).toEqual([
        [1, '2026-01-31T23:00:00Z', '2026-06-30T22:00:00Z'],
        [2, '2026-06-30T22:00:00Z', null],
      ])
      expect(await chargesAt(location)).toEqual([
        [0.5, '2026-02-01', '2026-07-01', plan],
        [0.6, '2026-07-01', null, plan],
        [0.6, '2026-07-01', null, plan],
      ])
      expect([await eventsOf(location, 'location.update'), await eventsOf(location, 'price.update')]).toEqual([2, 2])
    }
    // The assignment, the version, and the end of the work.
    expect(await eventsOf(plan, 'plan.update')).toBe(3)
  })

  it('is changed and deleted, and tariffs with the same prices keep their ids', async () => {
    const plan = await makePlan()
    const location = await makeLocation(live)
    await assign(plan, { location_id: location, start_date: '2026-02-01' })
    const post = (from: string, price: number) =>
      live.call('POST', `/plans/${plan}/versions`, { from, tariffs: [planTariff(price)], charges: [] })
    await post('2026-07-01', 0.4)
    expect(await post('2026-07-01', 0.5)).toMatchObject(refusedWith(400, 'version_exists'))
    await applyAll()
    const idsAt = async () =>
      new Map(
        listed(await live.call('GET', `/tariffs?location_id=${location}`)).map(one => [one['plan_version'], one['id']]),
      )
    const before = await idsAt()
    const path = `/plans/${plan}/versions/2`
    expect((await live.call('PATCH', path, { from: '2026-09-01' })).status).toBe(202)
    await applyAll()
    expect(await idsAt()).toEqual(before)
    expect(await tariffsAt(location)).toEqual([
      [1, '2026-01-31T23:00:00Z', '2026-08-31T22:00:00Z'],
      [2, '2026-08-31T22:00:00Z', null],
    ])
    await live.call('PATCH', path, { tariffs: [planTariff(0.45)] })
    await applyAll()
    expect((await idsAt()).get(1)).toBe(before.get(1))
    expect((await idsAt()).get(2)).not.toBe(before.get(2))
    const first = `/plans/${plan}/versions/1`
    expect(await live.call('DELETE', first)).toMatchObject(refusedWith(400, 'field_immutable'))
    expect(await live.call('PATCH', first, { from: '2026-01-01' })).toMatchObject(refusedWith(400, 'field_immutable'))
    expect((await live.call('DELETE', path)).status).toBe(202)
    await applyAll()
    expect(await tariffsAt(location)).toEqual([[1, '2026-01-31T23:00:00Z', null]])
    expect((await live.call('DELETE', path)).status).toBe(404)
    expect(await post('2026-07-01', 0.4)).toMatchObject({ body: { version: 3 } })
  })

  it('is refused if a location has a tariff of its own, and later such a location is shown and tried again', async () => {
    const plan = await makePlan({ tariffs: [] })
    const location = await makeLocation(live)
    const id = firstAssignment(await assign(plan, { location_id: location, start_date: '2026-02-01' }))
    const own = await make(live, '/tariffs', flatTariff(location))
    const body = { from: '2026-07-01', tariffs: [planTariff(0.4)] }
    const path = `/plans/${plan}/versions`
    expect(await live.call('POST', path, body)).toMatchObject(refusedWith(400, 'tariff_overlap'))
    await live.call('DELETE', `/tariffs/${own}?void=true`)
    expect((await live.call('POST', path, body)).status).toBe(202)
    const meanwhile = await make(live, '/tariffs', flatTariff(location))
    await applyAll()
    const failed = [{ location_id: location, code: 'tariff_overlap', message: expect.stringContaining(meanwhile) }]
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 1, applied: 0, failed })
    expect((await live.call('GET', `/plans/${plan}/assignments/${id}`)).body).toMatchObject({
      status: 'FAILED',
      error: { code: 'tariff_overlap' },
    })
    await live.call('DELETE', `/tariffs/${meanwhile}?void=true`)
    expect(await applyAll()).toBe(0)
    wait(600_000)
    await applyAll()
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ applied: 1, failed: [] })
    expect(await tariffsAt(location)).toEqual([[2, '2026-06-30T22:00:00Z', null]])
  })

  it('is at most one of 100 of a plan', async () => {
    const plan = await makePlan()
    await service.database.operator(sql`
      insert into plan_versions (account_id, live_mode, plan_id, version, start_day, time_created)
      select account_id, live_mode, id, number, number, time_created
      from plans, generate_series(2, 99) as number where id = ${plan}`)
    await service.database.operator(sql`update plans set last_version = 99 where id = ${plan}`)
    const post = (from: string) => live.call('POST', `/plans/${plan}/versions`, { from })
    expect(await post('2026-01-01')).toMatchObject({ status: 202, body: { version: 100 } })
    expect(await post('2026-02-01')).toMatchObject(refusedWith(400, 'too_many_versions'))
  })

  it('moves with the time zone of a location', async () => {
    const plan = await makePlan()
    const location = await makeLocation(live)
    await assign(plan, { location_id: location, start_date: '2026-02-01' })
    expect((await live.call('PATCH', `/locations/${location}`, { timezone: 'Europe/Lisbon' })).status).toBe(200)
    await applyAll()
    expect(await tariffsAt(location)).toEqual([[1, '2026-02-01T00:00:00Z', null]])
  })
})

describe('the work on plans', () => {
  it('lets accounts take turns, and stays exact if pages are repeated', async () => {
    const other = (await makeAccount(service)).live
    const locations = await Promise.all(Array.from({ length: 120 }, () => makeLocation(live)))
    const plan = await makePlan()
    await assign(plan, ...locations.map(location_id => ({ location_id, start_date: '2026-02-01' })))
    const otherPlan = await make(other, '/plans', planBody())
    const otherLocation = await makeLocation(other)
    await other.call('POST', `/plans/${otherPlan}/assignments`, [
      { location_id: otherLocation, start_date: '2026-02-01' },
    ])
    for (const [client, id] of [
      [live, plan],
      [other, otherPlan],
    ] as const)
      await client.call('POST', `/plans/${id}/versions`, { from: '2026-07-01', tariffs: [planTariff(0.4)] })
    await turn()
    await turn()
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 120, applied: 100 })
    expect((await other.call('GET', `/plans/${otherPlan}`)).body).toMatchObject({ sites: 1, applied: 1 })
    // As after a crash between the commit of the tariffs and the commit of the revision, if those were apart.
    await service.database.operator(sql`update plan_assignments set applied_revision = 0 where plan_id = ${plan}`)
    await Promise.all([applyAll(), applyAll()])
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 120, applied: 120 })
    const { rows } = await service.database.operator(sql`
      select 1 from tariffs where plan_id = ${plan} and voided_at is null`)
    expect(rows).toHaveLength(240)
  })
})
