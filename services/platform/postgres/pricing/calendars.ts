import sql, { raw, type Sql } from 'sql-template-tag'
import {
  type CalendarDates,
  type CalendarDraft,
  locationCalendarOf,
  type NamedDay,
  type StoredCalendar,
} from '../../../domain/calendar/calendar.ts'
import type { LocationCalendar } from '../../../domain/charge/location-calendar.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { hasRow, type Query, readFirst, readRows } from '../database.ts'
import { assignmentsOf, insertOf, membersOf, type ObjectTable, rowReader, selectOf } from '../object-table.ts'
import { isActive, mapPage, ownedBy, type Page, type Paging, readBoundedPage } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

const dateTable: ObjectTable<CalendarDates> = {
  name: 'calendars',
  columns: {
    countryDays: ['country_days', 'json'],
    add: ['add_days', 'json'],
    remove: ['remove_days', 'json'],
    dayTypes: ['day_types', 'json'],
  },
}

/** Table of calendars. */
export const calendarTable: ObjectTable<CalendarDraft> = {
  name: 'calendars',
  columns: {
    name: ['name', 'text'],
    countryCode: ['country_code', 'text'],
    state: ['state', 'text'],
    ...dateTable.columns,
  },
}

const dateColumns = raw(membersOf(dateTable))

const columns = sql`${selectOf(calendarTable)}, revision`

/** Read the lists of days of a row, which arrive as JSON text. */
const fromRow = rowReader(dateTable)

/** Condition for the calendars that a tenant may use: its own and the shared ones. */
const usableBy = (tenant: Tenant): Sql => sql`(account_id is null or ${ownedBy(tenant)})`

const noCalendar = refused(
  'not_found',
  'No calendar of the account has this id. Calendars of countries cannot change: create one with the country_code.',
)

/** Create a calendar of an account at `at` (ms). */
export const createCalendar = async (
  { accountId, liveMode, query }: TenantTransaction,
  draft: CalendarDraft,
  at: number,
): Promise<StoredCalendar> => {
  const id = newId('calendar', at)
  await query(insertOf(calendarTable, { accountId, liveMode }, id, draft, at))
  return { ...draft, id, accountId, liveMode, revision: 0, createdAt: at }
}

/** Country, or state by its code, with the version of the source of its holidays. */
export type CountryKey = { readonly countryCode: string; readonly state: string | null; readonly sourceVersion: string }

/** Shared calendar of a country or state: its id and its holidays. */
export type CountryCalendar = { readonly id: string; readonly days: readonly NamedDay[] }

/** Find the shared calendar of a country or state; null if no location needed it yet. */
export const countryCalendar = async (
  query: Query,
  { countryCode, state, sourceVersion }: CountryKey,
): Promise<CountryCalendar | null> => {
  const row = await readFirst(query)<{ id: string; days: string }>(sql`
    select id, country_days as days from calendars
    where account_id is null and country_code = ${countryCode} and coalesce(state, '') = ${state ?? ''}
      and source_version = ${sourceVersion}`)
  return row === null ? null : { id: row.id, days: JSON.parse(row.days) as readonly NamedDay[] }
}

/** Create the shared calendar of a country or state, unless another process did. */
export const createCountryCalendar = async (
  operator: Query,
  { name, countryDays, ...key }: CountryKey & Pick<CalendarDraft, 'name' | 'countryDays'>,
  at: number,
): Promise<CountryCalendar> => {
  await operator(sql`
    insert into calendars (id, name, country_code, state, source_version, country_days, time_created)
    values (${newId('calendar', at)}, ${name}, ${key.countryCode}, ${key.state}, ${key.sourceVersion},
      ${JSON.stringify(countryDays)}::json, ${toTimestamp(at)}) on conflict do nothing`)
  const created = await countryCalendar(operator, key)
  if (created === null) throw new Error('The calendar of a country was not created.')
  return created
}

/** Retrieve a calendar that a tenant may use; null if there is none or it was deleted. */
export const retrieveCalendar = async (transaction: TenantTransaction, id: string): Promise<StoredCalendar | null> => {
  const row = await readFirst(transaction.query)<StoredCalendar>(sql`
    select ${columns} from calendars where ${usableBy(transaction)} and id = ${id} and ${isActive}`)
  return row === null ? null : fromRow(row)
}

/** Stored bytes of the dates on a page at most. A single larger calendar is still returned. */
const maxPageBytes = 2 ** 20

/** List the calendars of an account, newest first. Refuses `cursor_not_found`. */
export const listCalendars = async (
  transaction: TenantTransaction,
  paging: Paging,
): Promise<Result<Page<StoredCalendar>>> => {
  const listing = { table: 'calendars', columns, scope: ownedBy(transaction), filter: isActive }
  const size = sql`length(add_days::text) + length(remove_days::text) + length(day_types::text)`
  const bounded = { ...listing, size, maxBytes: maxPageBytes }
  return mapPage(await readBoundedPage<StoredCalendar>(transaction.query, bounded, paging), fromRow)
}

/**
 * Lock a calendar of an account and the locations that use it, in this order of locks: locations, then the calendar.
 * Refuses `not_found`.
 */
