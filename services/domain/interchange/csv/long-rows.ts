import { startOfDayNumber, type TimeZone } from '../../civil-time.ts'
import { dayMs } from '../../interval.ts'
import { type FileReading, isRefusedRow, type ReadRow, refusedRow } from '../reading.ts'
import type { Columns } from './columns.ts'
import type { CsvRules } from './csv-rules.ts'
import { otherEnd } from './interval-length.ts'
import { type AmbiguousChoice, endInstants, type LocalTimes } from './local-times.ts'
import { cellReader, memberReader, type RowMembers, seriesOf, valueReader } from './row-members.ts'
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
  return reading
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

/** Columns of the times of a row. `isEnd`: the single time is the end of its interval. */
type TimeColumns = { readonly field: string; readonly hasBoth: boolean; readonly isEnd: boolean }

const timeColumnsOf = ({ indexes }: Columns, { label }: CsvRules): TimeColumns => {
  const isRegister = indexes.has('register')
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
  const isInterval = rules.layout === 'long' && !hasBoth && !columns.indexes.has('register')
  return isInterval && rules.interval !== null ? (isEnd ? 'end' : 'start') : null
}

/**
 * Return whether the first row of a file is a row of readings: its times are times, and its value is a number.
 * Columns must be chosen by number.
 */
export const isLongRow = (columns: Columns, rules: CsvRules, cells: readonly string[]): boolean => {
  const cell = cellReader(columns)
  const { field, hasBoth } = timeColumnsOf(columns, rules)
  const readTime = timeReader(rules.format)
  const value = valueReader(columns, rules, columns.indexes.has('register') ? 'register' : 'value')(cells, 1)
  const times = hasBoth ? ['start', 'end'] : [field]
  return typeof value === 'string' && times.every(name => readTime(cell(cells, name)) !== undefined)
}

/**
 * Return a reader of rows with one reading each. A blank value is not a reading. A single time is the start of its interval,
 * or its end by the label. Local times need `times` of the zone; null if the file has no zone.
 * Source: docs/rules/imports.md #csv.
 */
export const longRowReader = (
  header: readonly string[],
  columns: Columns,
  rules: CsvRules,
  times: Pick<LocalTimes, 'add' | 'addLocal'>,
): RowReader => {
  const cell = cellReader(columns)
  const { zone, ambiguous } = rules
  const readMembers = memberReader(header, columns, rules)
  const [readStart, readEnd] = [timeReader(rules.format), timeReader(rules.format)]
  const isRegister = columns.indexes.has('register')
  const { field: startField, hasBoth, isEnd } = timeColumnsOf(columns, rules)
  const readValue = valueReader(columns, rules, isRegister ? 'register' : 'value')
  const length = isRegister ? null : rules.interval
  const pattern = rules.format?.pattern ?? '2026-03-29T01:00:00+01:00'
  const build = (read: ReadLong, end: FileTime | undefined, at: number): ReadRow => {
    if (end === undefined)
      return isEnd
        ? readingOf(read, otherEnd(at, -1, length, zone), at)
        : readingOf(read, at, otherEnd(at, 1, length, zone))
    if ('at' in end) return readingOf(read, at, end.at)
    return zone === null ? noOffset(read.line, 'end') : readingToLocalEnd(read, at, end.local, zone, ambiguous)
  }
  return (cells, line) => {
    const value = readValue(cells, line)
    if (value === null) return false
    const members = readMembers(cells, line)
    if (isRefusedRow(members as ReadRow)) return add(times, members as ReadRow)
    if (typeof value !== 'string') return add(times, value)
    const startText = cell(cells, startField)
    const start = readStart(startText)
    if (start === undefined) return add(times, notATime(line, startField, startText, pattern))
    const end = hasBoth ? readEnd(cell(cells, 'end')) : undefined
    if (hasBoth && end === undefined) return add(times, notATime(line, 'end', cell(cells, 'end'), pattern))
    const read: ReadLong = { members: members as RowMembers, value, isRegister, line }
    if ('at' in start) return add(times, build(read, end, start.at))
    if (zone === null) return add(times, noOffset(line, startField))
    const isMidnight = length === 'local_day' && start.local % dayMs === 0
    if (isMidnight) return add(times, build(read, end, startOfDayNumber(zone, start.local / dayMs)))
    times.addLocal(line, seriesOf(read.members), start.local, at => build(read, end, at))
    return true
  }
}

const noOffset = (line: number, field: string): ReadRow =>
  refusedRow(line, field, 'not_a_time', 'The time has no UTC offset. Set --zone to the zone of the file.')

const add = (times: Pick<LocalTimes, 'add'>, row: ReadRow): true => {
  times.add(row)
  return true
}
