import { describe, expect, it } from 'vitest'
import { type Backtest, type BacktestDay, backtest } from '../../../../services/domain/forecast/backtest.ts'
import type { HourGrid } from '../../../../services/domain/forecast/hour-grid.ts'
import { unusualMarket, unusualMarkets } from './unusual-market.ts'

const firstDay = Date.UTC(2015, 0, 5) / 86_400_000
const days = 735
const names = Object.keys(unusualMarkets)

const gridOf = (name: string): HourGrid => {
  const values = unusualMarket(name, 7, firstDay, days)
  return { firstHour: firstDay * 24, values, known: new Uint8Array(values.length).fill(1) }
}

/** Sampled over a year, on all weekdays. */
const sampled = Array.from({ length: 26 }, (_, index) => (days - 364 + index * 14 + (index % 7)) * 24)

/** The error of all five days together, against the weekly naive one: single days of few forecasts are chance. */
const errorOf = (all: readonly BacktestDay[]): number =>
  all.reduce((sum, { mae, hours }) => sum + mae * hours, 0) /
  all.reduce((sum, { naiveMae, hours }) => sum + naiveMae * hours, 0)

const results = new Map(names.map(name => [name, backtest(gridOf(name), sampled)]))
const resultOf = (name: string): Backtest => results.get(name) as Backtest

describe('forecasts of markets that are made to be hard', () => {
  it.each(names)('err less than the same hour a week before: %s', name => {
    expect(errorOf(resultOf(name).days)).toBeLessThan(0.9)
  })

  it.each([1, 2, 3, 4, 5])('err less on the mean of all markets %i days ahead', ahead => {
    const rmaes = names.map(name => resultOf(name).days[ahead - 1]?.rmae ?? Number.NaN)
    expect(rmaes.reduce((sum, one) => sum + one, 0) / rmaes.length).toBeLessThan(
      [0.64, 0.7, 0.76, 0.82, 0.86][ahead - 1] ?? 0,
    )
  })

  // Where errors are alike at all hours and on all days, there is nothing to be told apart.
  it.each(names.filter(name => /night|jump|clouds|same week|calm/.test(name)))(
    'err more where they are less sure, if there is a difference to be known: %s',
    name => {
      expect(resultOf(name).uncertaintyCorrelation).toBeGreaterThan(0.25)
    },
  )

  it('err more where they are less sure, on the mean of all markets', () => {
    const correlations = names.map(name => resultOf(name).uncertaintyCorrelation)
    expect(correlations.reduce((sum, one) => sum + one, 0) / correlations.length).toBeGreaterThan(0.21)
  })

  it.each(names)('are never surer of a later day: %s', name => {
    const meanConfidences = resultOf(name).days.map(({ meanConfidence }) => meanConfidence)
    for (const [index, mean] of meanConfidences.entries())
      expect(mean).toBeLessThanOrEqual(index === 0 ? 1 : (meanConfidences[index - 1] ?? 0))
  })

  it('continue a repeating pattern, with high confidence', () => {
    const { days: all } = resultOf('the same week again and again, with little noise')
    for (const { meanConfidence } of all) expect(meanConfidence).toBeGreaterThan(0.97)
  })
})

describe('forecasts from two to four weeks', () => {
  it('err less than the same hour a week before, on the mean of all markets', () => {
    const errors = names.map(name => {
      const { values, firstHour } = gridOf(name)
      const all = Array.from({ length: 12 }, (_, index) => {
        const [from, weeks] = [(40 + index * 55) * 24, (14 + (index % 15)) * 24]
        const part = values.slice(from, from + weeks + 5 * 24)
        return backtest({ firstHour: firstHour + from, values: part, known: new Uint8Array(part.length).fill(1) }, [
          weeks,
        ]).days
      })
      return errorOf(all.flat())
    })
    expect(errors.reduce((sum, one) => sum + one, 0) / errors.length).toBeLessThan(0.93)
  })
})

describe('forecasts from prices with holes', () => {
  it('err less than the same hour a week before although one day in ten is not known', () => {
    for (const name of [
      'calm weeks and wild ones',
      'weekends at half the price, and one workday in twelve like them',
    ]) {
      const { firstHour, values, known } = gridOf(name)
      for (let day = 0; day < days; day += 1) {
        if ((day * 7) % 10 !== 3) continue
        for (let index = day * 24; index < day * 24 + 24; index += 1) {
          known[index] = 0
          values[index] = values[index - 168] ?? 0
        }
      }
      expect(errorOf(backtest({ firstHour, values, known }, sampled.slice(0, 13)).days)).toBeLessThan(0.95)
    }
  })
})
