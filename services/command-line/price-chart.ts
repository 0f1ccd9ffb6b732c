import { styleText } from 'node:util'
import { civilDate, dayMs, weekdayOf } from '../domain/civil-date.ts'
import { offsetAt, type TimeZone } from '../domain/civil-time.ts'

/** A value over a half-open span (ms); `faint` values are less certain. */
export type ChartValue = { readonly start: number; readonly end: number; readonly value: number; readonly faint?: boolean }

/** A span (ms) that is marked under the columns. */
export type ChartSpan = { readonly start: number; readonly end: number }

type Column = { readonly start: number; readonly value: number | null; readonly faint: boolean; readonly marked: boolean }

const hourMs = 3_600_000
const mostColumns = 64
const rows = 8
const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** How long a column lasts: a part of an hour, or whole hours, so that a terminal is wide enough. */
const columnLength = (span: number): number =>
  [hourMs / 4, hourMs / 2].find(length => span / length <= mostColumns) ?? Math.ceil(span / mostColumns / hourMs) * hourMs

const sharedMs = (a: ChartSpan, b: ChartSpan): number => Math.min(a.end, b.end) - Math.max(a.start, b.start)

/** The mean of what is known of a column's time. */
const columnOf = (span: ChartSpan, values: readonly ChartValue[], marks: readonly ChartSpan[]): Column => {
  const within = values.filter(one => sharedMs(one, span) > 0)
  const known = within.reduce((sum, one) => sum + sharedMs(one, span), 0)
  const value = known === 0 ? null : within.reduce((sum, one) => sum + one.value * sharedMs(one, span), 0) / known
  const marked = marks.some(mark => sharedMs(mark, span) * 2 >= span.end - span.start)
  return { start: span.start, value, faint: within.some(one => one.faint === true), marked }
}

const columnsOf = (values: readonly ChartValue[], marks: readonly ChartSpan[]): readonly Column[] => {
  const [from, to] = [Math.min(...values.map(({ start }) => start)), Math.max(...values.map(({ end }) => end))]
  const length = columnLength(to - from)
  return Array.from({ length: Math.ceil((to - from) / length) }, (_, index) =>
    columnOf({ start: from + index * length, end: Math.min(to, from + (index + 1) * length) }, values, marks),
  )
}

/** The part of a column in a row `above` (or below, from −1 on) the line of zero; values are in rows. */
const cellOf = (value: number, row: number): string => {
  if (row >= 0) {
    if (value <= row) return ' '
    return eighths[Math.min(8, Math.max(row === 0 ? 1 : 0, Math.round((value - row) * 8)))] ?? ' '
  }
  const depth = -value + row + 1
  if (depth <= 0) return ' '
  return depth >= 0.75 ? '█' : depth >= 0.25 ? '▀' : '▔'
}

/** How many rows lie above and below zero, and what one of them is worth. */
const scaleOf = (known: readonly number[]) => {
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)]
  const below = low < 0 ? Math.max(1, Math.round((rows * -low) / (high - low))) : 0
  const above = high > 0 ? Math.max(1, rows - below) : 0
  return { low, high, below, above, unit: Math.max(above === 0 ? 0 : high / above, below === 0 ? 0 : -low / below) || 1 }
}

const dateOf = (local: number): string => {
  const { month, date } = civilDate(Math.floor(local / dayMs))
  return `${date} ${months[month - 1]}`
}

const clockOf = (local: number): string => new Date(local).toISOString().slice(11, 16)

/** Times under the columns: of day, or dates where those would not fit. */
const timeLine = (columns: readonly Column[], zone: TimeZone): string => {
  const length = (columns[1]?.start ?? 0) - (columns[0]?.start ?? 0)
  const step = [3 * hourMs, 6 * hourMs].find(one => one / length >= 6) ?? dayMs
  let line = ''
  for (const [index, { start }] of columns.entries()) {
    const local = start + offsetAt(zone, start)
    const isStep = local % step < Math.max(length, 1)
    if (isStep && line.length <= index) line = `${line.padEnd(index)}${step < dayMs ? clockOf(local) : dateOf(local)} `
  }
  return line.trimEnd()
}

/** Name an instant by weekday and time of a zone. */
export const instantWords = (at: number, zone: TimeZone): string => {
  const local = at + offsetAt(zone, at)
  return `${weekdays[weekdayOf(Math.floor(local / dayMs))]} ${dateOf(local)} ${clockOf(local)}`
}

/**
 * Draw values over time as columns of characters, at most 64 beside each other, with times of a zone below; marked spans are underlined.
 * Each line is indented by two. Empty without values.
 */
export const columnChart = (values: readonly ChartValue[], zone: TimeZone, marks: readonly ChartSpan[] = []): string => {
  if (values.length === 0) return ''
  const columns = columnsOf(values, marks)
  const { low, high, below, above, unit } = scaleOf(columns.map(({ value }) => value).filter(value => value !== null))
  const shown = (value: number): string => value.toFixed(4)
  const width = Math.max(shown(low).length, shown(high).length)
  const lineOf = (row: number): string => {
    const label = row === above - 1 && above > 0 ? shown(high) : row === -below && below > 0 ? shown(low) : ''
    const cells = columns.map(({ value, faint }) => {
      const cell = value === null ? ' ' : cellOf(value / unit, row)
      return cell === ' ' ? cell : styleText(faint ? 'dim' : 'green', cell)
    })
    return `  ${label.padStart(width)} │${cells.join('')}`.trimEnd()
  }
  const axis = `  ${'0'.padStart(width)} ┼${'─'.repeat(columns.length)}`
  const underline = columns.map(({ marked }) => (marked ? styleText('yellow', '━') : ' ')).join('')
  return [
    ...Array.from({ length: above }, (_, index) => lineOf(above - 1 - index)),
    axis,
    ...Array.from({ length: below }, (_, index) => lineOf(-1 - index)),
    ...(marks.length === 0 ? [] : [`  ${' '.repeat(width)}  ${underline}`.trimEnd()]),
    `  ${' '.repeat(width)}  ${timeLine(columns, zone)}`,
  ].join('\n')
}
