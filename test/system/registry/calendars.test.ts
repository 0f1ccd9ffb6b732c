import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeOne } from '../../support/system/home.ts'
import { costsOf, costsUntil } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Calendar = {
  readonly id: string
  readonly state: string | null
  readonly account_id: string | null
  readonly dates: readonly { readonly date: string; readonly name: string }[]
}

const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown> =>
  client.ask(method, path, body)
const calendarOf = async (id: string, year: number): Promise<Calendar> =>
  (await ask('GET', `/calendars/${id}?year=${year}`)) as Calendar
const datesOf = async (id: string, year: number): Promise<readonly string[]> =>
  (await calendarOf(id, year)).dates.map(({ date }) => date)

/** Send a request that must be refused. Returns the status, the code and the field. */
const refusalOf = async (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
  const { status, json } = await client.send(method, path, body)
  const { code, field } = json as { code: string; field?: string | null }
  return [status, code, field]
}

const allDay = (fixed: number, days: readonly string[]) => ({
  days,
  hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed }] }],
})
/** Prices of days; 0.10 on all others. */
type PricedDays = readonly (readonly [number, readonly string[]])[]
const schedule = (days: PricedDays) => [
  { days_and_hours: [[0.1, ['All']] as const, ...days].map(([fixed, names]) => allDay(fixed, names)) },
]
const tariffOf = (location: string, ...days: PricedDays) => ({
  location_id: location,
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: schedule(days),
})
const makeLocation = (more: object = {}): Promise<string> =>
  makeOne(client, '/locations', { timezone: 'Europe/Oslo', currency_code: 'NOK', ...more })

/** One kWh at noon of a day of May 2025. */
const noon = (location: string, day: number, name: string) =>
  bought(location, 1, `2025-05-${day}T10:00:00Z`, `2025-05-${day}T11:00:00Z`, { record_reference_id: name })

describe('a calendar', () => {
  it('begins with the public holidays of its country or state, less the removed and with the added ones', async () => {
    const norway = await makeOne(client, '/calendars', { name: 'Norway', country_code: 'NO' })
    expect(await datesOf(norway, 2026)).toEqual(
      [
        ['01-01', '04-02', '04-03', '04-05', '04-06', '05-01', '05-14', '05-17', '05-24', '05-25', '12-25', '12-26'],
      ].flatMap(days => days.map(day => `2026-${day}`)),
    )
    const own = { add: [{ date: '2026-12-24', name: 'Eve' }], remove: ['2026-01-06'] }
    const bavaria = await makeOne(client, '/calendars', { name: 'B', country_code: 'de', state: 'Bayern', ...own })
    const { state, dates } = await calendarOf(bavaria, 2026)
    expect(state).toBe('BY')
    const found = dates.map(({ date }) => date)
    expect(found).toEqual(expect.arrayContaining(['2026-06-04', '2026-11-01', '2026-12-24']))
    expect(found).not.toContain('2026-01-06')
    const { id: germany } = (await ask('POST', '/calendars', { name: 'D', country_code: 'DE' })) as Calendar
    expect(await datesOf(germany, 2026)).not.toContain('2026-11-01')
  })

  it('of its country and state is the default of a location, and belongs to no account', async () => {
    const address = { city: 'München', state: 'Bayern', post_code: '80331', country_code: 'DE' }
    const location = (await ask('POST', '/locations', { postal_address: address })) as {
      id: string
      calendar_id: string
    }
    const { state, account_id, dates } = await calendarOf(location.calendar_id, 2025)
    expect([state, account_id]).toEqual(['BY', null])
    expect(dates).toContainEqual({ date: '2025-11-01', name: 'Allerheiligen' })
    expect(await refusalOf('PATCH', `/calendars/${location.calendar_id}`, { name: 'Mine' })).toEqual([
      404,
      'not_found',
      undefined,
    ])
    expect((await refusalOf('DELETE', `/calendars/${location.calendar_id}`))[0]).toBe(404)
    const own = await makeOne(client, '/calendars', { name: 'Own' })
    const patched = async (body: object) =>
      ((await ask('PATCH', `/locations/${location.id}`, body)) as typeof location).calendar_id
    expect(await patched({ calendar_id: own })).toBe(own)
    expect(await patched({ postal_address: { ...address, state: null } })).toBe(own)
    const country = await patched({ calendar_id: null })
    expect((await calendarOf(country, 2025)).state).toBeNull()
    expect(
      await refusalOf('PATCH', `/locations/${location.id}`, { calendar_id: 'cal_0198c0ffee00112233445566' }),
    ).toEqual([400, 'calendar_not_found', 'calendar_id'])
  })

  it('is refused without sense: unknown countries and states, repeated dates, more than its limits', async () => {
    const add = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        date: new Date(Date.UTC(2020, 0, 1 + index)).toISOString().slice(0, 10),
        name: 'x',
      }))
    const types = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `t${index}`, dates: [] }))
    const codes = async (body: object) => (await client.send('POST', '/calendars', { name: 'x', ...body })).status
    expect(await Promise.all([{ add: add(2000) }, { day_types: types(20) }].map(codes))).toEqual([201, 201])
    const wrong = [
      { add: add(2001) },
      { day_types: types(21) },
      {
        day_types: [
          { name: 'a', dates: add(1999).map(({ date }) => date) },
          { name: 'b', dates: ['2020-01-01', '2020-01-02'] },
        ],
      },
      { country_code: 'ZZ' },
      { country_code: 'NO', state: 'Atlantis' },
      { state: 'BY' },
      { add: [...add(1), ...add(1)] },
      { add: [{ date: '2026-02-29', name: 'x' }] },
      { day_types: [{ name: '#a', dates: [] }] },
    ]
    expect(await Promise.all(wrong.map(codes))).toEqual(wrong.map(() => 400))
  })
})

