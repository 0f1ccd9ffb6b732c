import type { Price } from '../quantity.ts'
import type { MarketSeries } from '../tariff/tariff.ts'

/** Prices over half-open intervals (ms), in order of time, without overlap. */
export type PriceSeriesColumns = {
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly values: readonly Price[]
}

type SeriesColumns = {
  readonly starts: number[]
  readonly ends: number[]
  readonly prices: Price[]
  readonly confidences: number[]
}

/**
 * Join published prices (confidence 1) and forecasts to one series. If both have a price, the published price applies;
 * the rest of a forecast that it cuts remains.
 * Source: docs/rules/markets-and-forecasts.md #storing-prices.
 */
export const provisionalSeries = (
  sourceId: string,
  published: PriceSeriesColumns,
  forecast: PriceSeriesColumns & { readonly confidences: readonly number[] },
): MarketSeries => {
  const { starts, ends, values } = published
  if (forecast.starts.length === 0) return { sourceId, starts, ends, prices: values, confidences: starts.map(() => 1) }
  const series: SeriesColumns = { starts: [], ends: [], prices: [], confidences: [] }
  const addPrice = (start: number, end: number, price: Price, confidence: number): void => {
    series.starts.push(start)
    series.ends.push(end)
    series.prices.push(price)
    series.confidences.push(confidence)
  }
  let publishedIndex = 0
  const addPublished = (): void => {
    addPrice(starts[publishedIndex] as number, ends[publishedIndex] as number, values[publishedIndex] as Price, 1)
    publishedIndex += 1
  }
  for (let index = 0; index < forecast.starts.length; index += 1) {
    let start = forecast.starts[index] as number
    const end = forecast.ends[index] as number
    const priceAndConfidence = [forecast.values[index] as Price, forecast.confidences[index] as number] as const
    // A published price can begin earlier, and extend over several forecasts.
    while (publishedIndex < starts.length && (starts[publishedIndex] as number) < end) {
      if ((starts[publishedIndex] as number) > start)
        addPrice(start, starts[publishedIndex] as number, ...priceAndConfidence)
      start = Math.max(start, ends[publishedIndex] as number)
      if ((ends[publishedIndex] as number) > end) break
      addPublished()
    }
    if (start < end) addPrice(start, end, ...priceAndConfidence)
  }
  while (publishedIndex < starts.length) {
    addPublished()
  }
  return { sourceId, ...series }
}
