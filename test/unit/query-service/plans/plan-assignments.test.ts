import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { firstAssignment, planTariff, refusedWith, usePlans } from '../../../support/plans/plan-fixture.ts'
import { flatTariff, listed, make, makeLocation } from '../../../support/registry/service.ts'
import { allHours } from '../../../support/tariffs/all-hours.ts'

const { service, live, makePlan, assign, tariffsAt, chargesAt, eventsOf } = await usePlans()

describe('an assignment', () => {
  it('gives the location tariffs and charges with dates of its own zone, and one recost request', async () => {
    const plan = await makePlan()
    const [berlin, lisbon] = [await makeLocation(live), await makeLocation(live, { timezone: 'Europe/Lisbon' })]
    service.published.splice(0)
    const answer = await assign(
      plan,
      { location_id: berlin, start_date: '2026-02-01' },
      { location_id: lisbon, start_date: '2026-02-01', end_date: '2026-08-01' },
    )
    expect(answer).toMatchObject({
      status: 200,
      body: { data: [{ status: 'APPLIED' }, { end_date: '2026-08-01' }], failed: [] },
    })
    expect(await tariffsAt(berlin)).toEqual([[1, '2026-01-31T23:00:00Z', null]])
    expect(await tariffsAt(lisbon)).toEqual([[1, '2026-02-01T00:00:00Z', '2026-07-31T23:00:00Z']])
    expect(await chargesAt(lisbon)).toEqual([[0.5, '2026-02-01', '2026-08-01', plan]])
    const requests = service.published.splice(0).map(({ payload }) => JSON.parse(payload))
    expect(requests.map(({ locations, from, to }) => [locations, from, to])).toEqual([
      [[berlin], Date.parse('2026-01-31T23:00:00Z'), null],
      [[lisbon], Date.parse('2026-02-01T00:00:00Z'), null],
    ])
    expect([await eventsOf(berlin, 'location.update'), await eventsOf(berlin, 'price.update')]).toEqual([1, 1])
    expect(await eventsOf(plan, 'plan.update')).toBe(1)
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 2, applied: 2 })
  })

  it('does not need the others of its request: the bad ones are numbered', async () => {
    const plan = await makePlan()
    const [good, taken, pounds] = [
      await makeLocation(live),
      await makeLocation(live),
      await makeLocation(live, { timezone: 'Europe/London', currency_code: 'GBP' }),
    ]
    const own = await make(live, '/tariffs', flatTariff(taken))
    const answer = await assign(
      plan,
      { location_id: taken, start_date: '2026-02-01' },
      { location_id: good, start_date: '2026-02-01', end_date: '2026-03-01' },
      { location_id: good, start_date: '2026-02-28' },
      { location_id: pounds, start_date: '2026-02-01' },
      { location_id: 'loc_unknown', start_date: '2026-02-01' },
      { location_id: good, start_date: '2026-02-30' },
      { location_id: good, start_date: '2026-02-01', end_date: '2026-02-01' },
      { location_id: 'reference:nothing', start_date: '2026-02-01' },
      7,
      { location_id: good, start_date: '2026-03-01' },
    )
    expect(listed(answer).map(one => [one['location_id'], one['start_date']])).toEqual([
      [good, '2026-02-01'],
      [good, '2026-03-01'],
    ])
    const failed = answer.body['failed'] as readonly { number: number; code: string; message: string }[]
    expect(failed.map(({ number, code }) => [number, code])).toEqual([
      [1, 'tariff_overlap'],
      [3, 'tariff_overlap'],
      [4, 'currency_mismatch'],
      [5, 'location_not_found'],
      [6, 'field_invalid'],
      [7, 'end_before_start'],
      [8, 'location_not_found'],
      [9, 'field_invalid'],
    ])
    expect(failed[0]?.message).toContain(own)
    expect(await tariffsAt(good)).toHaveLength(2)
  })

  it('is moved and removed, and the tariffs and charges follow', async () => {
    const plan = await makePlan()
    const location = await makeLocation(live)
    const id = firstAssignment(await assign(plan, { location_id: location, start_date: '2026-02-01' }))
    const path = `/plans/${plan}/assignments/${id}`
    expect(await live.call('DELETE', `/plans/${plan}`)).toMatchObject(refusedWith(400, 'plan_in_use'))
    expect(await live.call('PATCH', path, { end_date: '2026-02-01' })).toMatchObject(
      refusedWith(400, 'end_before_start'),
    )
    expect(await live.call('PATCH', path, { start_date: '2026-03-01' })).toMatchObject(
      refusedWith(400, 'field_immutable'),
    )
    const ended = await live.call('PATCH', path, { end_date: '2026-06-01' })
    expect(ended).toMatchObject({ status: 200, body: { end_date: '2026-06-01', status: 'APPLIED' } })
    expect(await tariffsAt(location)).toEqual([[1, '2026-01-31T23:00:00Z', '2026-05-31T22:00:00Z']])
    expect(await chargesAt(location)).toEqual([[0.5, '2026-02-01', '2026-06-01', plan]])
    const own = await make(live, '/tariffs', flatTariff(location, { contract_start_date: '2026-07-01T00:00:00Z' }))
    expect(await live.call('PATCH', path, { end_date: null })).toMatchObject(refusedWith(400, 'tariff_overlap'))
    await live.call('DELETE', `/tariffs/${own}?void=true`)
    expect((await live.call('PATCH', path, { ...ended.body, end_date: null })).status).toBe(200)
    expect(await tariffsAt(location)).toEqual([[1, '2026-01-31T23:00:00Z', null]])
    expect((await live.call('DELETE', path)).status).toBe(202)
    expect([await tariffsAt(location), await chargesAt(location)]).toEqual([[], []])
    expect((await live.call('GET', path)).status).toBe(404)
    expect((await live.call('DELETE', `/plans/${plan}`)).status).toBe(202)
  })

  it('keeps its tariffs and charges from direct changes', async () => {
    const plan = await makePlan()
    const location = await makeLocation(live)
    await assign(plan, { location_id: location, start_date: '2026-02-01' })
    const [one] = listed(await live.call('GET', `/tariffs?location_id=${location}`))
    const [fee] = listed(await live.call('GET', `/charges?location_id=${location}`))
    const managed = refusedWith(400, 'plan_managed')
    expect(await live.call('PATCH', `/tariffs/${one?.['id']}`, { display_name: 'Mine' })).toMatchObject(managed)
    expect(await live.call('DELETE', `/tariffs/${one?.['id']}`)).toMatchObject(managed)
    expect(await live.call('DELETE', `/tariffs/${one?.['id']}?void=true`)).toMatchObject(managed)
    expect(await live.call('PATCH', `/charges/${fee?.['id']}`, { name: 'Mine' })).toMatchObject(managed)
    expect(await live.call('DELETE', `/charges/${fee?.['id']}`)).toMatchObject(managed)
  })

  it('needs a calendar for the special days of the plan, and the tariff names them', async () => {
    const holidays = { ...allHours([{ fixed: 0.1 }])[0] }
    const schedule = [
      ...allHours([{ fixed: 0.3 }]),
      { ...holidays, days_and_hours: holidays.days_and_hours?.map(one => ({ ...one, days: ['Holidays'] })) },
    ]
    const plan = await makePlan({ tariffs: [planTariff(0, { schedule })] })
    const location = await makeLocation(live)
    const element = { location_id: location, start_date: '2026-02-01' }
    expect((await assign(plan, element)).body).toMatchObject({ data: [], failed: [{ code: 'calendar_required' }] })
    const calendar = await make(live, '/calendars', { name: 'Own', add: [{ date: '2026-05-01', name: 'Day' }] })
    expect((await live.call('PATCH', `/locations/${location}`, { calendar_id: calendar })).status).toBe(200)
    expect((await assign(plan, element)).body).toMatchObject({ data: [{ status: 'APPLIED' }], failed: [] })
    const { rows } = await service.database.operator(sql`
      select special_days from tariffs where location_id = ${location}`)
    expect(rows).toEqual([{ special_days: ['Holidays'] }])
  })

  it('ends with its location, and does not keep the plan', async () => {
    const plan = await makePlan()
    const location = await makeLocation(live)
    await assign(plan, { location_id: location, start_date: '2026-02-01' })
    await live.call('DELETE', `/locations/${location}`)
    expect((await live.call('GET', `/plans/${plan}`)).body).toMatchObject({ sites: 0 })
    expect((await live.call('DELETE', `/plans/${plan}`)).status).toBe(202)
  })

  it('is at most 1,000 in a request', async () => {
    const plan = await makePlan()
    const elements = Array.from({ length: 1_001 }, () => ({ location_id: 'loc_unknown', start_date: '2026-02-01' }))
    expect((await assign(plan, ...elements.slice(1))).status).toBe(200)
    expect((await assign(plan, ...elements)).status).toBe(400)
    expect((await assign(plan)).status).toBe(400)
  })
})
