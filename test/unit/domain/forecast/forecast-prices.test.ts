import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { startOfLocalDay, type TimeZone } from '../../../../services/domain/civil-time.ts'
import {
  type ForecastPrice,
  forecastPrices,
  maxForecastMs,
} from '../../../../services/domain/forecast/forecast-prices.ts'
import type { PriceHistory } from '../../../../services/domain/forecast/hour-grid.ts'
import { hourMs, type Interval } from '../../../../services/domain/interval.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { kindNamed, simulateMarket } from '../../../support/markets/market-simulator.ts'

const dayMs = 24 * hourMs
const utc: TimeZone = { name: 'UTC', changes: [], offsets: [0] }
const berlin = timeZone('Europe/Berlin') as TimeZone
const start = Date.UTC(2024, 8, 2)

const series = (prices: ArrayLike<number>, from = start, stepMs = hourMs): PriceHistory => {
  const starts = Array.from(prices, (_, i) => from + i * stepMs)
  return { starts, ends: starts.map(at => at + stepMs), values: Array.from(prices) }
}
const market = (days: number, seed = 1, name = 'windy') => simulateMarket(kindNamed(name), seed, start / dayMs, days)
const endOf = ({ ends }: PriceHistory): number => ends.at(-1) ?? 0
const forecast = (history: PriceHistory, zone = utc, span: Partial<Interval> = {}): readonly ForecastPrice[] => {
  const from = span.start ?? endOf(history)
  return forecastPrices(history, zone, { start: from, end: span.end ?? from + maxForecastMs })
}
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

const longHistory = series(market(150).map(price => price * 1e6))
const long = forecast(longHistory)

describe('a forecast', () => {
  it('covers five days after the last price without a gap, with confidences between 0 and 1 that fall from day to day', () => {
    expect(long).toHaveLength(120)
    expect(long[0]?.start).toBe(endOf(longHistory))
    expect(long.at(-1)?.end).toBe(endOf(longHistory) + maxForecastMs)
    for (const [place, { start, value }] of long.entries()) {
      expect(start).toBe(long[place - 1]?.end ?? start)
      expect(Number.isSafeInteger(value)).toBe(true)
    }
    const days = [0, 1, 2, 3, 4].map(day =>
      mean(long.slice(day * 24, day * 24 + 24).map(({ confidence }) => confidence)),
    )
    for (const [day, confidence] of days.entries()) {
      expect(confidence).toBeGreaterThan(0)
      expect(confidence).toBeLessThan(day === 0 ? 1 : (days[day - 1] ?? 0) + 1e-12)
    }
  })

  it('is the same for the same prices, and ignores prices after its start', () => {
    const from = endOf(longHistory) - 20 * dayMs - 5 * hourMs
    const cut = {
      starts: longHistory.starts.filter(at => at < from),
      ends: longHistory.ends.filter(at => at <= from),
      values: longHistory.values,
    }
    expect(forecast(longHistory, berlin, { start: from })).toEqual(forecast(cut, berlin, { start: from }))
  })

  it('of a shorter span is the beginning of a longer one', () => {
    const from = endOf(longHistory)
    for (const hours of [1, 23, 24, 25, 60]) {
      expect(forecast(longHistory, utc, { start: from, end: from + hours * hourMs })).toEqual(long.slice(0, hours))
    }
  })

  it('grows with the prices, and its confidence does not', () => {
    fc.assert(
      fc.property(fc.integer({ min: -6, max: 9 }), fc.constantFrom(9, 40, 100), (power, days) => {
        const prices = market(days)
        const [one, other] = [series(prices), series(prices.map(price => price * 2 ** power))].map(history =>
          forecast(history),
        )
        const typical = mean(Array.from(prices, Math.abs))
        for (const [place, { value, confidence }] of (one ?? []).entries()) {
          // Values are rounded to five digits of a typical price.
          expect(Math.abs((other?.[place]?.value ?? 0) / 2 ** power - value)).toBeLessThan(typical / 500)
          expect(other?.[place]?.confidence).toBeCloseTo(confidence, 9)
        }
      }),
      { numRuns: 8 },
    )
  })

  it('of prices that never change is that price, and never certain', () => {
    for (const value of [80_000_000, 0, -5_000_000]) {
      const flat = forecast(series(new Array<number>(24 * 100).fill(value)))
      expect(new Set(flat.map(one => one.value))).toEqual(new Set([value]))
      for (const { confidence } of flat) expect(confidence).toBeLessThan(1)
    }
  })

  it('repeats a week that comes back unchanged', () => {
    // Workdays are alike, Saturday and Sunday have courses of their own.
    const week = Array.from(
      { length: 168 },
      (_, hour) => 1_000 * (((hour % 24) * 37 + 50 * Math.max(0, Math.floor(hour / 24) - 4)) % 101) - 20_000,
    )
    const prices = Array.from({ length: 168 * 15 }, (_, hour) => week[hour % 168] ?? 0)
    for (const [place, { value }] of forecast(series(prices)).entries())
      expect(Math.abs(value - (week[place] ?? 0))).toBeLessThan(500)
  })

  it('stays near the observed prices after any spikes', () => {
    const prices = market(120).map((price, hour) => (hour % 397 === 0 ? 4_000 : price))
    for (const { value } of forecast(series(prices))) {
      expect(Math.abs(value)).toBeLessThan(5_500)
      expect(Number.isFinite(value)).toBe(true)
    }
  })

  it('needs seven days of prices', () => {
    const week = market(7)
    expect(forecast(series(week))).toHaveLength(120)
    expect(forecast(series(week.subarray(1)))).toEqual([])
    // Seven days in which the clock goes forward have an hour less.
    const spring = startOfLocalDay(berlin, Date.UTC(2025, 2, 27))
    expect(forecast(series(week.subarray(1), spring), berlin).length).toBe(120)
    expect(forecast(series([]), utc, { start })).toEqual([])
  })

  it('bears gaps, and hours that are there in part', () => {
    const prices = market(120)
    const whole = series(prices)
    const isKnown = (place: number): boolean => place % 50 !== 3 && (place < 700 || place > 790)
    const withGaps = <T>(values: readonly T[]): T[] => values.filter((_, place) => isKnown(place))
    const gappy = forecast({
      starts: withGaps(whole.starts),
      ends: withGaps(whole.ends),
      values: withGaps(whole.values),
    })
    const typical = mean(Array.from(prices, Math.abs))
    for (const [place, { value }] of forecast(whole).entries())
      expect(Math.abs((gappy[place]?.value ?? 0) - value)).toBeLessThan(typical / 2)
  })
})

