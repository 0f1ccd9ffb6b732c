import sql, { type Sql } from 'sql-template-tag'
import type { CalendarChange } from '../../../domain/calendar/calendar.ts'
import type { Location } from '../../../domain/registry/location.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import { instantsOfDays } from '../../time-zone.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { type EventDraft, writeEvents } from '../events/events.ts'
import { newRecostRequest, type OutboxMessage, writeRecostRequests } from '../events/outbox.ts'
import { lockLocations } from '../registry/locations.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'
import { type PriceUpdate, priceEvent } from './price-events.ts'

/** Change of a calendar whose locations are priced again page by page. `cursor`: the last location that is done. */
export type CalendarFanOut = CalendarChange &
  Tenant & { readonly calendarId: string; readonly revision: number; readonly cursor: string }

type ChangeOfCalendar = Tenant & CalendarChange & { readonly calendarId: string }

/** Condition that a tariff of location `l` names one of some special days. Ended tariffs count, voided ones do not. */
const namesOneOf = (names: readonly string[]): Sql => sql`
  t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id and t.voided_at is null
  and t.special_days && ${names}::text[]`

const isAffected = ({ accountId, liveMode, calendarId, names }: ChangeOfCalendar): Sql => sql`
  l.account_id = ${accountId} and l.live_mode = ${liveMode} and l.calendar_id = ${calendarId} and l.deleted_at is null
  and exists (select 1 from tariffs t where ${namesOneOf(names)})`

type AffectedRow = { readonly id: string; readonly timezone: string; readonly revision: number }

/** List the prices that a change of a calendar alters at all of its locations. */
export const affectedPrices = async (query: Query, change: ChangeOfCalendar): Promise<readonly PriceUpdate[]> => {
  const rows = await readRows(query)<{ id: string; timezone: string; direction: TariffDirection }>(sql`
    select distinct l.id, l.timezone, t.direction from locations l join tariffs t on ${namesOneOf(change.names)}
    where ${isAffected(change)} order by l.id, t.direction`)
  return rows.map(({ id, timezone, direction }) => ({
    locationId: id,
    direction,
    ...instantsOfDays(timezone, change),
  }))
}

/** Result of a page: recost requests to publish, and the last location; null if no location is left. */
type CalendarPage = { readonly messages: readonly OutboxMessage[]; readonly cursor: string | null }

/**
 * Price one page of locations again after a change of their calendar: raise their pricing revision, and write recost
 * requests, `price.update` and the event of `eventOf` for each.
 * Source: docs/rules/calendars.md #changes.
 */
export const recostCalendarPage = async (
  query: Query,
  change: ChangeOfCalendar & { readonly cursor: string },
  { at, limit = 500, eventOf }: CalendarPageOptions,
): Promise<CalendarPage> => {
  const { accountId, liveMode } = change
  const rows = await readRows(query)<AffectedRow>(sql`
    update locations set pricing_revision = pricing_revision + 1
    where account_id = ${accountId} and live_mode = ${liveMode} and id = any(array(
      select l.id from locations l where ${isAffected(change)} and l.id > ${change.cursor}
      order by l.id limit ${limit} for no key update))
    returning id, timezone, pricing_revision as revision`)
  const keys = rows.map(({ id }) => ({ accountId, liveMode, locationId: id }))
  const locations = await lockLocations({ query }, keys)
  const updates = await priceUpdates(query, change, rows)
  await writeEvents({ accountId, liveMode, query }, [...locations.map(eventOf), ...updates], at)
  const requests = [...Map.groupBy(rows, ({ timezone }) => timezone)].map(([zoneName, inZone]) =>
    newRecostRequest({
      accountId,
      liveMode,
      locations: inZone.map(({ id }) => id),
      ...instantsOfDays(zoneName, change),
      revision: Math.max(...inZone.map(({ revision }) => revision)),
    }),
  )
  const messages = await writeRecostRequests(query, requests, at)
  return { messages, cursor: rows.length < limit ? null : (locations.at(-1)?.id ?? null) }
}

/** `limit`: locations of a page. `eventOf`: event `location.update`. */
type CalendarPageOptions = {
  readonly at: number
  readonly limit?: number
  readonly eventOf: (location: Location) => EventDraft
}

/** Create `price.update` for each direction whose tariffs name the changed days. */
const priceUpdates = async (
  query: Query,
  change: ChangeOfCalendar,
  rows: readonly AffectedRow[],
): Promise<readonly EventDraft[]> => {
  const directions = await readRows(query)<{ id: string; direction: TariffDirection }>(sql`
    select distinct l.id, t.direction from locations l join tariffs t on ${namesOneOf(change.names)}
    where l.account_id = ${change.accountId} and l.live_mode = ${change.liveMode}
      and l.id = any(${rows.map(({ id }) => id)}) order by l.id, t.direction`)
  const zones = new Map(rows.map(({ id, timezone }) => [id, timezone]))
  return directions.map(({ id, direction }) =>
    priceEvent(change, { locationId: id, direction, ...instantsOfDays(zones.get(id) ?? '', change) }),
  )
}

/** Write the rest of a change in its own transaction, for the pages after the first. */
export const writeCalendarFanOut = async (
  { accountId, liveMode, query }: TenantTransaction,
  { calendarId, revision, names, startDay, endDay, cursor }: CalendarFanOut,
): Promise<void> => {
  await query(sql`
    insert into calendar_fan_outs (account_id, live_mode, calendar_id, revision, names, start_day, end_day, cursor, turn_at)
    values (${accountId}, ${liveMode}, ${calendarId}, ${revision}, ${names}, ${startDay}, ${endDay}, ${cursor},
      clock_timestamp())`)
}

/** Lock the change that has waited longest; null if none is left. */
export const nextCalendarFanOut = (query: Query): Promise<CalendarFanOut | null> =>
  readFirst(query)(sql`
    select account_id as "accountId", live_mode as "liveMode", calendar_id as "calendarId", revision, names,
      start_day as "startDay", end_day as "endDay", cursor
    from calendar_fan_outs order by turn_at, calendar_id, revision limit 1 for update skip locked`)

/** Move a locked change past a page, or end it if `cursor` is null. */
export const advanceCalendarFanOut = async (
  query: Query,
  { accountId, liveMode, calendarId, revision }: CalendarFanOut,
  cursor: string | null,
): Promise<void> => {
  const named = sql`account_id = ${accountId} and live_mode = ${liveMode} and calendar_id = ${calendarId}
    and revision = ${revision}`
  await query(
    cursor === null
      ? sql`delete from calendar_fan_outs where ${named}`
      : sql`update calendar_fan_outs set cursor = ${cursor}, turn_at = clock_timestamp() where ${named}`,
  )
}
