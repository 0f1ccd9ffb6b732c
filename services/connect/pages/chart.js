import { element, svgElement } from './element.js'
import { priceLabel } from './money.js'
import { text } from './texts.js'

const size = { width: 420, height: 180, left: 4, right: 4, top: 20, bottom: 24 }
const hourMs = 3_600_000
/** Width of the longest word for now, on phones. */
const nowWordWidth = 110

/** Time of day of an instant text, in its own offset. */
const clockOf = text => text.slice(11, 16)

/** Split the interval of a rate into hours. Each hour is a bar, so that the current hour can be marked. */
const hoursOf = (rate, from) => {
  const [start, end] = [Date.parse(rate.valid_from), Date.parse(rate.valid_to)]
  const hourStarts = [start]
  for (let at = from + (Math.floor((start - from) / hourMs) + 1) * hourMs; at < end; at += hourMs) hourStarts.push(at)
  return hourStarts.map((at, index) => [at, hourStarts[index + 1] ?? end])
}

const barShape = (rate, box, isNow, currency) => {
  const period = `${clockOf(rate.valid_from)}–${clockOf(rate.valid_to)}`
  const label = `${period}: ${priceLabel(rate.tariff.cost, currency)}${isNow ? ` (${text('chart.now')})` : ''}`
  return svgElement('rect', { ...box, rx: 2, class: isNow ? 'bar now' : 'bar' }, svgElement('title', {}, label))
}

/** Vertical line at `x` with its label. A halo keeps the line visible on each bar. */
const nowMark = x => {
  const isLate = x > size.width - nowWordWidth
  const lineEnds = { x1: x, x2: x, y1: 4, y2: size.height - size.bottom }
  return [
    svgElement('line', { ...lineEnds, class: 'now-halo' }),
    svgElement('line', { ...lineEnds, class: 'now-line' }),
    svgElement(
      'text',
      { x: x + (isLate ? -5 : 5), y: 13, 'text-anchor': isLate ? 'end' : 'start', class: 'now-word' },
      text('chart.now'),
    ),
  ]
}

/** Draw the prices of one day as bars, mark the current hour, and add a table of the prices. */
export const priceChart = (rates, currency, now) => {
  const from = Date.parse(rates[0].valid_from)
  const to = Date.parse(rates.at(-1).valid_to)
  const prices = rates.map(rate => rate.tariff.cost)
  const [low, high] = [Math.min(0, ...prices), Math.max(0, ...prices)]
  const range = high - low || 1
  const x = at => size.left + ((at - from) / (to - from)) * (size.width - size.left - size.right)
  const y = price => size.top + ((high - price) / range) * (size.height - size.top - size.bottom)
  const chart = svgElement('svg', {
    viewBox: `0 0 ${size.width} ${size.height}`,
    role: 'img',
    'aria-label': summaryOf(rates, currency),
    class: 'chart',
  })
  for (const rate of rates) {
    const [top, bottom] = [Math.min(y(0), y(rate.tariff.cost)), Math.max(y(0), y(rate.tariff.cost))]
    for (const [start, end] of hoursOf(rate, from)) {
      const box = { x: x(start), y: top, width: Math.max(1, x(end) - x(start) - 1), height: Math.max(1, bottom - top) }
      chart.append(barShape(rate, box, start <= now && now < end, currency))
    }
  }
  chart.append(svgElement('line', { x1: size.left, x2: size.width - size.right, y1: y(0), y2: y(0), class: 'axis' }))
  for (let hour = 0; from + hour * hourMs <= to; hour += 6) {
    const tickX = x(from + hour * hourMs)
    const anchor = hour === 0 ? 'start' : from + (hour + 6) * hourMs > to ? 'end' : 'middle'
    const tickText = new Date(from + hour * hourMs + offsetOf(rates[0].valid_from)).toISOString().slice(11, 16)
    chart.append(svgElement('text', { x: tickX, y: size.height - 6, 'text-anchor': anchor, class: 'tick' }, tickText))
  }
  if (from <= now && now < to) chart.append(...nowMark(x(now)))
  return element(
    'figure',
    { class: 'rates' },
    element('figcaption', {}, captionOf(rates, currency, now)),
    chart,
    ratesTable(rates, currency),
  )
}

const offsetOf = text => {
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? [null, '+', '0', '0']
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

const rangeOf = (rates, currency) => {
  const prices = rates.map(rate => rate.tariff.cost)
  const [low, high] = [Math.min(...prices), Math.max(...prices)]
  return low === high
    ? priceLabel(low, currency)
    : text('chart.range', { low: priceLabel(low, currency), high: priceLabel(high, currency) })
}

const summaryOf = (rates, currency) => text('chart.label', { range: rangeOf(rates, currency) })

const captionOf = (rates, currency, now) => {
  if (rates.every(rate => rate.tariff.cost === rates[0].tariff.cost))
    return text('chart.all_day', { price: priceLabel(rates[0].tariff.cost, currency) })
  const currentRate = rates.find(rate => Date.parse(rate.valid_from) <= now && now < Date.parse(rate.valid_to))
  const range = rangeOf(rates, currency)
  return currentRate === undefined
    ? range
    : text('chart.caption', { price: priceLabel(currentRate.tariff.cost, currency), range })
}

const ratesTable = (rates, currency) =>
  element(
    'details',
    {},
    element('summary', {}, text('chart.table')),
    element(
      'table',
      {},
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', { scope: 'col' }, text('period.from')),
          element('th', { scope: 'col' }, text('period.to')),
          element('th', { scope: 'col' }, text('price.label')),
        ),
      ),
      element(
        'tbody',
        {},
        ...rates.map(rate =>
          element(
            'tr',
            {},
            element('td', {}, clockOf(rate.valid_from)),
            element('td', {}, clockOf(rate.valid_to)),
            element('td', {}, priceLabel(rate.tariff.cost, currency)),
          ),
        ),
      ),
    ),
  )
