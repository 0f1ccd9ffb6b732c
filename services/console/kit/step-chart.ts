import { startOfDayNumber, type TimeZone } from '../../domain/civil-time.ts'
import { hourMs, type Interval } from '../../domain/interval.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { chartFrame, type Plot, percentOf } from './chart-frame.ts'
import { dayOf } from './dates.ts'

/** Value over an interval. A forecast can still change. */
export type Step = Interval & { readonly value: number; readonly isForecast: boolean; readonly title: string }

/** Area below the line, such as the power of a device. `share` is its height, 0 to 1. */
export type ChartBand = Interval & { readonly share: number; readonly title: string; readonly tone: number }

type StepChart = {
  readonly label: string
  readonly unit: string
  /** Ordered by time. */
  readonly steps: readonly Step[]
  readonly bands?: readonly ChartBand[]
  readonly interval: Interval
  readonly zone: TimeZone
  readonly now: number
}

/** Horizontal resolution of a line. Steps in the same column are drawn from their lowest to their highest value. */
const columns = 2_000
/** Vertical units for each unit of the plot. */
const fineness = 10
/** Charts with more steps have no texts on hover. The table of the page has the values. */
const maxTitles = 120
const maxLabels = 8

type Column = { readonly x: number; low: number; high: number; last: number }

/** Path of consecutive steps, of at most three values for each column. */
const pathOf = (steps: readonly Step[], { start, end }: Interval, { top, yOf }: Plot): string => {
  const xOf = (at: number): number =>
    Math.round((Math.min(Math.max(at - start, 0), end - start) / (end - start)) * columns)
  const placed: Column[] = []
  let lastEnd = start
  for (const { start: from, end: to, value } of steps) {
    const [x, y] = [xOf(from), Math.round((yOf(value) - top) * fineness)]
    const previous = placed.at(-1)
    if (previous !== undefined && previous.x === x) {
      previous.low = Math.min(previous.low, y)
      previous.high = Math.max(previous.high, y)
      previous.last = y
    } else placed.push({ x, low: y, high: y, last: y })
    lastEnd = to
  }
  const parts = placed.map(({ x, low, high, last }, index) => {
    const first = index === 0 ? `M${x} ${low}` : `H${x}V${low}`
    return first + (high === low ? '' : `V${high}`) + (last === high ? '' : `V${last}`)
  })
  return `${parts.join('')}H${xOf(lastEnd)}`
}

/** Cut steps into groups with and without a forecast. */
const groupsOf = (steps: readonly Step[]): readonly (readonly Step[])[] => {
  const groups: Step[][] = []
  for (const step of steps) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group !== undefined && last?.isForecast === step.isForecast && last.end === step.start) group.push(step)
    else groups.push([step])
  }
  return groups
}

const drawLine = (steps: readonly Step[], interval: Interval, plot: Plot): Html =>
  html`<svg x="0" y="${plot.top}" width="100%" height="${plot.height}" viewBox="0 0 ${columns} ${plot.height * fineness}" preserveAspectRatio="none">${groupsOf(
    steps,
  ).map(
    group =>
      html`<path class="${group[0]?.isForecast === true ? 'line dashed' : 'line'}" d="${pathOf(group, interval, plot)}" vector-effect="non-scaling-stroke"></path>`,
  )}</svg>`

/** Hours between the labels of a chart of some length in ms. */
const hoursBetween = (length: number, days: number): number => {
  if (length <= 14 * hourMs) return 3
  if (length <= 25 * hourMs) return 6
  return days <= 2 ? 12 : 24
}

/** Labels at local midnights, and of short charts every 3, 6 or 12 hours. */
const labelsOf = ({ start, end }: Interval, zone: TimeZone) => {
  const [first, last] = [dayOf(zone, start), dayOf(zone, end - 1)]
  const days = last - first + 1
  const every = Math.ceil(days / maxLabels)
  const step = hoursBetween(end - start, days)
  const hours = Array.from({ length: 24 / step }, (_, index) => index * step)
  const day = new Intl.DateTimeFormat('en-GB', { timeZone: zone.name, day: 'numeric', month: 'short' })
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone.name, hour: '2-digit', minute: '2-digit' })
  return Array.from({ length: days }, (_, index) => index)
    .filter(index => index % every === 0)
    .flatMap(index => hours.map(hour => startOfDayNumber(zone, first + index) + hour * hourMs))
    .filter(at => at >= start && at < end)
    .map(at => {
      const time = clock.format(at)
      return { at: (at - start) / (end - start), text: time === '00:00' ? day.format(at) : time }
    })
}

/**
 * Create a step chart without a script. A forecast is dashed. The values are also in a table of the page, which the
 * keyboard and screen readers use.
 */
export const stepChart = ({ label, unit, steps, bands = [], interval, zone, now }: StepChart): Html => {
  const { start, end } = interval
  const fraction = (at: number): number => Math.min(Math.max((at - start) / (end - start), 0), 1)
  const box = ({ start: from, end: to }: Interval): Html =>
    html`x="${percentOf(fraction(from))}" width="${percentOf(fraction(to) - fraction(from))}"`
  const frame = {
    label,
    unit,
    values: steps.map(({ value }) => value),
    labels: labelsOf(interval, zone),
    now: now > start && now < end ? fraction(now) : null,
  }
  return chartFrame(frame, plot => [
    ...bands.map(band => {
      const height = band.share * plot.height
      return html`<rect class="band tone-${band.tone}" ${box(band)} y="${(plot.top + plot.height - height).toFixed(1)}" height="${height.toFixed(1)}"><title>${band.title}</title></rect>`
    }),
    drawLine(steps, interval, plot),
    ...(steps.length > maxTitles
      ? []
      : steps.map(
          one =>
            html`<rect class="hit" ${box(one)} y="${plot.top}" height="${plot.height}"><title>${one.title}</title></rect>`,
        )),
  ])
}
