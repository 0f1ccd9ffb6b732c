import { type Content, type Html, html } from '../../web/ui-kit/html.ts'

const height = 220
const [top, bottom] = [16, 24]
const plotHeight = height - top - bottom

/** Position in the plot: `top` and `height` of its area, and the vertical position of a value. */
export type Plot = { readonly top: number; readonly height: number; readonly yOf: (value: number) => number }

type ChartFrame = {
  readonly label: string
  readonly unit: string
  /** All values. The axis also contains 0. */
  readonly values: readonly number[]
  /** Texts below the plot; `at` is a fraction of the width. */
  readonly labels: readonly { readonly at: number; readonly text: string }[]
  /** Position of now as a fraction of the width; null if now is outside. */
  readonly now: number | null
}

/** Write a fraction as a percentage of the width. */
export const percentOf = (fraction: number): string => `${(fraction * 100).toFixed(3)}%`

/** Round a step of an axis up to 1, 2 or 5 times a power of ten. */
const niceStep = (span: number): number => {
  const power = 10 ** Math.floor(Math.log10(span))
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= span) ?? span
}

const tickText = (value: number, step: number): string =>
  value.toLocaleString('en', { maximumFractionDigits: Math.max(0, -Math.floor(Math.log10(step))) })

/** Bounds of the vertical axis and its ticks. */
const axisOf = (values: readonly number[]) => {
  const low = values.reduce((least, value) => Math.min(least, value), 0)
  const high = values.reduce((greatest, value) => Math.max(greatest, value), 0)
  const step = niceStep(high === low ? 1 : (high - low) / 3)
  const [from, to] = [Math.floor(low / step) * step, Math.max(Math.ceil(high / step), 1) * step]
  const ticks = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => from + index * step)
  return { from, to, step, ticks }
}

const nowLine = (now: number): Html =>
  html`<line class="now" x1="${percentOf(now)}" x2="${percentOf(now)}" y1="${top}" y2="${height - bottom}"></line>
<text class="tick now-text" x="${percentOf(now)}" y="${top - 4}" text-anchor="${now > 0.9 ? 'end' : 'middle'}">now</text>`

/** Create a chart without a script: axis, grid and labels, with the shapes of `draw`. */
export const chartFrame = ({ label, unit, values, labels, now }: ChartFrame, draw: (plot: Plot) => Content): Html => {
  const { from, to, step, ticks } = axisOf(values)
  const yOf = (value: number): number => top + ((to - value) / (to - from)) * plotHeight
  return html`<figure class="bars"><figcaption>${label}, ${unit}</figcaption><div class="plotted">
<svg class="axis" height="${height}" aria-hidden="true">${ticks.map(
    tick =>
      html`<text class="tick" x="100%" y="${(yOf(tick) + 4).toFixed(1)}" text-anchor="end">${tickText(tick, step)}</text>`,
  )}</svg>
<svg class="plot" height="${height}" aria-hidden="true">${ticks.map(tick => {
    const y = yOf(tick).toFixed(1)
    return html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}"></line>`
  })}${draw({ top, height: plotHeight, yOf })}
${labels.map(
  ({ at, text }) =>
    html`<text class="tick" x="${percentOf(at)}" y="${height - 6}" text-anchor="${at < 0.02 ? 'start' : at > 0.96 ? 'end' : 'middle'}">${text}</text>`,
)}
${now === null ? null : nowLine(now)}</svg></div></figure>`
}
