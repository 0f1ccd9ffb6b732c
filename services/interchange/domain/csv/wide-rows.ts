import { startOfDayNumber, type TimeZone } from '../../../domain/civil-time.ts'
import { dayMs, hourMs, minuteMs } from '../../../domain/interval.ts'
import { type ReadRow, type RefusedRow, refusedRow } from '../reading.ts'
import { type Columns, type ColumnsProblem, unguardText } from './columns.ts'
import type { CsvRules } from './csv-rules.ts'
import type { IntervalLength } from './interval-length.ts'
import { instantFinder, type LocalTimes } from './local-times.ts'
import type { RowReader } from './long-rows.ts'
import { cellReader, memberReader, type RowMembers, readValueText } from './row-members.ts'
import { timeReader } from './time-text.ts'

/** Column of a day: a local time (ms after midnight), or its number from 0. `isSecond`: second run of a doubled hour. */
type DayColumn = {
  readonly index: number
  readonly heading: string
  readonly isSecond: boolean
  readonly place: number
}

/**
 * Columns of the times of a day. Named: local times. Numbered: elapsed time from midnight. A single column has the whole
 * local day.
 */
type DayColumns = {
  readonly isNamed: boolean
  readonly isWholeDay: boolean
  readonly stepMs: number
  readonly columns: readonly DayColumn[]
}

const clockHeading = /^([01]?\d|2[0-4]):([0-5]\d)(?::00)?(B?)$/

const namedColumn = (heading: string, index: number): DayColumn | null => {
  const [, hour, minute, second] = clockHeading.exec(heading.trim()) ?? []
  if (hour === undefined) return null
  return { index, heading, isSecond: second === 'B', place: (Number(hour) * 60 + Number(minute)) * minuteMs }
}

/** Steps of numbered columns, in minutes. */
const steps = [60, 30, 15, 10, 5, 1]

/** Return the step of a number of columns: of a day of 24 hours, or one that is up to two hours longer or shorter. */
const stepOf = (count: number): number | undefined =>
  steps.map(minutes => minutes * minuteMs).find(step => Math.abs(count * step - dayMs) <= 2 * hourMs)

const stepFrom = (interval: IntervalLength | null): number | null => (interval === 'local_day' ? dayMs : interval)

/** Find the columns of the times of a day. Returns a problem if the headings are neither times nor 1 to n. */
export const findDayColumns = (
  header: readonly string[],
  { others }: Columns,
  interval: IntervalLength | null,
): DayColumns | ColumnsProblem => {
  const named = others.map(index => namedColumn(header[index] ?? '', index)).filter(column => column !== null)
  if (named.length > 0) {
    const places = new Set(named.map(({ place }) => place % dayMs))
    const stepMs = stepFrom(interval) ?? dayMs / places.size
    const [first = 0] = places
    const isEven = [...places].every(place => place % stepMs === first % stepMs)
    if (isEven && Number.isInteger(stepMs / minuteMs))
      return { isNamed: true, isWholeDay: stepMs === dayMs, stepMs, columns: named }
    return { problem: 'The times in the headings are not evenly spaced. Set their distance, such as --interval PT15M.' }
  }
  const numbered = others
    .map(index => ({ index, heading: header[index] ?? '', isSecond: false, place: Number(header[index]) - 1 }))
    .filter(({ heading }) => /^[1-9]\d{0,3}$/.test(heading.trim()))
  const isWholeDay = numbered.length === 1 && (stepFrom(interval) ?? dayMs) === dayMs
  const stepMs = isWholeDay ? dayMs : (stepFrom(interval) ?? stepOf(numbered.length))
  if (stepMs === undefined || numbered.some(({ place }, position) => place !== position)) {
    return { problem: 'The headings of a day must be times such as 00:15, or numbers from 1 to n.' }
  }
  return { isNamed: false, isWholeDay, stepMs, columns: numbered }
}

/** Reader of a row of a day: adds the reading of each cell that is not blank. */
type DayReader = {
  readonly columns: DayColumns
  readonly rules: CsvRules
  readonly zone: TimeZone
  readonly findInstants: (local: number) => readonly number[]
  readonly times: Pick<LocalTimes, 'add'>
}

/** Return the instants of a time of a day. A second run has an instant on the day of its clock change only. */
const instantsOfColumn = (
  { columns, rules, zone, findInstants }: DayReader,
  day: number,
  column: DayColumn,
): readonly number[] => {
  const { isNamed, stepMs } = columns
  const isEnd = rules.label === 'end'
  if (!isNamed) return [startOfDayNumber(zone, day) + column.place * stepMs]
  const endOfDay = isEnd && column.place === 0 ? dayMs : 0
  const instants = findInstants(day * dayMs + column.place + endOfDay)
  return isEnd ? instants.map(at => at - stepMs) : instants
}