describe('intervals of a forecast', () => {
  it('are those in which the market publishes, and follow the usual course within the hour', () => {
    const hourly = market(40)
    const quarters = Array.from(
      { length: hourly.length * 4 },
      (_, place) => (hourly[place >> 2] ?? 0) + 6 - 4 * (place % 4),
    )
    const fine = forecast(series(quarters, start, hourMs / 4))
    const coarse = forecast(series(hourly))
    expect(fine).toHaveLength(480)
    for (const [place, { value, end, start: from }] of fine.entries()) {
      expect(end - from).toBe(hourMs / 4)
      expect(Math.abs(value - (coarse[place >> 2]?.value ?? 0) - 6 + 4 * (place % 4))).toBeLessThan(0.02)
    }
  })

  it('begin where the prices end, also within an hour, and keep to the hours after', () => {
    const quarters = series(
      Array.from({ length: 30 * 96 + 3 }, (_, place) => 50 + (place % 96)),
      start,
      hourMs / 4,
    )
    const made = forecast(quarters)
    expect(made[0]?.start).toBe(endOf(quarters))
    expect(made.slice(0, 2).map(({ start: at }) => at % hourMs)).toEqual([(3 * hourMs) / 4, 0])
    const halves = forecast(series(market(20).slice(0, -5), start + hourMs / 2), utc)
    expect(halves[0]?.end).toBe(Math.ceil((halves[0]?.start ?? 0) / hourMs) * hourMs)
    expect(halves.at(-1)?.end).toBe((halves[0]?.start ?? 0) + maxForecastMs)
  })

  it('keep to the wall clock over its changes', () => {
    // Night and day differ by the wall clock; the forecast crosses the change of 2025-03-30 and 2025-10-26.
    for (const change of [Date.UTC(2025, 2, 30, 1), Date.UTC(2025, 9, 26, 1)]) {
      const from = startOfLocalDay(berlin, change - 2 * dayMs)
      const dayPrice = (at: number): number => {
        const hour = new Date(
          at + (at >= Date.UTC(2025, 2, 30, 1) && at < Date.UTC(2025, 9, 26, 1) ? 2 : 1) * hourMs,
        ).getUTCHours()
        return hour >= 8 && hour < 20 ? 90 : 30
      }
      const first = from - 42 * dayMs
      const prices = Array.from({ length: 42 * 24 }, (_, place) => dayPrice(first + place * hourMs))
      for (const { start: at, value } of forecast(series(prices, first), berlin))
        expect(value).toBeCloseTo(dayPrice(at), 0)
    }
  })
})
