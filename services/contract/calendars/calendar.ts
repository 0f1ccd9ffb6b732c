import { z } from 'zod'
import { type Calendar, holidaysOf, maxCalendarDates, type NamedDay } from '../../domain/calendar/calendar.ts'
import { civilDate, writeDate } from '../../domain/civil-date.ts'
import { maxDayTypes } from '../../domain/tariff/special-days.ts'
import { dateText, exampleObject, idText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { dryRunMember, dryRunParameter } from '../dry-run.ts'
import { clearable, fields, listOf, localDate, optional, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { parameters, wholeNumber } from '../parameter.ts'
import { countryCode } from '../registry/postal-address.ts'
import { dayTypeName } from '../tariffs/read-tariff-terms.ts'

const namedDayShape = z.object({ date: dateText, name: z.string() }).meta({ component: 'NamedDay' })

export const calendarShape = objectShape('cal', 'calendar', {
  name: z.string(),
  country_code: orNull(z.string()).describe('Country of the public holidays, ISO 3166-1 alpha-2.'),
  state: orNull(z.string()).describe('State of the country.'),
  add: z.array(namedDayShape).describe('Holidays in addition to those of the country.'),
  remove: z.array(dateText).describe('Public holidays of the country that the calendar leaves out.'),
  day_types: z
    .array(z.object({ name: z.string(), dates: z.array(dateText) }).meta({ component: 'DayType' }))
    .describe('Special days. A schedule names them by # and the name.'),
}).extend({ account_id: orNull(idText('acc')).describe('Null for calendars of countries, which all accounts share.') })

const calendarWithDates = calendarShape.extend({
  dates: z.array(namedDayShape).describe('All holidays, or those of the year of the request.'),
})

export type CalendarWire = z.output<typeof calendarShape>

const namedDayToWire = ({ day, name }: NamedDay) => ({ date: writeDate(day), name })

/** Write a calendar without its dates. */
export const calendarToWire = (calendar: Calendar): CalendarWire =>
  objectToWire('calendar', calendar, {
    name: calendar.name,
    country_code: calendar.countryCode,
    state: calendar.state,
    add: calendar.add.map(namedDayToWire),
    remove: calendar.remove.map(writeDate),
    day_types: calendar.dayTypes.map(({ name, days }) => ({ name, dates: days.map(writeDate) })),
  })

/** Write a calendar with its holidays, of one year or of all. */
export const calendarWithDatesToWire = (
  calendar: Calendar,
  year: number | null,
): z.output<typeof calendarWithDates> => ({
  ...calendarToWire(calendar),
  dates: holidaysOf(calendar)
    .filter(({ day }) => year === null || civilDate(day).year === year)
    .map(namedDayToWire),
})

const dates = listOf(localDate, { max: maxCalendarDates })
const namedDays = listOf(
  fields({ date: localDate, name: text() })
    .meta({ component: 'NamedDayInput' })
    .transform(({ date, name }): NamedDay => ({ day: date, name })),
  { max: maxCalendarDates },
)
const typeName = text({ max: 64 }).refine(name => dayTypeName.test(name), {
  message: 'must begin with a letter or digit, and have letters, digits, spaces, dots, hyphens and underscores only',
})
const dayTypes = listOf(
  fields({ name: typeName, dates })
    .meta({ component: 'DayTypeInput' })
    .transform(({ name, dates: days }) => ({ name, days })),
  { max: maxDayTypes },
)

const describeCountry = 'The calendar begins with the public holidays of the country, 2000 to 2040.'
const describeState = 'Code or name of a state of the country, with its own public holidays.'
const changes = {
  add: namedDays.describe('Holidays to add.'),
  remove: dates.describe('Public holidays of the country to leave out.'),
  day_types: dayTypes.describe('Special days by name.'),
}

/** Members of a calendar that a PATCH changes. */
export const changeableCalendarFields = {
  name: text().optional(),
  country_code: clearable(countryCode).describe(`${describeCountry} Another country replaces these days.`),
  state: clearable(text()).describe(describeState),
  add: changes.add.optional().describe('Replaces all added holidays.'),
  remove: changes.remove.optional().describe('Replaces all removed holidays.'),
  day_types: changes.day_types.optional().describe('Replaces all special days.'),
}

const example: CalendarWire = objectToWire('calendar', exampleObject('cal'), {
  name: 'Bavaria and our fairs',
  country_code: 'DE',
  state: 'BY',
  add: [{ date: '2026-12-24', name: 'Christmas Eve' }],
  remove: ['2026-08-15'],
  day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
})

const exampleBody = {
  name: 'Bavaria and our fairs',
  country_code: 'DE',
  state: 'BY',
  add: [{ date: '2026-12-24', name: 'Christmas Eve' }],
  remove: ['2026-08-15'],
  day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
}

const tag = 'Calendars'
const answer = { name: 'Calendar', shape: calendarShape }

export const calendarCreate = defineOperation({
  id: 'calendar_create',
  summary: 'Create a calendar',
  description:
    'Public holidays and special days for tariffs and charges. With a country the calendar begins with its public holidays. Set its id as calendar_id of your locations; without one, a location has the calendar of its country and state.',
  tag,
  access: 'all',
  routes: currentRoute('POST', '/calendars'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: fields({
    dry_run: dryRunMember,
    name: text(),
    country_code: optional(countryCode).describe(describeCountry),
    state: optional(text()).describe(describeState),
    add: optional(changes.add),
    remove: optional(changes.remove),
    day_types: optional(changes.day_types),
  }),
  answer,
  status: 201,
  idempotent: true,
  examples: { body: exampleBody, answer: example },
})

export const calendarList = defineOperation({
  id: 'calendar_list',
  summary: 'List calendars',
  description: 'Your own calendars, newest first. Calendars of countries are read by their id.',
  tag,
  ...listing('Calendar', calendarShape, '/calendars', example),
  routes: currentRoute('GET', '/calendars'),
  query: listParameters({}),
})

export const calendarRetrieve = defineOperation({
  id: 'calendar_retrieve',
  summary: 'Retrieve a calendar',
  description: 'Returns the calendar with its holidays, of one year or of all.',
  tag,
  ...retrieval(
    { name: 'CalendarWithDates', shape: calendarWithDates },
    { ...example, dates: [{ date: '2026-12-24', name: 'Christmas Eve' }] },
  ),
  routes: currentRoute('GET', '/calendars/{id}'),
  query: parameters({
    year: wholeNumber({ min: 1900, max: 9999 }).optional().describe('Only the holidays of this year.'),
  }),
})

export const calendarUpdate = defineOperation({
  id: 'calendar_update',
  summary: 'Update a calendar',
  description:
    'Absent members do not change; lists replace the stored lists. Stored records of the changed days are priced again at locations whose tariffs name these days.',
  tag,
  access: 'all',
  routes: currentRoute('PATCH', '/calendars/{id}'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: fields({ ...fixedMembers(calendarShape), ...changeableCalendarFields, dry_run: dryRunMember }),
  answer,
  status: 200,
  refusals: ['field_immutable', 'day_type_not_found', 'schedule_overlap'],
  examples: { body: { remove: [] }, answer: { ...example, remove: [] } },
})

export const calendarDelete = defineOperation({
  id: 'calendar_delete',
  summary: 'Delete a calendar',
  description: 'Deletes a calendar that no location uses.',
  tag,
  ...deletion,
  routes: currentRoute('DELETE', '/calendars/{id}'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  refusals: ['calendar_in_use'],
})
