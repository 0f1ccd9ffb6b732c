import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { operations } from '../../../../services/operations.ts'
import { referenceOf } from '../../../../services/web/reference/document.ts'
import {
  type BarChart,
  barChart,
  exampleChart,
  planChart,
  timeLabel,
} from '../../../../services/web/reference/example-chart.ts'

const hourMs = 3_600_000
const start = Date.UTC(2025, 8, 13, 22)
const chart: BarChart = {
  id: 'one',
  title: 'Prices <here>',
  description: 'Three prices.',
  unit: 'EUR per kWh',
  offsetMinutes: 120,
  bars: [
    { start, end: start + 6 * hourMs, value: 0.2 },
    { start: start + 6 * hourMs, end: start + 18 * hourMs, value: -0.1, isMarked: true },
    { start: start + 18 * hourMs, end: start + 24 * hourMs, value: 0.4, isFaint: true },
  ],
}

type Rect = {
  readonly kind: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

const rectsOf = (markup: string): readonly Rect[] =>
  [...markup.matchAll(/<rect class="([^"]+)" x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"/g)].map(
    ([, kind = '', x, y, width, height]) => ({
      kind,
      x: Number(x),
      y: Number(y),
      width: Number(width),
      height: Number(height),
    }),
  )

const markupOf = (of: BarChart): string => String(barChart(of) ?? '')

describe('a chart of bars', () => {
  it('draws bars from the zero line with the height and class of their values', () => {
    const bars = rectsOf(markupOf(chart))
    expect(bars.map(({ kind }) => kind)).toEqual(['chart-bar', 'chart-bar marked', 'chart-bar faint'])
    const [low, negative, high] = bars as [Rect, Rect, Rect]
    const zero = low.y + low.height
    expect(negative.y).toBeCloseTo(zero, 5)
    expect(high.y + high.height).toBeCloseTo(zero, 5)
    expect(high.height / low.height).toBeCloseTo(2, 1)
    expect(low.height / negative.height).toBeCloseTo(2, 1)
    expect((negative.width + 1) / (low.width + 1)).toBeCloseTo(2, 1)
  })

  it('has title and description for screen readers, and escapes text', () => {
    const markup = markupOf(chart)
    expect(markup).toMatch(/^<svg class="chart" [^>]*role="img" aria-labelledby="one-title one-description">/)
    expect(markup).toContain(
      '<title id="one-title">Prices &lt;here&gt;</title><desc id="one-description">Three prices.</desc>',
    )
    expect(markup).toContain('<title>06:00 to 18:00: -0.1</title>')
    expect(markup).not.toMatch(/style=|#[0-9a-f]{3}|url\(|href/)
  })

  it('is null without bars', () => {
    expect(barChart({ ...chart, bars: [] })).toBe(null)
  })

  it('stays within its frame and has few labels for any values', () => {
    const values = fc.double({ min: -1e6, max: 1e6, noNaN: true }).map(value => Math.round(value * 1e4) / 1e4)
    const lengths = fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), values), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: -720, max: 720 }), (made, offsetMinutes) => {
        let at = start
        const bars = made.map(([quarters, value]) => {
          const from = at
          at += quarters * 900_000
          return { start: from, end: at, value }
        })
        const markup = markupOf({ ...chart, bars, offsetMinutes })
        for (const { x, y, width, height } of rectsOf(markup)) {
          expect(
            Math.min(x - 46, y - 23.9, 460.5 - x - width, 166.6 - y - height, width, height),
          ).toBeGreaterThanOrEqual(0)
        }
        expect([...markup.matchAll(/class="chart-time"/g)].length).toBeLessThanOrEqual(9)
        expect([...markup.matchAll(/class="chart-value"/g)].length).toBeLessThanOrEqual(8)
        expect(markup).not.toMatch(/NaN|Infinity|undefined/)
      }),
      { numRuns: 200 },
    )
  })

  it('shows times in the given UTC offset', () => {
    expect([timeLabel(start, 120), timeLabel(start, 0), timeLabel(start, 120, true)]).toEqual([
      '00:00',
      '22:00',
      '14 Sep',
    ])
  })
})

describe.each(apiVersions)('the reference of API version %s', apiVersion => {
  it('draws the example of prices with each price', async () => {
    const reference = await referenceOf(operations, apiVersion, () => Promise.resolve())
    const described = reference.groups.flatMap(group => group.operations)
    const prices = described.find(({ id }) => id === 'price_retrieve')
    if (prices === undefined) throw new Error('The operation price_retrieve is missing.')
    const markup = String(exampleChart(prices) ?? '')
    const { data } = JSON.parse(JSON.stringify(prices.answer.example)) as {
      data: readonly { price?: { value: number }; tariff?: { rate: number } }[]
    }
    const values = data.map(({ price, tariff }) => price?.value ?? tariff?.rate)
    expect(rectsOf(markup)).toHaveLength(values.length)
    for (const value of values) expect(markup).toContain(`: ${value}</title>`)
    expect(markup).toMatch(
      /<desc id="price_retrieve-chart-description">The lowest price is 0\.0619 from 12:00 to 15:00, the highest 0\.40275 from 17:00 to 20:00\.<\/desc>/,
    )
    expect(exampleChart({ ...prices, id: 'customer_list' })).toBe(null)
  })
})

const at = (hour: number): string => `2025-09-14T${String(hour).padStart(2, '0')}:00:00+02:00`
const piece = (from: number, to: number, value: number, units = 'KW') => ({
  start_time: at(from),
  end_time: at(to),
  power: { units, value },
})

describe('the chart of a plan', () => {
  it('adds the power of all devices, over all of their windows', () => {
    const { bars, description, offsetMinutes, unit } = planChart('plan', {
      location_timezone: 'Europe/Berlin',
      data: [
        { start_time: at(0), end_time: at(6), schedule: [piece(2, 4, 3)] },
        { start_time: at(1), end_time: at(5), schedule: [piece(3, 5, 1500, 'W')] },
      ],
    })
    const midnight = Date.parse(at(0))
    expect(bars.map(({ start, value, isMarked: marked }) => [(start - midnight) / 3_600_000, value, marked])).toEqual([
      [0, 0, false],
      [1, 0, false],
      [2, 3, true],
      [3, 4.5, true],
      [4, 1.5, true],
      [5, 0, false],
    ])
    expect([unit, offsetMinutes]).toEqual(['kW', 120])
    expect(description).toBe(
      'The total power of the devices is 3 kW from 02:00 to 03:00, 4.5 kW from 03:00 to 04:00, 1.5 kW from 04:00 to 05:00.',
    )
  })
})
