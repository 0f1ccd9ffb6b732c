import { readInstant, writeInstant } from '../../domain/instant.ts'
import { dayMs, minuteMs } from '../../domain/interval.ts'
import { type Html, html } from '../ui-kit/html.ts'
import type { DescribedOperation } from './document.ts'

/** Value over [start, end) in ms. `isFaint` marks a confidence below 1, `isMarked` a highlighted bar. */
export type ChartBar = {
  readonly start: number
  readonly end: number
  readonly value: number
  readonly isFaint?: boolean
  readonly isMarked?: boolean
}

/** Bars over time. `id` is unique in the page. Times have a UTC offset in minutes, values are in `unit`. */
export type BarChart = {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly unit: string
  readonly offsetMinutes: number
  readonly bars: readonly ChartBar[]
}

const chartSize = { width: 480, height: 190, left: 46, right: 20, top: 24, bottom: 24 } as const
const plotSize = {
  width: chartSize.width - chartSize.left - chartSize.right,
  height: chartSize.height - chartSize.top - chartSize.bottom,
}

const hourMs = 60 * minuteMs
const timeSteps = [
  15 * minuteMs,
  30 * minuteMs,
  ...[1, 2, 3, 6, 12].map(hours => hours * hourMs),
  ...[1, 2, 7, 14, 28].map(days => days * dayMs),
]
const maxTimes = 8

/** Round a coordinate to 0.1 units. */
const roundForSvg = (value: number): number => Math.round(value * 10) / 10

/** Return the instants of at most nine time labels: round times at the UTC offset. */
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

/** Format a time of day, or a date in long charts. */
export const timeLabel = (at: number, offsetMinutes: number, isDays = false): string => {
  const text = writeInstant(at, offsetMinutes)
  return isDays ? `${Number(text.slice(8, 10))} ${months[Number(text.slice(5, 7)) - 1]}` : text.slice(11, 16)
}

/** Return the values of the grid lines, zero included, and the number of decimals of their labels. */
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
  // Leave a gap of one unit between wide bars.
  const width = Math.max(0.3, right - left - (right - left > 4 ? 1 : 0))
  const barText = `${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}: ${value}`
  const className = ['chart-bar', isFaint ? 'faint' : '', isMarked ? 'marked' : ''].filter(one => one !== '').join(' ')
  const height = roundForSvg(Math.max(0.5, bottom - top))
  const position = html`x="${roundForSvg(left)}" y="${roundForSvg(top)}"`
  return html`<rect class="${className}" ${position} width="${roundForSvg(width)}" height="${height}">
<title>${barText}</title></rect>`
}

const gridLine = (value: number, decimals: number, { y }: Scale): Html => {
  const [className, at] = [value === 0 ? 'chart-zero' : 'chart-grid', roundForSvg(y(value))]
  const [left, right, textAt] = [chartSize.left, chartSize.width - chartSize.right, roundForSvg(y(value) + 3.5)]
  return html`<line class="${className}" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/>
<text class="chart-value" x="${left - 6}" y="${textAt}">${value.toFixed(decimals)}</text>`
}

/**
 * Draw bars over time as SVG; null without bars. The page's style sheet sets the colours.
 * Screen readers use title and description.
 */
export const barChart = ({ id, title, description, unit, offsetMinutes, bars }: BarChart): Html | null => {
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
  const timeTexts = times.map(at => {
    const text = timeLabel(at, offsetMinutes, isDays)
    return html`<text class="chart-time" x="${roundForSvg(scale.x(at))}" y="${chartSize.height - 8}">${text}</text>`
  })
  const viewBox = `0 0 ${chartSize.width} ${chartSize.height}`
  return html`<svg class="chart" viewBox="${viewBox}" role="img" aria-labelledby="${id}-title ${id}-description">
<title id="${id}-title">${title}</title><desc id="${id}-description">${description}</desc>
<text x="${chartSize.left}" y="12">${unit}</text>
${values.map(value => gridLine(value, decimals, scale))}
${bars.map(one => barElement(one, scale, offsetMinutes))}
${timeTexts}
</svg>`
}

/** Example of prices in the field names of either API version. */
type PriceExample = {
  readonly currency_code: string
  readonly location_timezone: string
  readonly data: readonly {
    readonly valid_from: string
    readonly valid_to: string
    readonly price?: { readonly value: number; readonly confidence: number }
    readonly tariff?: { readonly rate: number; readonly confidence: number }
  }[]
}

const instantOf = (text: string): { readonly at: number; readonly offsetMinutes: number } => {
  const read = readInstant(text, 'valid_from')
  if (!read.ok) throw new Error(`The example has no valid instant: ${text}.`)
  return read.value
}

