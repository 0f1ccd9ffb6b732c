import type { Price } from '../quantity.ts'
import type { MarketSeries } from '../tariff/tariff.ts'

/** Prices over half-open intervals (ms), in the order of time, without overlap. */
export type PriceLayer = { readonly starts: readonly number[]; readonly ends: readonly number[]; readonly values: readonly Price[] }

type Series = { readonly starts: number[]; readonly ends: number[]; readonly prices: Price[]; readonly confidences: number[] }

/** Forecasts or published prices that are joined between two points where the work can be interrupted. */
const pricesAtOnce = 1_024

/**
 * Join published prices, which are certain, and forecasts, each with its confidence, to one series: where both have a price the published
 * one holds, and of a forecast that it cuts the rest stays.
 * Source: docs/rules/markets-and-forecasts.md #storing-prices.
 */
export function* provisionalSeries(
  sourceId: string,
  published: PriceLayer,
  forecast: PriceLayer & { readonly confidences: readonly number[] },
): Generator<void, MarketSeries> {
  const { starts, ends, values } = published
  if (forecast.starts.length === 0) return { sourceId, starts, ends, prices: values, confidences: starts.map(() => 1) }
  const series: Series = { starts: [], ends: [], prices: [], confidences: [] }
  const push = (start: number, end: number, price: Price, confidence: number): void => {
    series.starts.push(start)
    series.ends.push(end)
    series.prices.push(price)
    series.confidences.push(confidence)
  }
  let next = 0
  const pushPublished = (): void => {
    push(starts[next] as number, ends[next] as number, values[next] as Price, 1)
    next += 1
  }
  for (let index = 0; index < forecast.starts.length; index += 1) {
    let from = forecast.starts[index] as number
    const end = forecast.ends[index] as number
    const part = [forecast.values[index] as Price, forecast.confidences[index] as number] as const
    // A published price may have begun before, and reach over several forecasts.
    while (next < starts.length && (starts[next] as number) < end) {
      if ((starts[next] as number) > from) push(from, starts[next] as number, ...part)
      from = Math.max(from, ends[next] as number)
      if ((ends[next] as number) > end) break
      pushPublished()
      if (next % pricesAtOnce === 0) yield
    }
    if (from < end) push(from, end, ...part)
    if (index % pricesAtOnce === 0) yield
  }
  while (next < starts.length) {
    pushPublished()
    if (next % pricesAtOnce === 0) yield
  }
  return { sourceId, ...series }
}
