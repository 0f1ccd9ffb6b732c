import { startOfDayNumber, type TimeZone } from '../../../domain/civil-time.ts'
import { dayMs, hourMs } from '../../../domain/interval.ts'
import { type FileReading, type ReadRow, refusedRow, soldDirections } from '../reading.ts'
import type { Columns } from './columns.ts'
import type { CsvRules } from './csv-rules.ts'
import { otherEnd } from './interval-length.ts'
import { type AmbiguousChoice, endInstants, type LocalTimes } from './local-times.ts'
import { cellReader, memberReader, type RowMembers, seriesOf, type ValueField, valueReader } from './row-members.ts'
import { type FileTime, timeReader } from './time-text.ts'

/** Reads the rows of a file. Returns whether the row has a value; its readings go to `times`. */
export type RowReader = (cells: readonly string[], line: number) => boolean

type ReadLong = {
  readonly members: RowMembers
  readonly value: string
  readonly isRegister: boolean
  readonly line: number
}

const notATime = (line: number, field: string, text: string, pattern: string): ReadRow =>
  refusedRow(line, field, 'not_a_time', `"${text.slice(0, 60)}" is not a time such as ${pattern}.`)

const readingOf = ({ members, value, isRegister, line }: ReadLong, start: number, end: number): ReadRow => {
  if (!isRegister && end < start)
    return refusedRow(line, 'end', 'end_before_start', 'The end must not be before the start.')
  if (!isRegister && end === start)
    return refusedRow(line, 'end', 'zero_duration', 'The interval has no length. Its end must be after its start.')
  const reading: FileReading = {
    line,
    isRegister,
    isRestart: members.isRestart,
    location: members.location,
    device: members.device,
    sessionReferenceId: members.sessionReferenceId,
    recordReferenceId: members.recordReferenceId,
    directions: members.directions,
    units: members.units,
    value,
    confidence: members.confidence,
    start,
    end,
  }
  return members.part === undefined ? reading : { ...reading, part: members.part }
}

const ambiguousEnd =
  'The clock shows the end twice. Set --ambiguous to earlier or later, or write the end with its UTC offset.'

/** Return the reading that ends at a local time. An end that the clock shows twice follows the choice of the user. */
const readingToLocalEnd = (
  read: ReadLong,
  start: number,
  localEnd: number,
  zone: TimeZone,
  choice: AmbiguousChoice,
): ReadRow => {
  const [first, second] = endInstants(zone, start, localEnd, read.members.sessionReferenceId !== null)
  if (first === undefined) return refusedRow(read.line, 'end', 'no_such_time', 'The clock skips the end.')
  if (second === undefined) return readingOf(read, start, first)
  if (choice === null) return refusedRow(read.line, 'end', 'ambiguous_time', ambiguousEnd)
  return readingOf(read, start, choice === 'earlier' ? first : second)
}

const isRegisterFile = (indexes: Columns['indexes']): boolean =>
  indexes.has('register') || indexes.has('register_export')

/** Columns of the times of a row. `isEnd`: the single time is the end of its interval. */
type TimeColumns = { readonly field: string; readonly hasBoth: boolean; readonly isEnd: boolean }

const timeColumnsOf = ({ indexes }: Columns, { label }: CsvRules): TimeColumns => {
  const isRegister = isRegisterFile(indexes)
  const field = indexes.has('time') ? 'time' : indexes.has('start') ? 'start' : 'end'
  const hasBoth = indexes.has('start') && indexes.has('end') && !isRegister
  return {
    field: hasBoth ? 'start' : field,
    hasBoth,
    isEnd: !hasBoth && !isRegister && (label === 'end' || field === 'end'),
  }
}

/** Return the meaning of the single time of a row with the interval of the rules; null if the rows have other times. */
export const labelOfInterval = (columns: Columns, rules: CsvRules): 'start' | 'end' | null => {
  const { hasBoth, isEnd } = timeColumnsOf(columns, rules)
  const isInterval = rules.layout === 'long' && !hasBoth && !isRegisterFile(columns.indexes)
  return isInterval && rules.interval !== null ? (isEnd ? 'end' : 'start') : null
}

/** Fields with the values of a row. */
export const valueFields: readonly ValueField[] = ['value', 'value_export', 'register', 'register_export']

const valueFieldsOf = ({ indexes }: Columns): readonly ValueField[] => valueFields.filter(field => indexes.has(field))

/**
 * Return whether the first row of a file is a row of readings: its times are times, and its value is a number.
 * Columns must be chosen by number.
 */
export const isLongRow = (columns: Columns, rules: CsvRules, cells: readonly string[]): boolean => {
  const { field, hasBoth } = timeColumnsOf(columns, rules)
  const readTime = timeReader(rules.format)
  const values = valueFieldsOf(columns).map(name => valueReader(columns, rules, name)(cells, 1))
  const times = hasBoth ? ['start', 'end'] : [field]
  return (
    values.some(value => typeof value === 'string') &&
    times.every(name => readTime(cellReader(columns, name)(cells)) !== undefined)
  )
}

