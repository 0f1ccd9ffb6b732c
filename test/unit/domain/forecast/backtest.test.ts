import { describe, expect, it } from 'vitest'
import { backtest, backtestMidnights } from '../../../../services/domain/forecast/backtest.ts'
import type { HourGrid } from '../../../../services/domain/forecast/hour-grid.ts'
import { rankCorrelation } from '../../../../services/domain/forecast/statistics.ts'
import { marketKinds, simulateMarket } from '../../../support/markets/market-simulator.ts'

const firstDay = Date.UTC(2015, 0, 5) / 86_400_000
const gridOf = (values: Float64Array): HourGrid => ({
  firstHour: firstDay * 24,
  values,
  known: new Uint8Array(values.length).fill(1),
})

/** Sampled over a year, on all weekdays. */
const sampled = (days: number): readonly number[] =>
  Array.from({ length: 26 }, (_, index) => (days - 364 + index * 14 + (index % 7)) * 24)

const results = marketKinds.map(kind => ({
  name: kind.name,
  result: backtest(gridOf(simulateMarket(kind, 5, firstDay, 735)), sampled(735)),
}))

describe('forecasts of made-up markets, with spikes, negative prices, trends and a crisis', () => {
  it.each(results)('err less than the same hour a week before on each of five days: $name', ({ result }) => {
    expect(result.forecasts).toBe(26)
    for (const { rmae, ahead } of result.days) expect(rmae, `day ${ahead}`).toBeLessThan(1)
  })

  it.each(results)('have a mean confidence that does not rise with the days ahead: $name', ({ result }) => {
    for (const [index, { meanConfidence }] of result.days.entries()) {
      expect(meanConfidence).toBeGreaterThan(0)
      expect(meanConfidence).toBeLessThanOrEqual(index === 0 ? 1 : (result.days[index - 1]?.meanConfidence ?? 0))
    }
  })

  it('err more where they are less sure: the ranks of doubt and error go together', () => {
    const correlations = results.map(({ result }) => result.uncertaintyCorrelation)
    expect(correlations.reduce((sum, one) => sum + one, 0) / correlations.length).toBeGreaterThan(0.33)
    for (const one of correlations) expect(one).toBeGreaterThan(0.13)
  })

  it('err on the mean of the markets well within what is asked for on markets of the world', () => {
    const bars = [0.66, 0.81, 0.87, 0.9, 0.94]
    for (const [index, bar] of bars.entries()) {
      const rmaes = results.map(({ result }) => result.days[index]?.rmae ?? Number.NaN)
      expect(rmaes.reduce((sum, one) => sum + one, 0) / rmaes.length).toBeLessThan(bar)
    }
  })
})

describe('a backtest', () => {
  it('compares each hour with the forecast from the midnight before and with the week before', () => {
    // Prices that rise by one each hour: the week before is 168 lower.
    const values = Float64Array.from({ length: 24 * 30 }, (_, hour) => hour)
    const midnights = backtestMidnights(gridOf(values), 24 * 28 - 3)
    expect(midnights).toEqual([24 * 28, 24 * 29])
    const { days } = backtest(gridOf(values), midnights)
    expect(days.map(({ hours }) => hours)).toEqual([48, 24, 0, 0, 0])
    expect(days[0]?.naiveMae).toBe(168)
  })

  it('leaves hours out that are not known, or were not a week before', () => {
    const grid = gridOf(Float64Array.from({ length: 24 * 30 }, (_, hour) => hour % 24))
    grid.known[24 * 29 + 5] = 0
    grid.known[24 * 22 + 7] = 0
    expect(backtest(grid, [24 * 29]).days[0]?.hours).toBe(22)
  })

  it('calculates rank correlation with ties', () => {
    expect(rankCorrelation([1, 2, 3, 4], [10, 20, 30, 40])).toBe(1)
    expect(rankCorrelation([1, 2, 3, 4], [9, 7, 5, 1])).toBe(-1)
    // Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3: 4.5 / √(4.5 × 5).
    expect(rankCorrelation([1, 2, 2, 4], [1, 2, 3, 4])).toBeCloseTo(4.5 / Math.sqrt(4.5 * 5), 12)
    expect(rankCorrelation([1, 1], [1, 2])).toBe(0)
  })
})
