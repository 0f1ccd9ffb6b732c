import { describe, expect, it } from 'vitest'
import { zoneOf } from '../../../services/console/kit/dates.ts'
import { stepChart } from '../../../services/console/kit/step-chart.ts'

const hourMs = 3_600_000
const start = Date.UTC(2026, 2, 10)

const step = (hour: number, value: number, isForecast = false) => ({
  start: start + hour * hourMs,
  end: start + (hour + 1) * hourMs,
  value,
  isForecast,
  title: `hour ${hour}`,
})

const draw = (steps: readonly ReturnType<typeof step>[], hours: number, now = 0): string =>
  String(
    stepChart({
      label: 'Price',
      unit: 'EUR',
      steps,
      zone: zoneOf('UTC'),
      now: start + now * hourMs,
      interval: { start, end: start + hours * hourMs },
    }),
  )

const paths = (markup: string): readonly string[] =>
  [...markup.matchAll(/<path class="([^"]*)" d="([^"]*)"/g)].map(([, name = '', path = '']) => `${name}: ${path}`)

describe('a step chart', () => {
  it('draws a line from the start to the end of its steps, and the forecast dashed', () => {
    const [known, forecast, ...others] = paths(draw([step(0, 2), step(1, 0), step(2, 2, true), step(3, 1, true)], 4))
    // 2,000 columns for 4 hours. The axis is 0 to 2, and the plot has 1,800 vertical units.
    expect(known).toBe('line: M0 0H500V1800H1000')
    expect(forecast).toBe('line dashed: M1000 0H1500V900H2000')
    expect(others).toEqual([])
  })

  it('does not connect steps over a gap', () => {
    expect(paths(draw([step(0, 2), step(2, 2)], 4))).toEqual(['line: M0 0H500', 'line: M1000 0H1500'])
  })

  it('marks now only inside its interval', () => {
    expect(draw([step(0, 1)], 4, 1)).toContain('x1="25.000%"')
    expect(draw([step(0, 1)], 4, 5)).not.toContain('class="now"')
  })

  it('keeps the highest and lowest of very many steps, in few characters', () => {
    const minutes = 90 * 24 * 4
    const steps = Array.from({ length: minutes }, (_, n) => ({
      start: start + (n * hourMs) / 4,
      end: start + ((n + 1) * hourMs) / 4,
      isForecast: false,
      title: '',
      value: n === 4_321 ? 9 : n % 2,
    }))
    const markup = draw(steps, minutes / 4)
    expect(markup.length).toBeLessThan(60_000)
    const ys = [...(paths(markup)[0] ?? '').matchAll(/V(\d+)/g)].map(([, y]) => Number(y))
    // The axis ends at 10 or above, so that 9 is above all other values, which are 0 and 1.
    expect(ys.filter(y => y < 1_000)).toHaveLength(1)
    expect(markup).not.toContain('class="hit"')
  })
})
