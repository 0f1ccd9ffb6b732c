import type { TimeZone } from '../domain/civil-time.ts'
import type { PriceHistory } from '../domain/forecast/hour-grid.ts'
import { hourMs } from '../domain/interval.ts'
import { CommandError } from './command.ts'

/** Prices of a file in the order of time. `clock` contains the UTC offsets of its times. */
export type PriceFile = {
  readonly history: PriceHistory
  readonly clock: TimeZone
  readonly stepMs: number
  readonly hasOffsets: boolean
}

/** Columns to read, by name or by number from 1. Default: the columns with a known name, else the first two. */
export type ColumnChoice = { readonly time?: string | undefined; readonly price?: string | undefined }

type Row = { readonly line: number; readonly at: number; readonly offset: number | null; readonly price: number }

const minStepMs = 60_000

const cellsOf = (line: string, separator: string): readonly string[] =>
  line.split(separator).map(cell =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )

/** Find the separator. The comma is last, because it can be a decimal comma. */
const separatorOf = (line: string): string => [';', '\t', ','].find(separator => line.includes(separator)) ?? ','

const timePattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i

/** Read a time as instant and UTC offset, both in ms; without an offset as UTC. Returns null for invalid text. */
const readTime = (text: string): Pick<Row, 'at' | 'offset'> | null => {
  const [, year, month, date, hour = '0', minute = '0', second = '0', zone] = timePattern.exec(text) ?? []
  if (year === undefined) return null
  const local = Date.UTC(Number(year), Number(month) - 1, Number(date), Number(hour), Number(minute), Number(second))
  const isValidTime =
    new Date(local).toISOString().slice(0, 16) ===
    `${year}-${month}-${date}T${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (!isValidTime) return null
  if (zone === undefined) return { at: local, offset: null }
  const digits = /^([+-])(\d{2}):?(\d{2})$/.exec(zone)
  const offset =
    digits === null ? 0 : (digits[1] === '-' ? -1 : 1) * (Number(digits[2]) * hourMs + Number(digits[3]) * 60_000)
  return { at: local - offset, offset }
}

const readPrice = (text: string, separator: string): number | null => {
  const decimalText = separator === ',' ? text : text.replace(',', '.')
  return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(decimalText) ? Number(decimalText) : null
}

const findColumn = (
  header: readonly string[],
  choice: string | undefined,
  namePattern: RegExp,
  fallback: number,
  option: string,
): number => {
  if (choice === undefined) {
    const found = header.findIndex(name => namePattern.test(name))
    return found < 0 ? fallback : found
  }
  const named = header.findIndex(name => name.toLowerCase() === choice.toLowerCase())
  const columnIndex = named >= 0 ? named : /^[1-9]\d*$/.test(choice) ? Number(choice) - 1 : -1
  if (columnIndex < 0 || columnIndex >= header.length)
    throw new CommandError(
      `There is no column "${choice}". ${option} must be one of ${header.join(', ')}, or a number.`,
    )
  return columnIndex
}

const readRows = (text: string, choice: ColumnChoice): readonly Row[] => {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const separator = separatorOf(lines[0] ?? '')
  const first = cellsOf(lines[0] ?? '', separator)
  const hasHeader = first.every(cell => readTime(cell) === null)
  const timeColumn = findColumn(first, choice.time, hasHeader ? /time|date|start|begin/i : /^$/, 0, '--time-column')
  const priceColumn = findColumn(
    first,
    choice.price,
    hasHeader ? /price|value/i : /^$/,
    timeColumn === 1 ? 0 : 1,
    '--price-column',
  )
  const rows: Row[] = []
  for (const [index, content] of lines.entries()) {
    if (content.trim() === '' || (hasHeader && index === 0)) continue
    const cells = cellsOf(content, separator)
    const [timeText, priceText] = [cells[timeColumn] ?? '', cells[priceColumn] ?? '']
    const time = readTime(timeText)
    if (time === null)
      throw new CommandError(`Line ${index + 1}: "${timeText}" is not a time such as 2025-09-14T10:00:00+02:00.`)
    // Many published files leave missing prices empty.
    if (priceText === '' || /^(nan|null|n\/a|-)$/i.test(priceText)) continue
    const price = readPrice(priceText, separator)
    if (price === null) throw new CommandError(`Line ${index + 1}: "${priceText}" is not a price.`)
    rows.push({ line: index + 1, ...time, price })
  }
  return rows.sort((a, b) => a.at - b.at)
}

/** Return the UTC offsets of the rows as a time zone. */
const clockOf = (rows: readonly Row[]): TimeZone => {
  const changes: number[] = []
  const offsets = [rows[0]?.offset ?? 0]
  for (const { at, offset } of rows) {
    if ((offset ?? 0) === offsets.at(-1)) continue
    changes.push(at)
    offsets.push(offset ?? 0)
  }
  return { name: 'file', changes, offsets }
}

const stepOf = (rows: readonly Row[]): number => {
  let step = Number.POSITIVE_INFINITY
  for (const [index, { at }] of rows.entries()) {
    const gap = at - (rows[index - 1]?.at ?? Number.NEGATIVE_INFINITY)
    if (gap > 0) step = Math.min(step, gap)
  }
  return step
}

const refuseDuplicateTimes = (rows: readonly Row[]): void => {
  for (const [index, { at, offset, line }] of rows.entries()) {
    const previous = rows[index - 1]
    // Without offsets the repeated hour in autumn has two prices per time. The hour grid uses their mean.
    if (previous !== undefined && previous.at === at && offset !== null) {
      throw new CommandError(`Line ${line} repeats the time of line ${previous.line}.`)
    }
  }
}

/**
 * Read prices from the text of a CSV file with a time and a price per row, in any order, with or without a header.
 * Either all times have a UTC offset or none has. Rows without a price are gaps.
 * Throws `CommandError` with the number of the invalid line.
 */
export const readPriceFile = (text: string, choice: ColumnChoice): PriceFile => {
  const rows = readRows(text, choice)
  if (rows.length < 2)
    throw new CommandError(
      'The file contains no prices. Each row needs a time and a price, such as 2025-09-14T10:00:00+02:00,81.23.',
    )
  const hasOffsets = rows.some(({ offset }) => offset !== null)
  const rowWithoutOffset = rows.find(({ offset }) => offset === null)
  if (hasOffsets && rowWithoutOffset !== undefined)
    throw new CommandError(`Line ${rowWithoutOffset.line}: the time has no UTC offset, but other times have one.`)
  refuseDuplicateTimes(rows)
  const stepMs = stepOf(rows)
  if (stepMs < minStepMs || stepMs > hourMs) throw new CommandError('Prices must be 1 to 60 minutes apart.')
  const starts = rows.map(({ at }) => at)
  const history = { starts, ends: starts.map(at => at + stepMs), values: rows.map(({ price }) => price) }
  return { history, clock: clockOf(rows), stepMs, hasOffsets }
}
