import { civilDate, dayNumber, parseDate, writeDate } from '../../domain/civil-date.ts'
import { instantsAt, localDayNumber, localFields, startOfDayNumber, type TimeZone } from '../../domain/civil-time.ts'
import { formatTimeOfDay, parseTimeOfDay, writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { asMarkup, type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { field } from '../page-parts.ts'
import { withParameters } from './data-table.ts'

/** Local days of a zone, as day numbers of `civil-date.ts`; half-open. */
export type DayRange = { readonly zone: TimeZone; readonly start: number; readonly end: number }

/** Return a zone by its name; UTC if the name is unknown. */
export const zoneOf = (name: string): TimeZone => {
  const zone = timeZone(name) ?? timeZone('UTC')
  if (zone === null) throw new RangeError('UTC is unknown.')
  return zone
}

/** Return the day number of an instant in a zone. */
export const dayOf = (zone: TimeZone, at: number): number => localDayNumber(zone, at)

/** Return the interval of local days as members of a request. */
export const instantsOf = ({
  zone,
  start,
  end,
}: DayRange): { readonly start_time: string; readonly end_time: string } => ({
  start_time: writeInstant(startOfDayNumber(zone, start)),
  end_time: writeInstant(startOfDayNumber(zone, end)),
})

const monthStart = (day: number, months: number): number => {
  const { year, month } = civilDate(day)
  const index = year * 12 + month - 1 + months
  return dayNumber(Math.floor(index / 12), (((index % 12) + 12) % 12) + 1, 1)
}

/** Named ranges around a day. */
const presetsOf = (today: number): readonly (readonly [name: string, start: number, end: number])[] => [
  ['Today', today, today + 1],
  ['Yesterday', today - 1, today],
  ['Last 7 days', today - 6, today + 1],
  ['This month', monthStart(today, 0), monthStart(today, 1)],
  ['Last month', monthStart(today, -1), monthStart(today, 0)],
  ['Last 12 months', monthStart(today, -11), monthStart(today, 1)],
]

/** Maximum number of days of a range. */
const maxDays = 3_650

/** Read the range of a page from `from` and `to` (inclusive). Default: this month. */
export const readRange = ({ query, at }: ConsoleRequest, zone: TimeZone): DayRange => {
  const today = dayOf(zone, at)
  const start = parseDate(query.get('from') ?? '') ?? monthStart(today, 0)
  const last = parseDate(query.get('to') ?? '') ?? (query.has('from') ? start : monthStart(today, 1) - 1)
  const end = Math.min(Math.max(last, start) + 1, start + maxDays)
  return { zone, start, end }
}

/** Return the parameters of a range. */
export const rangeParameters = (start: number, end: number): { readonly from: string; readonly to: string } => ({
  from: writeDate(start),
  to: writeDate(end - 1),
})

/** Links to the named ranges. The current one is marked. */
export const rangeLinks = (request: ConsoleRequest, { zone, start, end }: DayRange): Html => {
  const presets = presetsOf(dayOf(zone, request.at))
  return html`<nav class="presets" aria-label="Periods">${presets.map(([name, from, to]) => {
    const current = from === start && to === end ? asMarkup(' aria-current="true"') : null
    return html`<a href="${withParameters(request, { ...rangeParameters(from, to), by: null })}"${current}>${name}</a>`
  })}</nav>`
}

/** Inputs of a range. */
export const rangeFields = ({ start, end }: DayRange): Html =>
  html`${field('from', 'From', { type: 'date', value: writeDate(start) })}
${field('to', 'To', { type: 'date', value: writeDate(end - 1) })}`

/** Hint of an input that `withInstants` reads. */
export const instantHint = 'A day in UTC, or a time with offset'

const isDay = (text: string): boolean => parseDate(text) !== undefined

/** Return a query in which each time that is a day, such as 2026-10-01, is an instant in UTC. */
export const withInstants = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    [...query].map(([name, text]): [string, string] => [
      name,
      name.endsWith('_time') && isDay(text.trim()) ? `${text.trim()}T00:00:00Z` : text,
    ]),
  )

/** Write an instant as an input of date and time has it. */
export const localText = (zone: TimeZone, at: number): string =>
  `${writeDate(dayOf(zone, at))}T${formatTimeOfDay(localFields(zone, at).secondOfDay).slice(0, 5)}`

/** Read an input of date and time in a zone; null if the text is invalid. */
export const readLocal = (zone: TimeZone, text: string): string | null => {
  const [date = '', time = ''] = text.split('T')
  const [day, second] = [parseDate(date), parseTimeOfDay(time.length === 5 ? `${time}:00` : time)]
  if (day === undefined || second === undefined) return null
  const [at] = instantsAt(zone, day * dayMs + second * 1_000)
  return at === undefined ? null : writeInstant(at)
}
