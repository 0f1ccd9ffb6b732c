import { type FileReading, isRefusedRow, type ReadRow, refusedRow } from '../reading.ts'
import type { Columns } from './columns.ts'
import type { CsvRules } from './csv-rules.ts'
import { endInstant, type LocalTimes } from './local-times.ts'
import { cellReader, memberReader, type RowMembers, readValueText, seriesOf } from './row-members.ts'
import { type FileTime, timeReader } from './time-text.ts'

/** Reads the rows of a file. Returns whether the row has a value; its readings go to `times`. */
export type RowReader = (cells: readonly string[], line: number) => boolean

type RowTimes = { readonly start: FileTime | undefined; readonly end: FileTime | undefined }

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

/**
 * Return a reader of rows with one reading each. A blank value is not a reading. A single time is the start of its interval,
 * or its end by the label. Local times need `times` of the zone; null if the file has no zone.
 * Source: docs/rules/imports.md #csv.
 */
export const longRowReader = (
  columns: Columns,
  rules: CsvRules,
  times: Pick<LocalTimes, 'add' | 'addLocal'>,
): RowReader => {
  const cell = cellReader(columns)
  const readMembers = memberReader(columns, rules)
  const has = (field: string) => columns.indexes.has(field)
  const [readStart, readEnd] = [timeReader(rules.format), timeReader(rules.format)]
  const isRegister = has('register')
  const timeField = has('time') ? 'time' : has('start') ? 'start' : 'end'
  const hasBoth = has('start') && has('end') && !isRegister
  const isEnd = !hasBoth && !isRegister && (rules.label === 'end' || timeField === 'end')
  const pattern = rules.format?.pattern ?? '2026-03-29T01:00:00+01:00'
  const addExact = ({ start, end }: RowTimes, read: ReadLong): boolean => {
    if (start === undefined || !('at' in start)) return false
    if (end === undefined) {
      const length = isRegister ? 0 : (rules.intervalMs ?? 0)
      times.add(isEnd ? readingOf(read, start.at - length, start.at) : readingOf(read, start.at, start.at + length))
      return true
    }
    if (!('at' in end)) return false
    times.add(readingOf(read, start.at, end.at))
    return true
  }
  const buildLocal =
    (read: ReadLong, end: FileTime | undefined) =>
    (at: number): ReadRow => {
      const length = isRegister ? 0 : (rules.intervalMs ?? 0)
      if (end === undefined) return isEnd ? readingOf(read, at - length, at) : readingOf(read, at, at + length)
      if ('at' in end) return readingOf(read, at, end.at)
      const endAt = rules.zone === null ? undefined : endInstant(rules.zone, at, end.local)
      if (endAt === undefined) return refusedRow(read.line, 'end', 'no_such_time', 'The clock skips the end.')
      return readingOf(read, at, endAt)
    }
  return (cells, line) => {
    const valueField = isRegister ? 'register' : 'value'
    const value = readValueText(cell(cells, valueField), rules, line, valueField)
    if (value === null) return false
    const members = readMembers(cells, line)
    if (isRefusedRow(members as ReadRow)) return add(times, members as ReadRow)
    if (typeof value !== 'string') return add(times, value)
    const startField = hasBoth ? 'start' : timeField
    const startText = cell(cells, startField)
    const start = readStart(startText)
    if (start === undefined) return add(times, notATime(line, startField, startText, pattern))
    const end = hasBoth ? readEnd(cell(cells, 'end')) : undefined
    if (hasBoth && end === undefined) return add(times, notATime(line, 'end', cell(cells, 'end'), pattern))
    const read: ReadLong = { members: members as RowMembers, value, isRegister, line }
    if (addExact({ start, end }, read)) return true
    if (rules.zone === null) {
      const message = `"${startText.slice(0, 60)}" has no UTC offset. Set --zone to the zone of the file.`
      return add(times, refusedRow(line, startField, 'not_a_time', message))
    }
    if ('at' in start) times.add(buildLocal(read, end)(start.at))
    else times.addLocal(line, seriesOf(read.members), start.local, buildLocal(read, end))
    return true
  }
}

const add = (times: Pick<LocalTimes, 'add'>, row: ReadRow): true => {
  times.add(row)
  return true
}
