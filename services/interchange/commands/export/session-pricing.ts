import type { calendarRetrieve } from '../../../contract/calendars/calendar.ts'
import { chargeBody, readChargeTerms } from '../../../contract/charges/read-charge.ts'
import type { ChargeWire } from '../../../contract/charges/write-charge.ts'
import type { AnswerOf } from '../../../contract/operation.ts'
import type { PercentageCharge, SessionCharge } from '../../../domain/charge/charge.ts'
import type { LocationCalendar } from '../../../domain/charge/location-calendar.ts'
import { parseDate } from '../../../domain/civil-date.ts'
import { askPatiently, CallError } from '../../../platform/call-service.ts'
import { timeZone } from '../../../platform/time-zone.ts'
import type { SessionPricing } from '../../domain/ocpi/charging-session.ts'
import { type ExportSource, listAll } from './stored-records.ts'

/** Members of a stored charge that are not part of its terms. */
const ownMembers = ['id', 'object', 'location_id', 'plan_id', 'live_mode', 'time_created', 'account_id']

const wrongAnswer = (what: string): CallError => new CallError(`The service answered with ${what}.`, null, null)

const readCharge = (wire: ChargeWire): SessionCharge | PercentageCharge | null => {
  const terms = Object.fromEntries(Object.entries(wire).filter(([name]) => !ownMembers.includes(name)))
  const body = chargeBody.safeParse(terms)
  const read = body.success ? readChargeTerms(body.data) : null
  if (read === null || !read.ok) throw wrongAnswer(`the charge ${wire.id}, which this version does not know`)
  const charge = { ...read.value, id: wire.id, planId: null }
  return charge.kind === 'SESSION' || charge.kind === 'PERCENTAGE' ? charge : null
}

const daysOf = (dates: readonly string[]): ReadonlySet<number> => new Set(dates.flatMap(date => parseDate(date) ?? []))

const readCalendar = async ({ client, signal }: ExportSource, id: string): Promise<LocationCalendar> => {
  const wire = await askPatiently<AnswerOf<typeof calendarRetrieve>>(client, 'GET', `/calendars/${id}`, signal)
  return {
    holidays: daysOf(wire.dates.map(({ date }) => date)),
    dayTypes: wire.day_types.map(({ name, dates }) => ({ name, days: daysOf(dates) })),
  }
}

/** Return whether the windows of a charge name days that only a calendar knows. */
const needsCalendar = ({ windows }: SessionCharge): boolean =>
  windows.some(({ days }) => days.some(name => name === 'Holidays' || name.startsWith('#')))

/** Load the session charges and the taxes of a location, its clock and, if a charge needs it, its calendar. */
export const readSessionPricing = async (source: ExportSource, locationId: string): Promise<SessionPricing> => {
  const path = `/locations/${locationId}`
  const location = await askPatiently<{ readonly timezone: string; readonly calendar_id?: string | null }>(
    ...([source.client, 'GET', path, source.signal] as const),
  )
  const zone = timeZone(location.timezone)
  if (zone === null) throw wrongAnswer(`the time zone ${location.timezone}, which this version does not know`)
  const all = await listAll<ChargeWire>(source, '/charges', { location_id: locationId })
  const read = all.filter(({ kind }) => kind === 'SESSION' || kind === 'PERCENTAGE').map(readCharge)
  const charges = read.filter(charge => charge?.kind === 'SESSION')
  const { calendar_id: calendarId } = location
  const isCalendarNeeded = charges.some(needsCalendar) && calendarId !== undefined && calendarId !== null
  return {
    charges,
    taxes: read.filter(charge => charge?.kind === 'PERCENTAGE').filter(({ isTax }) => isTax),
    timeZone: zone,
    calendar: isCalendarNeeded ? await readCalendar(source, calendarId) : null,
  }
}