export const lockCalendar = async (transaction: TenantTransaction, id: string): Promise<Result<StoredCalendar>> => {
  const { query } = transaction
  await query(sql`
    select 1 from locations where ${ownedBy(transaction)} and calendar_id = ${id} order by id for no key update`)
  const row = await readFirst(query)<StoredCalendar>(sql`
    select ${columns} from calendars where ${ownedBy(transaction)} and id = ${id} and ${isActive} for update`)
  return row === null ? noCalendar : accepted(fromRow(row))
}

/** Write a locked calendar. Changed dates raise its revision. */
export const updateCalendar = async (
  transaction: TenantTransaction,
  before: StoredCalendar,
  draft: CalendarDraft,
  hasNewDates: boolean,
): Promise<StoredCalendar> => {
  const revision = before.revision + (hasNewDates ? 1 : 0)
  await transaction.query(sql`
    update calendars set ${assignmentsOf(calendarTable, draft)}, revision = ${revision}
    where ${ownedBy(transaction)} and id = ${before.id}`)
  return { ...before, ...draft, revision }
}

/** Delete a locked calendar. Its dates stay for records of deleted locations. Refuses `calendar_in_use`. */
export const deleteCalendar = async (
  transaction: TenantTransaction,
  { id }: StoredCalendar,
  at: number,
): Promise<Result<null>> => {
  const { query } = transaction
  const isUsed = await hasRow(query)(sql`
    select 1 from locations where ${ownedBy(transaction)} and calendar_id = ${id} and ${isActive} limit 1`)
  if (isUsed) return refused('calendar_in_use', 'Locations use this calendar. Give them another one first.')
  await query(sql`update calendars set deleted_at = ${toTimestamp(at)} where ${ownedBy(transaction)} and id = ${id}`)
  return accepted(null)
}

/** Return the id of the calendar of a location; null without a calendar. */
export const calendarIdOf = async (transaction: TenantTransaction, locationId: string): Promise<string | null> => {
  const found = await readFirst(transaction.query)<{ calendarId: string | null }>(sql`
    select calendar_id as "calendarId" from locations where ${ownedBy(transaction)} and id = ${locationId}`)
  return found?.calendarId ?? null
}

const readDays = async (transaction: TenantTransaction, id: string): Promise<LocationCalendar | null> => {
  const row = await readFirst(transaction.query)<CalendarDates>(sql`
    select ${dateColumns} from calendars where ${usableBy(transaction)} and id = ${id}`)
  return row === null ? null : locationCalendarOf(fromRow(row))
}

/** Read the calendars of locations, also of deleted ones. Locations without a calendar are left out. */
export const calendarsOfLocations = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<ReadonlyMap<string, LocationCalendar>> => {
  const locations = await readRows(transaction.query)<{ id: string; calendarId: string }>(sql`
    select id, calendar_id as "calendarId" from locations
    where ${ownedBy(transaction)} and id = any(${locationIds}) and calendar_id is not null`)
  const ids = [...new Set(locations.map(({ calendarId }) => calendarId))]
  if (ids.length === 0) return new Map()
  const rows = await readRows(transaction.query)<CalendarDates & { id: string }>(sql`
    select id, ${dateColumns} from calendars where ${usableBy(transaction)} and id = any(${ids})`)
  const calendars = new Map(rows.map(row => [row.id, locationCalendarOf(fromRow(row))]))
  return new Map(
    locations.flatMap(({ id, calendarId }) => {
      const calendar = calendars.get(calendarId)
      return calendar === undefined ? [] : [[id, calendar] as const]
    }),
  )
}

/** Read a calendar that a tenant may use, and keep it from changing until the transaction ends; null if unknown. */
export const holdCalendar = async (transaction: TenantTransaction, id: string): Promise<LocationCalendar | null> => {
  // Shared calendars never change, and a tenant may not lock them.
  await transaction.query(sql`select 1 from calendars where ${ownedBy(transaction)} and id = ${id} for share`)
  return readDays(transaction, id)
}

/** Read the calendar of a locked location, and keep it from changing until the transaction ends; null without one. */
export const holdCalendarOfLocation = async (
  transaction: TenantTransaction,
  locationId: string,
): Promise<LocationCalendar | null> => {
  const id = await calendarIdOf(transaction, locationId)
  return id === null ? null : holdCalendar(transaction, id)
}

/** Days of a calendar for the evaluator, at a revision. */
export type CalendarRevision = { readonly id: string; readonly revision: number; readonly calendar: LocationCalendar }

/** Load some calendars, deleted ones too. Unknown ones are left out. */
export const loadCalendars = async (operator: Query, ids: readonly string[]): Promise<readonly CalendarRevision[]> => {
  if (ids.length === 0) return []
  const rows = await readRows(operator)<CalendarDates & Pick<CalendarRevision, 'id' | 'revision'>>(sql`
    select id, revision, ${dateColumns} from calendars where id = any(${ids})`)
  return rows.map(({ id, revision, ...dates }) => ({
    id,
    revision,
    calendar: locationCalendarOf(fromRow(dates)),
  }))
}