const priceBars = ({ data }: PriceExample): readonly ChartBar[] =>
  data.flatMap(({ valid_from, valid_to, price, tariff }) => {
    const value = price?.value ?? tariff?.rate
    if (value === undefined) return []
    const isFaint = (price?.confidence ?? tariff?.confidence ?? 1) < 1
    return [{ start: instantOf(valid_from).at, end: instantOf(valid_to).at, value, isFaint }]
  })

const intervalText = ({ start, end, value }: ChartBar, offsetMinutes: number): string =>
  `${value} from ${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}`

/** Describe a price chart by its lowest and highest price. */
const describePrices = (bars: readonly ChartBar[], offsetMinutes: number): string => {
  const [first, ...others] = bars
  if (first === undefined) return ''
  const lowest = others.reduce((bestSoFar, one) => (one.value < bestSoFar.value ? one : bestSoFar), first)
  const highest = others.reduce((bestSoFar, one) => (one.value > bestSoFar.value ? one : bestSoFar), first)
  return `The lowest price is ${intervalText(lowest, offsetMinutes)}, the highest ${intervalText(highest, offsetMinutes)}.`
}

const priceChart = (id: string, example: PriceExample): BarChart => {
  const bars = priceBars(example)
  const { offsetMinutes } = instantOf(example.data[0]?.valid_from ?? '')
  return {
    id,
    title: `Prices at a location in ${example.location_timezone}`,
    description: describePrices(bars, offsetMinutes),
    unit: `${example.currency_code} per kWh`,
    offsetMinutes,
    bars,
  }
}

type Window = { readonly start_time: string; readonly end_time: string }
type Power = { readonly units: string; readonly value: number }

/** Example of a plan in the field names of either API version. */
type PlanExample = {
  readonly location_timezone: string
  readonly data: readonly (Window & { readonly schedule: readonly (Window & { readonly power: Power })[] })[]
}

type Piece = { readonly start: number; readonly end: number; readonly kilowatts: number }

const planPieces = ({ data }: PlanExample): readonly Piece[] =>
  data.flatMap(({ schedule }) =>
    schedule.map(({ start_time, end_time, power }) => ({
      start: instantOf(start_time).at,
      end: instantOf(end_time).at,
      kilowatts: power.units === 'KW' ? power.value : power.value / 1000,
    })),
  )

/** Return the total power of all devices over their windows. A bar ends where a piece or window starts or ends. */
const planBars = (example: PlanExample): readonly ChartBar[] => {
  const pieces = planPieces(example)
  const windows = example.data.flatMap(({ start_time, end_time }) => [instantOf(start_time).at, instantOf(end_time).at])
  const edges = [...new Set([...windows, ...pieces.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b)
  return edges.slice(1).map((end, index) => {
    const start = edges[index] ?? end
    const value = pieces
      .filter(one => one.start <= start && end <= one.end)
      .reduce((sum, one) => sum + one.kilowatts, 0)
    return { start, end, value: Math.round(value * 1e6) / 1e6, isMarked: value > 0 }
  })
}

/** Describe a plan by its times and power. */
const describePlan = (bars: readonly ChartBar[], offsetMinutes: number): string => {
  const runningBars = bars.filter(({ value }) => value > 0)
  const runTexts = runningBars.map(
    ({ start, end, value }) =>
      `${value} kW from ${timeLabel(start, offsetMinutes)} to ${timeLabel(end, offsetMinutes)}`,
  )
  return runTexts.length === 0 ? 'The devices do not run.' : `The total power of the devices is ${runTexts.join(', ')}.`
}

/** Create the chart of a plan: the total power of its devices over time. */
export const planChart = (id: string, example: PlanExample): BarChart => {
  const bars = planBars(example)
  const { offsetMinutes } = instantOf(example.data[0]?.start_time ?? '')
  return {
    id,
    title: `A plan at a location in ${example.location_timezone}`,
    description: describePlan(bars, offsetMinutes),
    unit: 'kW',
    offsetMinutes,
    bars,
  }
}

/** Charts of the example responses, by operation. */
const chartsByOperation: Readonly<Record<string, (id: string, example: never) => BarChart>> = {
  price_retrieve: priceChart,
  schedule_amount_create: planChart,
}

/** Draw the example response of an operation; null if it has no chart. */
export const exampleChart = ({ id, answer }: Pick<DescribedOperation, 'id' | 'answer'>): Html | null => {
  const createChart = chartsByOperation[id]
  if (createChart === undefined || answer.example === undefined) return null
  const chart = createChart(`${id}-chart`, JSON.parse(JSON.stringify(answer.example)) as never)
  return html`<figure class="picture"><figcaption>${chart.title}</figcaption>${barChart(chart)}</figure>`
}