const startOfCell = (reader: DayReader, day: number, column: DayColumn, line: number): number | RefusedRow => {
  const [first, second] = instantsOfColumn(reader, day, column)
  const refuse = (code: 'no_such_time' | 'ambiguous_time', message: string) =>
    refusedRow(line, column.heading, code, message)
  if (column.isSecond) return second ?? refuse('no_such_time', 'The clock shows this time once on this day.')
  if (first === undefined) return refuse('no_such_time', 'The clock skips this time on this day.')
  const hasSecond = reader.columns.columns.some(({ isSecond, place }) => isSecond && place === column.place)
  if (second === undefined || hasSecond) return first
  if (reader.rules.ambiguous === null) {
    const message = `The clock shows this time twice. Add a column ${column.heading}B, or set --ambiguous.`
    return refuse('ambiguous_time', message)
  }
  return reader.rules.ambiguous === 'earlier' ? first : second
}

/** Return a refusal if a day of numbered columns has another number of values than the day has intervals. */
const refuseDay = (reader: DayReader, day: number, values: readonly string[], line: number): RefusedRow | null => {
  const { isNamed, isWholeDay, stepMs } = reader.columns
  if (isNamed || isWholeDay) return null
  const count = (startOfDayNumber(reader.zone, day + 1) - startOfDayNumber(reader.zone, day)) / stepMs
  if (values.length >= count && values.slice(count).every(value => value === '')) return null
  const filled = values.findLastIndex(value => value !== '') + 1
  const message = `The day has ${count} intervals, and the row has ${Math.min(filled, values.length)} of ${values.length} columns.`
  return refusedRow(line, null, 'wrong_columns', message)
}

/**
 * Return a reader of rows with the readings of a day. Columns with times are local: the second run of a doubled hour has
 * `B` in its heading. Numbered columns are elapsed time from midnight: a day of 23 hours uses 23 of 24 columns.
 * A blank cell is not a reading. Source: docs/rules/imports.md #days.
 */
export const wideRowReader = (
  header: readonly string[],
  columns: Columns,
  dayColumns: DayColumns,
  rules: CsvRules,
  zone: TimeZone,
  times: Pick<LocalTimes, 'add'>,
): RowReader => {
  const dayOfRow = cellReader(columns, 'day')
  const readMembers = memberReader(header, columns, rules)
  const readDay = timeReader(rules.format)
  const reader: DayReader = { columns: dayColumns, rules, zone, findInstants: instantFinder(zone), times }
  return (cells, line) => {
    const dayText = dayOfRow(cells)
    const time = readDay(dayText)
    if (time === undefined || !('local' in time) || time.local % dayMs !== 0) {
      const pattern = rules.format?.pattern ?? 'yyyy-MM-dd'
      times.add(refusedRow(line, 'day', 'not_a_time', `"${dayText.slice(0, 60)}" is not a day in the form ${pattern}.`))
      return true
    }
    const members = readMembers(cells, line)
    if ('code' in members) {
      times.add(members)
      return true
    }
    const values = dayColumns.columns.map(({ index }) => unguardText(cells[index] ?? '').trim())
    const day = time.local / dayMs
    const refusal = refuseDay(reader, day, values, line)
    if (refusal === null) return addCells(reader, day, values, members, line)
    times.add(refusal)
    return true
  }
}

const addCells = (
  reader: DayReader,
  day: number,
  values: readonly string[],
  members: RowMembers,
  line: number,
): boolean => {
  let hasValue = false
  for (const [position, column] of reader.columns.columns.entries()) {
    const value = readValueText(values[position] ?? '', reader.rules, line, column.heading)
    if (value === null) continue
    hasValue = true
    reader.times.add(typeof value === 'string' ? cellReading(reader, day, column, value, members, line) : value)
  }
  return hasValue
}

const cellReading = (
  reader: DayReader,
  day: number,
  column: DayColumn,
  value: string,
  members: RowMembers,
  line: number,
): ReadRow => {
  if (reader.columns.isWholeDay && column.place % dayMs === 0) {
    const [start, end] = [startOfDayNumber(reader.zone, day), startOfDayNumber(reader.zone, day + 1)]
    return { ...members, line, isRegister: false, value, start, end }
  }
  const start = startOfCell(reader, day, column, line)
  if (typeof start !== 'number') return start
  return { ...members, line, isRegister: false, value, start, end: start + reader.columns.stepMs }
}
