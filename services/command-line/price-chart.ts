import { styleText } from 'node:util'
import { civilDate, weekdayOf } from '../domain/civil-date.ts'
import { offsetAt, type TimeZone } from '../domain/civil-time.ts'
import { dayMs, hourMs } from '../domain/interval.ts'

/** Value over [start, end) in ms; `isFaint` marks a value with a confidence below 1. */
export type ChartValue = {
  readonly start: number
  readonly end: number
  readonly value: number
  readonly isFaint?: boolean
}

/** Interval [start, end) in ms that is underlined. */
export type ChartInterval = { readonly start: number; readonly end: number }

type Column = {
  readonly start: number
  readonly value: number | null
  readonly isFaint: boolean
  readonly isMarked: boolean
}

const maxColumns = 64
const chartRows = 8
const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const
const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Return the length of a column: 15 or 30 minutes, or whole hours, so that at most 64 columns are needed. */
const columnLengthMs = (totalMs: number): number =>
  [hourMs / 4, hourMs / 2].find(length => totalMs / length <= maxColumns) ??
  Math.ceil(totalMs / maxColumns / hourMs) * hourMs

const sharedMs = (a: ChartInterval, b: ChartInterval): number => Math.min(a.end, b.end) - Math.max(a.start, b.start)

/** Return a column with the mean of the known values, weighted by time. */
const columnOf = (interval: ChartInterval, values: readonly ChartValue[], marks: readonly ChartInterval[]): Column => {
  const overlapping = values.filter(one => sharedMs(one, interval) > 0)
  const known = overlapping.reduce((sum, one) => sum + sharedMs(one, interval), 0)
  const value =
    known === 0 ? null : overlapping.reduce((sum, one) => sum + one.value * sharedMs(one, interval), 0) / known
  const isMarked = marks.some(mark => sharedMs(mark, interval) * 2 >= interval.end - interval.start)
  return { start: interval.start, value, isFaint: overlapping.some(one => one.isFaint === true), isMarked }
}

const columnsOf = (values: readonly ChartValue[], marks: readonly ChartInterval[]): readonly Column[] => {
  const [from, to] = [Math.min(...values.map(({ start }) => start)), Math.max(...values.map(({ end }) => end))]
  const length = columnLengthMs(to - from)
  return Array.from({ length: Math.ceil((to - from) / length) }, (_, index) =>
    columnOf({ start: from + index * length, end: Math.min(to, from + (index + 1) * length) }, values, marks),
  )
}

/** Return the character of a column in a row: rows from 0 are above zero, rows from −1 below. `value` is in rows. */
const blockCharacter = (value: number, row: number): string => {
  if (row >= 0) {
    if (value <= row) return ' '
    return eighths[Math.min(8, Math.max(row === 0 ? 1 : 0, Math.round((value - row) * 8)))] ?? ' '
  }
  const depth = -value + row + 1
  if (depth <= 0) return ' '
  return depth >= 0.75 ? '█' : depth >= 0.25 ? '▀' : '▔'
}

/** Return the number of rows above and below zero, and the value of one row. */
const chartScale = (known: readonly number[]) => {
  const [low, high] = [Math.min(0, ...known), Math.max(0, ...known)]
  const below = low < 0 ? Math.max(1, Math.round((chartRows * -low) / (high - low))) : 0
  const above = high > 0 ? Math.max(1, chartRows - below) : 0
  return {
    low,
    high,
    below,
    above,
    unit: Math.max(above === 0 ? 0 : high / above, below === 0 ? 0 : -low / below) || 1,
  }
}

const dateOf = (local: number): string => {
  const { month, date } = civilDate(Math.floor(local / dayMs))
  return `${date} ${months[month - 1]}`
}

const clockOf = (local: number): string => new Date(local).toISOString().slice(11, 16)

/** Return the labels of the columns: times of day, or dates if times do not fit. */
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

/** Format an instant as weekday, date and time of a zone. */
export const instantText = (at: number, zone: TimeZone): string => {
  const local = at + offsetAt(zone, at)
  return `${weekdays[weekdayOf(Math.floor(local / dayMs))]} ${dateOf(local)} ${clockOf(local)}`
}

/**
 * Draw values over time as up to 64 columns of characters, with the times of a zone below.
 * Marked intervals are underlined. Each line is indented by two. Returns '' without values.
 */
export const columnChart = (
  values: readonly ChartValue[],
  zone: TimeZone,
  marks: readonly ChartInterval[] = [],
): string => {
  if (values.length === 0) return ''
  const columns = columnsOf(values, marks)
  const { low, high, below, above, unit } = chartScale(
    columns.map(({ value }) => value).filter(value => value !== null),
  )
  const valueText = (value: number): string => value.toFixed(4)
  const width = Math.max(valueText(low).length, valueText(high).length)
  const lineOf = (row: number): string => {
    const label = row === above - 1 && above > 0 ? valueText(high) : row === -below && below > 0 ? valueText(low) : ''
    const cells = columns.map(({ value, isFaint }) => {
      const cell = value === null ? ' ' : blockCharacter(value / unit, row)
      return cell === ' ' ? cell : styleText(isFaint ? 'dim' : 'green', cell)
    })
    return `  ${label.padStart(width)} │${cells.join('')}`.trimEnd()
  }
  const axis = `  ${'0'.padStart(width)} ┼${'─'.repeat(columns.length)}`
  const underline = columns.map(({ isMarked }) => (isMarked ? styleText('yellow', '━') : ' ')).join('')
  return [
    ...Array.from({ length: above }, (_, index) => lineOf(above - 1 - index)),
    axis,
    ...Array.from({ length: below }, (_, index) => lineOf(-1 - index)),
    ...(marks.length === 0 ? [] : [`  ${' '.repeat(width)}  ${underline}`.trimEnd()]),
    `  ${' '.repeat(width)}  ${timeLine(columns, zone)}`,
  ].join('\n')
}
