import sql from 'sql-template-tag'
import { expect, it } from 'vitest'
import { fanOutCalendarPage, giveDefaultCalendars } from '../../../services/background/calendar-work.ts'
import { locationEvent } from '../../../services/contract/registry/location-view.ts'
import { recostRequestOf } from '../../../services/platform/postgres/events/outbox.ts'
import {
  recostCalendarPage,
  writeCalendarFanOut,
} from '../../../services/platform/postgres/pricing/calendar-fan-outs.ts'
import { createCalendar, retrieveCalendar } from '../../../services/platform/postgres/pricing/calendars.ts'
import { createTariff } from '../../../services/platform/postgres/pricing/tariffs.ts'
import { createLocation } from '../../../services/platform/postgres/registry/locations.ts'
import { withTenant } from '../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { locationDraft, tariffDraft, tieredSchedule } from '../../support/registry/drafts.ts'
import { useTenants } from '../../support/registry/use-database.ts'

const at = 1_760_000_000_000
const { database, live, test, inLive, change } = await useTenants()

const calendarDraft = {
  name: 'c',
  countryCode: null,
  state: null,
  countryDays: [],
  remove: [],
  dayTypes: [],
  add: [{ day: 20_000, name: 'x' }],
}

/** Create a location with a tariff that names Holidays, or none. */
const newLocation = async (calendarId: string, timezone: string, namesHolidays = true): Promise<string> => {
  const { id } = acceptedValue(await change(tx => createLocation(tx, locationDraft({ calendarId, timezone }), at)))
  const [plain] = tieredSchedule(300_000_000n)
  const days = (plain?.daysAndHours ?? []).map(block => ({ ...block, days: ['Holidays' as const] }))
  const schedule = [plain, ...(namesHolidays ? [{ ...plain, daysAndHours: days }] : [])] as ReturnType<
    typeof tieredSchedule
  >
  acceptedValue(await change(tx => createTariff(tx, tariffDraft(id, { schedule }), at)))
  return id
}

it('prices all locations of a changed calendar again, page by page, each once', async () => {
  const { id: calendarId } = await inLive(tx => createCalendar(tx, calendarDraft, at))
  const zones = ['Europe/Berlin', 'Europe/Berlin', 'UTC', 'America/New_York', 'UTC']
  const ids: string[] = []
  for (const zone of zones) ids.push(await newLocation(calendarId, zone))
  const plain = await newLocation(calendarId, 'UTC', false)
  const before = await inLive(tx => tx.query<{ id: number }>(sql`select coalesce(max(id), 0) as id from outbox`))
  const changed = { ...live, calendarId, names: ['Holidays' as const], startDay: 20_000, endDay: 20_002 }
  await inLive(async tx => {
    const { cursor } = await recostCalendarPage(
      tx.query,
      { ...changed, cursor: '' },
      {
        at,
        limit: 2,
        eventOf: location => locationEvent('location.update', location, at),
      },
    )
    expect(cursor).toBe(ids[1])
    await writeCalendarFanOut(tx, { ...changed, revision: 1, cursor: cursor ?? '' })
  })
  const pages: boolean[] = []
  do pages.push(await fanOutCalendarPage(database, at, 2))
  while (pages.at(-1) === true)
  expect(pages).toEqual([true, true, false])
  const { rows: revisions } = await inLive(tx =>
    tx.query<{ id: string; revision: number }>(sql`
      select id, pricing_revision as revision from locations where calendar_id = ${calendarId} order by id`),
  )
  // One for the tariff, one for the calendar.
  expect(new Map(revisions.map(({ id, revision }) => [id, revision]))).toEqual(
    new Map([...ids.map(id => [id, 2] as const), [plain, 1] as const]),
  )
  const { rows: messages } = await database.operator<{ payload: string }>(sql`
    select payload::text as payload from outbox where id > ${before.rows[0]?.id ?? 0} and topic = 'meter.records.v1'
    order by id`)
  const requests = messages.map(({ payload }) => recostRequestOf(payload))
  expect(requests.flatMap(({ locations }) => locations).toSorted()).toEqual(ids.toSorted())
  const ofNewYork = requests.find(({ locations }) => locations.includes(ids[3] ?? ''))
  expect(ofNewYork).toMatchObject({
    from: Date.UTC(2024, 9, 4, 4),
    to: Date.UTC(2024, 9, 6, 4),
    revision: 2,
  })
  const { rows: events } = await inLive(tx =>
    tx.query<{ type: string; count: number }>(sql`
      select type, count(*) as count from events where type in ('location.update', 'price.update') group by type
      order by type`),
  )
  // Each tariff has written a `price.update` of its own.
  expect(events).toEqual([
    { type: 'location.update', count: 5 },
    { type: 'price.update', count: 11 },
  ])
})

it('shows a calendar to its account and mode only', async () => {
  const { id } = await inLive(tx => createCalendar(tx, calendarDraft, at))
  expect((await inLive(tx => retrieveCalendar(tx, id)))?.name).toBe('c')
  expect(await withTenant(database, test, tx => retrieveCalendar(tx, id))).toBeNull()
  const { rows } = await withTenant(database, test, tx => tx.query(sql`select 1 from calendars where id = ${id}`))
  expect(rows).toEqual([])
  const refused = await change(tx => createLocation({ ...tx, ...live }, locationDraft({ calendarId: 'cal_none' }), at))
  expect(refused).toMatchObject({ ok: false, refusal: { code: 'calendar_not_found', field: 'calendar_id' } })
})

it('gives locations from before calendars the calendar of their country, unless they have one', async () => {
  const { id: own } = await inLive(tx => createCalendar(tx, calendarDraft, at))
  const make = async (change_: Parameters<typeof locationDraft>[0]) =>
    acceptedValue(await change(tx => createLocation(tx, locationDraft(change_), at))).id
  const ids = [await make({}), await make({ calendarId: own }), await make({ postalAddress: null })]
  await inLive(tx => tx.query(sql`update locations set needs_calendar = true where id = any(${ids})`))
  expect(await giveDefaultCalendars(database, at)).toBe(false)
  const { rows } = await inLive(tx =>
    tx.query<{ id: string; needs: boolean; country: string | null; calendar: string | null }>(sql`
      select l.id, needs_calendar as needs, country_code as country, calendar_id as calendar
      from locations l left join calendars c on c.id = calendar_id where l.id = any(${ids}) order by l.id`),
  )
  expect(rows.map(({ needs, country, calendar }) => [needs, country, calendar === own])).toEqual([
    [false, 'DE', false],
    [false, null, true],
    [false, null, false],
  ])
})
