import sql from 'sql-template-tag'
import { type CalendarChange, calendarChange } from '../../../domain/calendar/calendar.ts'
import type { LocationCalendar } from '../../../domain/charge/location-calendar.ts'
import { validateChargeDays } from '../../../domain/charge/validate-charge.ts'
import { accepted, type Refusal, type Result, refused } from '../../../domain/refusal.ts'
import { specialDaysOf } from '../../../domain/tariff/special-days.ts'
import type { StoredTariff } from '../../../domain/tariff/stored-tariff.ts'
import type { ScheduleEntry, SpecialDay, Tariff } from '../../../domain/tariff/tariff.ts'
import { schedulesOf } from '../../../domain/tariff/tariff-version.ts'
import { validateSpecialDays } from '../../../domain/tariff/validate-coverage.ts'
import { ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'
import { holdCalendar } from './calendars.ts'
import { chargesOf } from './charges.ts'
import { readTariffRows, type TariffRow, tariffColumns, tariffFromRow } from './tariff-row.ts'

/** Return the reason to refuse a schedule with a calendar; null if the calendar has its special days. */
export const refuseSpecialDays = (
  schedule: readonly ScheduleEntry[],
  calendar: LocationCalendar | null,
): Refusal | null => validateSpecialDays(schedule, calendar) ?? null

/** List the special days that a tariff names in all its versions. */
export const specialDaysOfTariff = (tariff: Pick<Tariff, 'contractStart' | 'schedule' | 'versions'>) => [
  ...new Set(schedulesOf(tariff).flatMap(({ schedule }) => specialDaysOf(schedule))),
]

/** Change of a location's calendar: the changed days, and the tariffs that name them. */
export type LocationCalendarChange = CalendarChange & { readonly tariffs: readonly StoredTariff[] }

/**
 * Compare two calendars of a locked location; null if no stored price changes.
 * Refuses `calendar_required`, `day_type_not_found` and `schedule_overlap` if an active tariff or a charge does not fit
 * the new calendar.
 * Source: docs/rules/calendars.md #changes.
 */
export const changeLocationCalendar = async (
  transaction: TenantTransaction,
  locationId: string,
  { before, after }: { readonly before: string | null; readonly after: string | null },
): Promise<Result<LocationCalendarChange | null>> => {
  if (before === after) return accepted(null)
  const { rows } = await transaction.query<TariffRow>(sql`
    select ${tariffColumns} from tariffs where ${ownedBy(transaction)} and location_id = ${locationId}
      and voided_at is null and special_days <> '{}' order by id`)
  const charges = (await chargesOf(transaction, [locationId])).get(locationId) ?? []
  if (rows.length + charges.length === 0) return accepted(null)
  const tariffs = await readTariffRows(rows, tariffFromRow, transaction.accountId)
  const [old, now] = [await calendarOf(transaction, before), await calendarOf(transaction, after)]
  const doesNotFit = (object: string, { code, message }: Refusal) =>
    refused(code, `${object} does not fit the calendar: ${message}`, 'calendar_id')
  for (const { id, terms } of charges) {
    const refusal = validateChargeDays(terms, now)
    if (refusal !== null) return doesNotFit(`Charge ${id}`, refusal)
  }
  for (const tariff of tariffs) {
    if (tariff.closedAt !== null) continue
    for (const { schedule } of schedulesOf(tariff)) {
      const refusal = refuseSpecialDays(schedule, now)
      if (refusal !== null) return doesNotFit(`Tariff ${tariff.id}`, refusal)
    }
  }
  const change = calendarChange(old, now)
  if (change === null) return accepted(null)
  const naming = tariffs.filter(tariff => specialDaysOfTariff(tariff).some(name => change.names.includes(name)))
  return accepted(naming.length === 0 ? null : { ...change, tariffs: naming })
}

const calendarOf = (transaction: TenantTransaction, id: string | null): Promise<LocationCalendar | null> =>
  id === null ? Promise.resolve(null) : holdCalendar(transaction, id)

/** Pairs of day types that have a day in common, as sorted lists of names. */
const meetingTypes = ({ dayTypes }: LocationCalendar): ReadonlyMap<string, readonly SpecialDay[]> =>
  new Map(
    dayTypes.flatMap((one, index) =>
      dayTypes
        .slice(index + 1)
        .filter(({ days }) => [...days].some(day => one.days.has(day)))
        .map(other => {
          const names: readonly SpecialDay[] = [`#${one.name}` as const, `#${other.name}` as const].toSorted()
          return [names.join(), names] as const
        }),
    ),
  )

/** Find a charge at the locations of a calendar whose windows or schedule name one of some day types; null without one. */
const chargeNaming = async (
  { query, accountId, liveMode }: TenantTransaction,
  calendarId: string,
  names: readonly string[],
): Promise<string | null> => {
  const texts = names.map(name => JSON.stringify(name))
  const { rows } = await query<{ id: string }>(sql`
    select c.id from charges c
    join locations l on l.account_id = c.account_id and l.live_mode = c.live_mode and l.id = c.location_id
    where l.account_id = ${accountId} and l.live_mode = ${liveMode} and l.calendar_id = ${calendarId}
      and l.deleted_at is null and c.deleted_at is null
      and exists (select from unnest(${texts}::text[]) n
        where strpos(c.terms::text, n) > 0 or strpos(coalesce(c.schedule::text, ''), n) > 0)
    order by c.id limit 1`)
  return rows[0]?.id ?? null
}

/**
 * Return the reason to refuse new dates of a locked calendar; null if the active tariffs and the charges of its locations
 * fit: their day types exist, and no day becomes a day of two types that one tariff names.
 * Source: docs/rules/calendars.md #changes.
 */
export const refuseCalendarDates = async (
  transaction: TenantTransaction,
  calendarId: string,
  { before, after }: { readonly before: LocationCalendar; readonly after: LocationCalendar },
): Promise<Refusal | null> => {
  const { query } = transaction
  const active = sql`
    select t.id, t.location_id as "locationId" from tariffs t
    join locations l on l.account_id = t.account_id and l.live_mode = t.live_mode and l.id = t.location_id
    where l.account_id = ${transaction.accountId} and l.live_mode = ${transaction.liveMode}
      and l.calendar_id = ${calendarId} and l.deleted_at is null and t.closed_at is null and t.voided_at is null`
  const known = ['Holidays', ...after.dayTypes.map(({ name }) => `#${name}`)]
  const lacking = await query<{ id: string; locationId: string; missing: string }>(sql`
    select u.*, (select n from unnest(t.special_days) n where n <> all(${known}) limit 1) as missing
    from (${active}) u join tariffs t on ${ownedBy(transaction)} and t.id = u.id
    where not t.special_days <@ ${known}::text[] order by u.id limit 1`)
  const [missing] = lacking.rows
  if (missing !== undefined) {
    const message = `Tariff ${missing.id} of ${missing.locationId} names the day type ${missing.missing}. Keep it, or change the tariff first`
    return refused('day_type_not_found', message, 'day_types').refusal
  }
  const removed = before.dayTypes.map(({ name }) => `#${name}`).filter(name => !known.includes(name))
  const charge = await chargeNaming(transaction, calendarId, removed)
  if (charge !== null) {
    const message = `Charge ${charge} names a day type that the calendar would lose. Keep it, or delete the charge first`
    return refused('day_type_not_found', message, 'day_types').refusal
  }
  const metBefore = meetingTypes(before)
  for (const [key, names] of meetingTypes(after)) {
    if (metBefore.has(key)) continue
    const { rows } = await query<{ id: string }>(sql`
      ${active} and t.special_days @> ${names}::text[] order by t.id limit 1`)
    if (rows[0] === undefined) continue
    const message = `Tariff ${rows[0].id} names ${names.join(' and ')}. No day may be of both types`
    return refused('schedule_overlap', message, 'day_types').refusal
  }
  return null
}