describe('stored costs follow the calendar', () => {
  it('after a PATCH of its days, and after another calendar of the location', async () => {
    const fair = { name: 'fair', dates: ['2025-05-14'] }
    const calendar = await makeOne(client, '/calendars', { name: 'c', country_code: 'NO', day_types: [fair] })
    const home = await makeLocation({ calendar_id: calendar })
    await ask('POST', '/tariffs', tariffOf(home, [0.2, ['Holidays']], [0.4, ['#fair']]))
    await client.submit([noon(home, 13, 'plain'), noon(home, 14, 'fair'), noon(home, 17, 'holiday')])
    expect(await costsUntil(client, home, { plain: 0.1, fair: 0.4, holiday: 0.2 })).toEqual({
      plain: 0.1,
      fair: 0.4,
      holiday: 0.2,
    })
    const moved = { remove: ['2025-05-17'], day_types: [{ name: 'fair', dates: ['2025-05-13'] }] }
    const dryRun = { locations: 1, stored_rows: 3, errors: [] }
    expect(await ask('PATCH', `/calendars/${calendar}`, { ...moved, dry_run: true })).toMatchObject(dryRun)
    expect(await costsOf(client, home)).toEqual({ plain: 0.1, fair: 0.4, holiday: 0.2 })
    await ask('PATCH', `/calendars/${calendar}`, moved)
    const after = { plain: 0.4, fair: 0.1, holiday: 0.1 }
    expect(await costsUntil(client, home, after)).toEqual(after)
    const { data: events } = (await ask('GET', `/events?object_id=${home}&event_type=price.update`)) as {
      data: { data: object }[]
    }
    expect(events[0]?.data).toMatchObject({ start_time: '2025-05-12T22:00:00Z', end_time: '2025-05-17T22:00:00Z' })
    const other = await makeOne(client, '/calendars', {
      name: 'o',
      day_types: [{ name: 'fair', dates: ['2025-05-17'] }],
    })
    await ask('PATCH', `/locations/${home}`, { calendar_id: other })
    const last = { plain: 0.1, fair: 0.1, holiday: 0.4 }
    expect(await costsUntil(client, home, last)).toEqual(last)
    const inUse = { errors: [{ code: 'calendar_in_use' }] }
    expect(await ask('DELETE', `/calendars/${other}?dry_run=true`)).toMatchObject(inUse)
    expect(await ask('DELETE', `/calendars/${calendar}?dry_run=true`)).toMatchObject({ locations: 0, errors: [] })
    await ask('DELETE', `/calendars/${calendar}`)
    expect(await refusalOf('DELETE', `/calendars/${other}`)).toEqual([400, 'calendar_in_use', undefined])
  })

  it('and prices follow at once, but only of tariffs that name the days', async () => {
    const calendar = await makeOne(client, '/calendars', { name: 'c' })
    const [home, flat] = [await makeLocation({ calendar_id: calendar }), await makeLocation({ calendar_id: calendar })]
    await ask('POST', '/tariffs', tariffOf(home, [0.2, ['Holidays']]))
    await ask('POST', '/tariffs', tariffOf(flat))
    await ask('PATCH', `/calendars/${calendar}`, { add: [{ date: '2025-05-13', name: 'x' }] })
    const span = { start_time: '2025-05-13T10:00:00Z', end_time: '2025-05-13T11:00:00Z' }
    const { data } = (await ask('POST', `/prices/${home}`, span)) as { data: { price: { value: number } }[] }
    expect(data[0]?.price.value).toBe(0.2)
    const { data: updates } = (await ask('GET', '/events?event_type=price.update&limit=3')) as {
      data: { object_id: string }[]
    }
    expect(updates.map(({ object_id }) => object_id)).not.toContain(flat)
    expect(await costsOf(client, home)).toEqual({})
  })

  it('also of the tariffs of a plan', async () => {
    const calendar = await makeOne(client, '/calendars', { name: 'c', add: [{ date: '2025-05-17', name: 'x' }] })
    const [home, bare] = [await makeLocation({ calendar_id: calendar }), await makeLocation()]
    const tariff = { direction: 'IMPORT', type: 'COMMODITY', schedule: schedule([[0.2, ['Holidays']]]) }
    const plan = await makeOne(client, '/plans', { name: 'p', currency_code: 'NOK', tariffs: [tariff], charges: [] })
    const assignments = [home, bare].map(location_id => ({ location_id, start_date: '2025-01-01' }))
    const assigned = (await ask('POST', `/plans/${plan}/assignments`, assignments)) as { failed: { code: string }[] }
    expect(assigned.failed.map(({ code }) => code)).toEqual(['calendar_required'])
    await client.submit([noon(home, 14, 'plain'), noon(home, 17, 'holiday')])
    expect(await costsUntil(client, home, { plain: 0.1, holiday: 0.2 })).toEqual({ plain: 0.1, holiday: 0.2 })
    await ask('PATCH', `/calendars/${calendar}`, { add: [{ date: '2025-05-14', name: 'x' }] })
    expect(await costsUntil(client, home, { plain: 0.2, holiday: 0.1 })).toEqual({ plain: 0.2, holiday: 0.1 })
  })

  it('while tariffs need it: days that a tariff names stay', async () => {
    const bare = await makeLocation()
    const field = 'schedule[0].days_and_hours[1].days'
    expect(await refusalOf('POST', '/tariffs', tariffOf(bare, [0.2, ['Holidays']]))).toEqual([
      400,
      'calendar_required',
      field,
    ])
    const calendar = await makeOne(client, '/calendars', {
      name: 'c',
      day_types: [
        { name: 'a', dates: ['2025-05-01'] },
        { name: 'b', dates: ['2025-05-02'] },
      ],
    })
    const home = await makeLocation({ calendar_id: calendar })
    expect(await refusalOf('POST', '/tariffs', tariffOf(home, [0.2, ['#c']]))).toEqual([
      400,
      'day_type_not_found',
      field,
    ])
    await ask('POST', '/tariffs', tariffOf(home, [0.2, ['#a']], [0.3, ['#b']]))
    expect((await refusalOf('PATCH', `/calendars/${calendar}`, { day_types: [] }))[1]).toBe('day_type_not_found')
    const window = { location_id: home, kind: 'DEMAND', name: 'd', price: 1, per: 'MONTH', windows: [{ days: ['#b'] }] }
    const busy = await makeLocation({ calendar_id: calendar })
    await ask('POST', '/charges', { ...window, location_id: busy })
    const [a] = [{ name: 'a', dates: ['2025-05-01'] }]
    expect((await refusalOf('PATCH', `/calendars/${calendar}`, { day_types: [a] }))[1]).toBe('day_type_not_found')
    expect((await refusalOf('POST', '/charges', { ...window, location_id: bare }))[1]).toBe('calendar_required')
    expect(await refusalOf('PATCH', `/locations/${busy}`, { calendar_id: null })).toEqual([
      400,
      'calendar_required',
      'calendar_id',
    ])
    const both = { day_types: ['a', 'b'].map(name => ({ name, dates: ['2025-05-01'] })) }
    expect((await refusalOf('PATCH', `/calendars/${calendar}`, both))[1]).toBe('schedule_overlap')
    expect(await refusalOf('PATCH', `/locations/${home}`, { calendar_id: null })).toEqual([
      400,
      'calendar_required',
      'calendar_id',
    ])
  })
})