/** Return the instant of hours since the start of a local day; null if the day is shorter. */
const instantOfHours = (zone: TimeZone, { day, hours }: { day: number; hours: number }): number | null => {
  const at = startOfDayNumber(zone, day) + hours * hourMs
  return at <= startOfDayNumber(zone, day + 1) ? at : null
}

const noSuchHour = (line: number, field: string, hours: number): ReadRow =>
  refusedRow(line, field, 'no_such_time', `The local day has no hour ${hours}.`)

/** Return a function that builds the reading of a row that begins at an instant, or has its single time there. */
const readingBuilder = ({ zone, ambiguous, interval }: CsvRules, isEnd: boolean, isRegister: boolean) => {
  const length = isRegister ? null : interval
  return (read: ReadLong, end: FileTime | undefined, at: number): ReadRow => {
    if (end === undefined)
      return isEnd
        ? readingOf(read, otherEnd(at, -1, length, zone), at)
        : readingOf(read, at, otherEnd(at, 1, length, zone))
    if ('at' in end) return readingOf(read, at, end.at)
    if (zone === null) return noOffset(read.line, 'end')
    if ('local' in end) return readingToLocalEnd(read, at, end.local, zone, ambiguous)
    const endAt = instantOfHours(zone, end)
    return endAt === null ? noSuchHour(read.line, 'end', end.hours) : readingOf(read, at, endAt)
  }
}

/**
 * Return a reader of rows with a reading, or a reading of each direction. A blank value is not a reading. A single time is
 * the start of its interval, or its end by the label. Local times need `times` of the zone; null if the file has no zone.
 * Source: docs/rules/imports.md #csv.
 */
export const longRowReader = (
  header: readonly string[],
  columns: Columns,
  rules: CsvRules,
  times: Pick<LocalTimes, 'add' | 'addLocal'>,
): RowReader => {
  const { zone } = rules
  const readMembers = memberReader(header, columns, rules)
  const [readStart, readEnd] = [timeReader(rules.format), timeReader(rules.format)]
  const isRegister = isRegisterFile(columns.indexes)
  const { field: startField, hasBoth, isEnd } = timeColumnsOf(columns, rules)
  const [startOfRow, endOfRow] = [cellReader(columns, startField), cellReader(columns, 'end')]
  const values = valueFieldsOf(columns).map(field => ({
    read: valueReader(columns, rules, field),
    isSold: field.endsWith('_export'),
  }))
  const build = readingBuilder(rules, isEnd, isRegister)
  const pattern = rules.format?.pattern ?? '2026-03-29T01:00:00+01:00'
  const isDay = !isRegister && rules.interval === 'local_day'
  const addReading = (read: ReadLong, start: FileTime, end: FileTime | undefined): true => {
    if ('at' in start) return add(times, build(read, end, start.at))
    if (zone === null) return add(times, noOffset(read.line, startField))
    if ('hours' in start) {
      const at = instantOfHours(zone, start)
      return add(times, at === null ? noSuchHour(read.line, startField, start.hours) : build(read, end, at))
    }
    const isMidnight = isDay && start.local % dayMs === 0
    if (isMidnight) return add(times, build(read, end, startOfDayNumber(zone, start.local / dayMs)))
    times.addLocal(read.line, seriesOf(read.members), start.local, at => build(read, end, at))
    return true
  }
  const readRow = (members: RowMembers, value: string, cells: readonly string[], line: number): true => {
    const startText = startOfRow(cells)
    const start = readStart(startText)
    if (start === undefined) return add(times, notATime(line, startField, startText, pattern))
    const end = hasBoth ? readEnd(endOfRow(cells)) : undefined
    if (hasBoth && end === undefined) return add(times, notATime(line, 'end', endOfRow(cells), pattern))
    return addReading({ members, value, isRegister, line }, start, end)
  }
  return (cells, line) => {
    let hasValue = false
    for (const { read, isSold } of values) {
      const value = read(cells, line)
      if (value === null) continue
      hasValue = true
      const members = readMembers(cells, line)
      if ('code' in members) return add(times, members)
      if (typeof value !== 'string') add(times, value)
      else readRow(isSold ? { ...members, directions: soldDirections } : members, value, cells, line)
    }
    return hasValue
  }
}

const noOffset = (line: number, field: string): ReadRow =>
  refusedRow(line, field, 'not_a_time', 'The time has no UTC offset. Set --zone to the zone of the file.')

const add = (times: Pick<LocalTimes, 'add'>, row: ReadRow): true => {
  times.add(row)
  return true
}
