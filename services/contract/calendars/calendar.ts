import { z } from 'zod'
import {
  type Calendar,
  type DayTypeDays,
  holidaysOf,
  maxCalendarDates,
  type NamedDay,
} from '../../domain/calendar/calendar.ts'
import { civilDate, writeDate } from '../../domain/civil-date.ts'
import { maxDayTypes } from '../../domain/tariff/special-days.ts'
import { dateText, exampleObject, idText, objectToWire, orNull } from '../answer-field.ts'
import { dryRunMember, dryRunParameter } from '../dry-run.ts'
import { fields, listOf, localDate, text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { defineObject, optionalMember, replaceableMember, requiredMember } from '../object-member.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { parameters, wholeNumber } from '../parameter.ts'
import { countryCode } from '../registry/postal-address.ts'
import { dayTypeName } from '../tariffs/read-tariff-terms.ts'

const namedDayShape = z.object({ date: dateText, name: z.string() }).meta({ component: 'NamedDay' })

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

const namedDayToWire = ({ day, name }: NamedDay) => ({ date: writeDate(day), name })

const optionalText = { body: text(), answer: orNull(z.string()) }
const describeCountry = 'The calendar begins with the public holidays of the country, 2000 to 2040.'

const calendarMembers = {
  name: requiredMember('name', { body: text(), answer: z.string() }, { form: { label: 'Name' } }),
  countryCode: optionalMember(
    'country_code',
    null,
    { body: countryCode, answer: orNull(z.string()) },
    {
      creation: describeCountry,
      patch: `${describeCountry} Another country replaces these days.`,
      answer: 'Country of the public holidays, ISO 3166-1 alpha-2.',
      form: { label: 'Country', hint: 'Such as DE. The calendar begins with its public holidays.' },
    },
  ),
  state: optionalMember('state', null, optionalText, {
    each: 'Code or name of a state of the country, with its own public holidays.',
    answer: 'State of the country.',
    form: { label: 'State', hint: 'Code or name, such as BE. It has its own public holidays.' },
  }),
  add: replaceableMember(
    'add',
    [],
    {
      body: namedDays,
      answer: z.array(namedDayShape),
      write: (added: readonly NamedDay[]) => added.map(namedDayToWire),
    },
    {
      creation: 'Holidays to add.',
      patch: 'Replaces all added holidays.',
      answer: 'Holidays in addition to those of the country.',
      form: {
        label: 'Holidays to add',
        hint: 'One on each line: date and name, such as 2026-12-24 Christmas Eve.',
      },
    },
  ),
  remove: replaceableMember(
    'remove',
    [],
    { body: dates, answer: z.array(dateText), write: (removed: readonly number[]) => removed.map(writeDate) },
    {
      creation: 'Public holidays of the country to leave out.',
      patch: 'Replaces all removed holidays.',
      answer: 'Public holidays of the country that the calendar leaves out.',
      form: { label: 'Holidays to leave out', hint: 'One date on each line, such as 2026-08-15.' },
    },
  ),
  dayTypes: replaceableMember(
    'day_types',
    [],
    {
      body: dayTypes,
      answer: z.array(z.object({ name: z.string(), dates: z.array(dateText) }).meta({ component: 'DayType' })),
      write: (types: readonly DayTypeDays[]) => types.map(({ name, days }) => ({ name, dates: days.map(writeDate) })),
    },
    {
      creation: 'Special days by name.',
      patch: 'Replaces all special days.',
      answer: 'Special days. A schedule names them by # and the name.',
      form: {
        label: 'Special days',
        hint: 'One type on each line: name, colon and dates, such as fair: 2026-09-19, 2026-09-20.',
      },
    },
  ),
} as const

/** Calendar of the API. */
export const calendarObject = defineObject('cal', 'calendar', calendarMembers, { dry_run: dryRunMember })

export const calendarShape = calendarObject.shape.extend({
  account_id: orNull(idText('acc')).describe('Null for calendars of countries, which all accounts share.'),
})

const calendarWithDates = calendarShape.extend({
  dates: z.array(namedDayShape).describe('All holidays, or those of the year of the request.'),
})

export type CalendarWire = z.output<typeof calendarShape>

/** Write a calendar with its holidays, of one year or of all. */
export const calendarWithDatesToWire = (
  calendar: Calendar,
  year: number | null,
): z.output<typeof calendarWithDates> => ({
  ...calendarObject.toWire(calendar),
  dates: holidaysOf(calendar)
    .filter(({ day }) => year === null || civilDate(day).year === year)
    .map(namedDayToWire),
})

const exampleBody = {
  name: 'Bavaria and our fairs',
  country_code: 'DE',
  state: 'BY',
  add: [{ date: '2026-12-24', name: 'Christmas Eve' }],
  remove: ['2026-08-15'],
  day_types: [{ name: 'fair', dates: ['2026-09-19', '2026-09-20'] }],
}

const example: CalendarWire = objectToWire('calendar', exampleObject('cal'), exampleBody)

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
  body: calendarObject.creation,
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
  body: calendarObject.patch,
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
