import { type Html, html } from '../../ui-kit/html.ts'

/** Bar of a chart. `title` is its text on hover. A forecast bar can still change. */
export type Bar = {
  readonly label: string
  readonly value: number
  readonly title: string
  readonly href: string | null
  readonly isForecast: boolean
  /** Colour of the bar: 0 is the accent. */
  readonly tone?: number
}

type BarChart = {
  readonly label: string
  readonly unit: string
  readonly bars: readonly Bar[]
  /** Position of now as a fraction of the width; null if now is outside. */
  readonly now: number | null
}

const height = 220
const [top, bottom] = [16, 24]
const plotHeight = height - top - bottom
const maxLabels = 8

const percentOf = (fraction: number): string => `${(fraction * 100).toFixed(3)}%`

/** Round a step of an axis up to 1, 2 or 5 times a power of ten. */
const niceStep = (span: number): number => {
  const power = 10 ** Math.floor(Math.log10(span))
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= span) ?? span
}

const tickText = (value: number, step: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: Math.max(0, -Math.floor(Math.log10(step))) })

/** Bounds of the vertical axis and its ticks. */
const axisOf = (bars: readonly Bar[]) => {
  const low = Math.min(0, ...bars.map(({ value }) => value))
  const high = Math.max(0, ...bars.map(({ value }) => value))
  const step = niceStep(high === low ? 1 : (high - low) / 3)
  const [from, to] = [Math.floor(low / step) * step, Math.max(Math.ceil(high / step), 1) * step]
  const ticks = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => from + index * step)
  return { from, to, step, ticks }
}

const nowLine = (now: number): Html =>
  html`<line class="now" x1="${percentOf(now)}" x2="${percentOf(now)}" y1="${top}" y2="${height - bottom}"></line>
<text class="tick now-text" x="${percentOf(now)}" y="${top - 4}" text-anchor="${now > 0.9 ? 'end' : 'middle'}">now</text>`

/**
 * Create a bar chart without a script. Its values are also in a table of the page, which the keyboard and screen readers
 * use.
 */
export const barChart = ({ label, unit, bars, now }: BarChart): Html => {
  const { from, to, step, ticks } = axisOf(bars)
  const yOf = (value: number): number => top + ((to - value) / (to - from)) * plotHeight
  const width = 1 / Math.max(bars.length, 1)
  const every = Math.ceil(bars.length / maxLabels)
  const drawBar = ({ value, title, href, isForecast, tone = 0 }: Bar, index: number): Html => {
    const [y, end] = [yOf(Math.max(value, 0)), yOf(Math.min(value, 0))]
    const className = `tone-${tone}${isForecast ? ' forecast' : ''}`
    const shapes = html`<title>${title}</title><rect class="hit" x="${percentOf(index * width)}" y="${top}" width="${percentOf(width)}" height="${plotHeight}"></rect>
<rect class="${className}" x="${percentOf((index + 0.12) * width)}" y="${y.toFixed(1)}" width="${percentOf(width * 0.76)}" height="${Math.max(end - y, value === 0 ? 0 : 1).toFixed(1)}" rx="2"></rect>`
    return href === null ? html`<g>${shapes}</g>` : html`<a href="${href}" tabindex="-1">${shapes}</a>`
  }
  return html`<figure class="bars"><figcaption>${label}, ${unit}</figcaption><div class="plotted">
<svg class="axis" height="${height}" aria-hidden="true">${ticks.map(
    tick =>
      html`<text class="tick" x="100%" y="${(yOf(tick) + 4).toFixed(1)}" text-anchor="end">${tickText(tick, step)}</text>`,
  )}</svg>
<svg class="plot" height="${height}" aria-hidden="true">${ticks.map(tick => {
    const y = yOf(tick).toFixed(1)
    return html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}"></line>`
  })}${bars.map(drawBar)}
${bars.map(({ label: text }, index) =>
  index % every === 0
    ? html`<text class="tick" x="${percentOf((index + 0.5) * width)}" y="${height - 6}" text-anchor="middle">${text}</text>`
    : null,
)}
${now === null ? null : nowLine(now)}</svg></div></figure>`
}
