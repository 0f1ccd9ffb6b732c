import { type Html, html } from '../../web/ui-kit/html.ts'
import { chartFrame, percentOf } from './chart-frame.ts'

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

const maxLabels = 8

/**
 * Create a bar chart without a script. Its values are also in a table of the page, which the keyboard and screen readers
 * use.
 */
export const barChart = ({ label, unit, bars, now }: BarChart): Html => {
  const width = 1 / Math.max(bars.length, 1)
  const every = Math.ceil(bars.length / maxLabels)
  const labels = bars.flatMap(({ label: text }, index) =>
    index % every === 0 ? [{ at: (index + 0.5) * width, text }] : [],
  )
  return chartFrame({ label, unit, values: bars.map(({ value }) => value), labels, now }, ({ top, height, yOf }) =>
    bars.map(({ value, title, href, isForecast, tone = 0 }, index): Html => {
      const [y, end] = [yOf(Math.max(value, 0)), yOf(Math.min(value, 0))]
      const className = `tone-${tone}${isForecast ? ' forecast' : ''}`
      const shapes = html`<title>${title}</title><rect class="hit" x="${percentOf(index * width)}" y="${top}" width="${percentOf(width)}" height="${height}"></rect>
<rect class="${className}" x="${percentOf((index + 0.12) * width)}" y="${y.toFixed(1)}" width="${percentOf(width * 0.76)}" height="${Math.max(end - y, value === 0 ? 0 : 1).toFixed(1)}" rx="2"></rect>`
      return href === null ? html`<g>${shapes}</g>` : html`<a href="${href}" tabindex="-1">${shapes}</a>`
    }),
  )
}
