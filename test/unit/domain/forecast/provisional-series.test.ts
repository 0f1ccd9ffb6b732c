import fc from 'fast-check'
import { expect, it } from 'vitest'
import { provisionalSeries } from '../../../../services/domain/forecast/provisional-series.ts'

type Interval = { readonly start: number; readonly end: number; readonly value: bigint }

const layer = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 14 }).chain(edges => {
  const sorted = edges.toSorted((a, b) => a - b)
  return fc
    .array(fc.record({ used: fc.boolean(), value: fc.bigInt({ min: -9n, max: 9n }) }), {
      minLength: edges.length,
      maxLength: edges.length,
    })
    .map(cells =>
      cells.flatMap(({ used, value }, index): Interval[] => {
        const end = sorted[index + 1]
        return used && end !== undefined ? [{ start: sorted[index] ?? 0, end, value }] : []
      }),
    )
})

const columns = (intervals: readonly Interval[]) => ({
  starts: intervals.map(({ start }) => start),
  ends: intervals.map(({ end }) => end),
  values: intervals.map(({ value }) => value),
})

it('has at each instant the published price, else the forecast, else none; intervals are in order and do not overlap', () => {
  fc.assert(
    fc.property(layer, layer, (published, forecast) => {
      const confidences = forecast.map((_, index) => 0.9 - index / 100)
      const series = provisionalSeries('mrs_1', columns(published), { ...columns(forecast), confidences })
      const seen = series.starts.map((start, index) => ({ start, end: series.ends[index] ?? 0, place: index }))
      for (const { start, end, place: index } of seen) {
        expect(start).toBeLessThan(end)
        expect(start).toBeGreaterThanOrEqual(seen[index - 1]?.end ?? 0)
      }
      for (let at = 0; at <= 40; at += 1) {
        const contains = ({ start, end }: { readonly start: number; readonly end: number }): boolean =>
          start <= at && at < end
        const certain = published.find(contains)
        const expected = forecast.findIndex(contains)
        const index = seen.find(contains)?.place
        const wanted =
          certain !== undefined
            ? [certain.value, 1]
            : expected >= 0
              ? [forecast[expected]?.value, confidences[expected]]
              : [undefined, undefined]
        expect([series.prices[index ?? -1], series.confidences[index ?? -1]]).toEqual(wanted)
      }
    }),
    { numRuns: 300 },
  )
})
