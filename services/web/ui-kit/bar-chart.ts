import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
import { type Html, html } from './html.ts'

/** A value over a half-open span (ms); `faint` bars are less certain, `marked` ones stand out. */
export type ChartBar = {
  readonly start: number
  readonly end: number
  readonly value: number
  readonly isFaint?: boolean
  readonly isMarked?: boolean
}

/** A span (ms) that stands out behind the bars. */
export type ChartMark = { readonly start: number; readonly end: number; readonly label: string }

/** Bars over time. `id` is unique in its page; times are shown at an offset (minutes), values in `unit`. */
export type BarChart = {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly unit: string
  readonly offsetMinutes: number
  readonly bars: readonly ChartBar[]
  readonly marks?: readonly ChartMark[]
}

const chartSize = { width: 480, height: 190, left: 46, right: 20, top: 24, bottom: 24 } as const
const plotSize = {
  width: chartSize.width - chartSize.left - chartSize.right,
  height: chartSize.height - chartSize.top - chartSize.bottom,
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const timeSteps = [
  15 * minuteMs,
  30 * minuteMs,
  ...[1, 2, 3, 6, 12].map(hours => hours * hourMs),
  ...[1, 2, 7, 14, 28].map(days => days * dayMs),
]
const maxTimes = 8

/** Round for the page: a tenth of a unit is finer than any screen. */
const roundForSvg = (value: number): number => Math.round(value * 10) / 10

/** The instants at which the clock at an offset shows round times, few enough to be labelled. */
const labelledTimes = (
  from: number,
  to: number,
  offsetMs: number,
): { readonly times: readonly number[]; readonly isDays: boolean } => {
  const step = timeSteps.find(one => (to - from) / one <= maxTimes) ?? Math.ceil((to - from) / maxTimes / dayMs) * dayMs
  const first = Math.ceil((from + offsetMs) / step) * step - offsetMs
  const times = Array.from(
    { length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, index) => first + index * step,
  )
  return { times, isDays: step >= dayMs }
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A time of day, or a date where the chart is too long for those. */
export const timeLabel = (at: number, offsetMinutes: number, isDays = false): string => {
  const text = writeInstant(at, offsetMinutes)
  return isDays ? `${Number(text.slice(8, 10))} ${months[Number(text.slice(5, 7)) - 1]}` : text.slice(11, 16)
}

/** Round values from the lowest to the highest, zero among them, and how many decimals tell them apart. */
const gridValues = (low: number, high: number): { readonly values: readonly number[]; readonly decimals: number } => {
  const minStep = (high - low) / 5
  const power = 10 ** Math.floor(Math.log10(minStep))
  const step = power * ([1, 2, 5].find(one => one * power >= minStep) ?? 10)
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)]
  const values = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
  return { values, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) }
}

type Scale = { readonly x: (at: number) => number; readonly y: (value: number) => number }

const barElement = (
  { start, end, value, isFaint = false, isMarked = false }: ChartBar,
  { x, y }: Scale,
  offsetMinutes: number,
): Html => {
  const [left, right, top, bottom] = [x(start), x(end), y(Math.max(0, value)), y(Math.min(0, value))]
  // A hair between neighbours, unless they are thin themselves.
  const width = Math.max(0.3, right - left - (right - left > 4 ? 1 : 0))
  const barText = `${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}: ${value}`
  const className = ['chart-bar', isFaint ? 'faint' : '', isMarked ? 'marked' : ''].filter(one => one !== '').join(' ')
  return html`<rect class="${className}" x="${roundForSvg(left)}" y="${roundForSvg(top)}" width="${roundForSvg(width)}" height="${roundForSvg(Math.max(0.5, bottom - top))}"><title>${barText}</title></rect>`
}

const markElement = ({ start, end, label }: ChartMark, { x }: Scale): Html =>
  html`<rect class="chart-mark" x="${roundForSvg(x(start))}" y="${chartSize.top}" width="${roundForSvg(x(end) - x(start))}" height="${plotSize.height}"><title>${label}</title></rect>`

const gridLine = (value: number, decimals: number, { y }: Scale): Html =>
  html`<line class="${value === 0 ? 'chart-zero' : 'chart-grid'}" x1="${chartSize.left}" x2="${chartSize.width - chartSize.right}" y1="${roundForSvg(y(value))}" y2="${roundForSvg(y(value))}"/><text class="chart-value" x="${chartSize.left - 6}" y="${roundForSvg(y(value) + 3.5)}">${value.toFixed(decimals)}</text>`

/**
 * Draw bars over time as a picture that stands in a page by itself: colours come from the page, a reader that does not see it is told
 * title and description. Bars and marks in any order; nothing without bars.
 */
export const barChart = ({ id, title, description, unit, offsetMinutes, bars, marks = [] }: BarChart): Html | null => {
  if (bars.length === 0) return null
  const [from, to] = [Math.min(...bars.map(({ start }) => start)), Math.max(...bars.map(({ end }) => end))]
  const heights = [0, ...bars.map(({ value }) => value)]
  const [lowest, highest] = [Math.min(...heights), Math.max(...heights)]
  const { values, decimals } = gridValues(lowest, highest > lowest ? highest : lowest + 1)
  const [low = 0, high = 1] = [values[0], values.at(-1)]
  const scale: Scale = {
    x: at => chartSize.left + ((at - from) / (to - from)) * plotSize.width,
    y: value => chartSize.top + ((high - value) / (high - low)) * plotSize.height,
  }
  const { times, isDays } = labelledTimes(from, to, offsetMinutes * minuteMs)
  const timeTexts = times.map(
    at =>
      html`<text class="chart-time" x="${roundForSvg(scale.x(at))}" y="${chartSize.height - 8}">${timeLabel(at, offsetMinutes, isDays)}</text>`,
  )
  return html`<svg class="chart" viewBox="0 0 ${chartSize.width} ${chartSize.height}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">${title}</title><desc id="${id}-description">${description}</desc>
<text x="${chartSize.left}" y="12">${unit}</text>
${marks.map(one => markElement(one, scale))}${values.map(value => gridLine(value, decimals, scale))}
${bars.map(one => barElement(one, scale, offsetMinutes))}
${timeTexts}
</svg>`
}
