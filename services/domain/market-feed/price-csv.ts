import { parseInstant } from '../instant.ts'
import { type FeedPrice, intervalsFrom, maxMarketDecimals, type PriceUnit, priceOf } from './feed-price.ts'

/** An invalid line: its number from 1, and the correction. */
export type CsvFault = { readonly line: number; readonly message: string }

/** Prices of a file, ordered by start, or its first ten faults. */
export type PriceCsv =
  | { readonly ok: true; readonly prices: readonly FeedPrice[] }
  | { readonly ok: false; readonly faults: readonly CsvFault[] }

const maxFaults = 10
const maxLengthMs = 24 * 3_600_000

type Row = { readonly line: number; readonly start: number; readonly end: number | null; readonly value: bigint }
type Columns = { readonly separator: string; readonly start: number; readonly end: number; readonly value: number }

const names = {
  start: new Set(['start_time', 'start', 'valid_from']),
  end: new Set(['end_time', 'end', 'valid_to']),
  value: new Set(['value', 'price']),
} as const

const fault = (line: number, message: string): CsvFault => ({ line, message })
const failed = (...faults: readonly CsvFault[]): PriceCsv => ({ ok: false, faults: faults.slice(0, maxFaults) })

const cellsOf = (text: string, separator: string): readonly string[] =>
  text.split(separator).map(cell =>
    cell
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .trim(),
  )

/** Read the header, which names the columns. The column of ends is optional. */
const readHeader = (header: string): Columns | null => {
  const separator = [';', '\t', ','].find(mark => header.includes(mark)) ?? ','
  const cells = cellsOf(header.toLowerCase(), separator)
  const columnOf = (kind: keyof typeof names): number => cells.findIndex(cell => names[kind].has(cell))
  const columns = { separator, start: columnOf('start'), end: columnOf('end'), value: columnOf('value') }
  return columns.start < 0 || columns.value < 0 ? null : columns
}

/** Accept a decimal comma if the separator of columns is not a comma. */
const decimalOf = (text: string, separator: string): string =>
  separator === ',' ? text : text.replace(/^(-?\d+),(\d+)$/, '$1.$2')

const readRow = (text: string, line: number, columns: Columns, unit: PriceUnit): Row | CsvFault => {
  const cells = cellsOf(text, columns.separator)
  const [startText = '', endText = '', valueText = ''] = [
    cells[columns.start],
    cells[columns.end],
    cells[columns.value],
  ]
  const start = parseInstant(startText)
  if (start === undefined)
    return fault(line, `"${startText}" is not a time with an offset, such as 2026-03-29T01:00:00+01:00`)
  const end = columns.end < 0 ? null : parseInstant(endText)
  if (end === undefined)
    return fault(line, `"${endText}" is not a time with an offset, such as 2026-03-29T02:00:00+01:00`)
  if (end !== null && end <= start) return fault(line, 'the end must be after the start')
  const value = priceOf(decimalOf(valueText, columns.separator), unit)
  return value === null
    ? fault(line, `"${valueText}" is not a price of at most ${maxMarketDecimals} decimals`)
    : { line, start, end, value }
}

/**
 * Read prices from CSV text. The header names the columns start_time, value and optionally end_time, in any order.
 * The separator is a comma, a semicolon or a tab. Empty lines and lines that begin with # are ignored.
 * Without ends, a price ends at the next start or after the length of the previous price, whichever is earlier.
 * Prices must not overlap. The result lists the first ten faults.
 */
export const readPriceCsv = (text: string, unit: PriceUnit): PriceCsv => {
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((content, index) => ({ content, line: index + 1 }))
    .filter(({ content }) => content.trim() !== '' && !content.startsWith('#'))
  const [header, ...body] = lines
  const columns = header === undefined ? null : readHeader(header.content)
  if (columns === null)
    return failed(fault(header?.line ?? 1, 'the first line must name the columns: start_time,end_time,value'))
  const read = body.map(({ content, line }) => readRow(content, line, columns, unit))
  const faults = read.filter((row): row is CsvFault => 'message' in row)
  if (faults.length > 0) return failed(...faults)
  const rows = read.filter((row): row is Row => 'value' in row).toSorted((a, b) => a.start - b.start)
  const overlaps = rows.flatMap((row, index) => {
    const next = rows[index + 1]
    return next !== undefined && next.start < (row.end ?? row.start + 1)
      ? [fault(next.line, `it overlaps line ${row.line}`)]
      : []
  })
  if (overlaps.length > 0) return failed(...overlaps)
  const lengths = intervalsFrom(
    rows.map(({ start }) => start),
    maxLengthMs,
  )
  return {
    ok: true,
    prices: rows.map(({ start, end, value }, index) => ({ start, end: end ?? lengths[index]?.end ?? start, value })),
  }
}
