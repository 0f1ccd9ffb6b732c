import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PriceElement } from '../../../../services/domain/price/price-series.ts'
import { type Segment, scheduleDuration } from '../../../../services/domain/schedule/slot.ts'

const minuteMs = 60_000

/** Elements of one price each: minutes and a price; null is a gap. */
const timeline = (steps: readonly (readonly [number, number | null])[]): PriceElement[] => {
  let at = 0
  return steps.flatMap(([minutes, price]) => {
    const start = at
    at += minutes * minuteMs
    return price === null ? [] : [{ start, end: at, price: BigInt(price), confidence: 10_000 }]
  })
}

const choose = (elements: readonly PriceElement[], minutes: number, segment: Segment = 'LOW', contiguous = false) =>
  scheduleDuration(elements, { segment, durationMs: minutes * minuteMs, isContiguous: contiguous })?.map(
    ({ start, end }) => [start / minuteMs, end / minuteMs],
  )

/** Every minute with its price, in order. */
const minutesOf = (elements: readonly PriceElement[]) =>
  elements.flatMap(({ start, end, price }) =>
    Array.from({ length: (end - start) / minuteMs }, (_, index) => ({
      at: start / minuteMs + index,
      price: Number(price),
    })),
  )

/** The best sum over any minutes: by brute force, sorted. */
const bestSplit = (elements: readonly PriceElement[], minutes: number, segment: Segment): number =>
  minutesOf(elements)
    .map(({ price }) => price)
    .sort((a, b) => (segment === 'LOW' ? a - b : b - a))
    .slice(0, minutes)
    .reduce((sum, price) => sum + price, 0)

/** The best sums over runs from every minute, with the first start that has it. */
const bestRun = (elements: readonly PriceElement[], minutes: number, segment: Segment) => {
  const priceAt = new Map(minutesOf(elements).map(({ at, price }) => [at, price]))
  let best: { readonly sum: number; readonly start: number } | null = null
  for (const start of priceAt.keys()) {
    const prices = Array.from({ length: minutes }, (_, index) => priceAt.get(start + index))
    if (prices.includes(undefined)) continue
    const sum = prices.reduce<number>((total, price) => total + (price ?? 0), 0)
    if (best === null || (segment === 'LOW' ? sum < best.sum : sum > best.sum)) best = { sum, start }
  }
  return best
}

const sumOf = (elements: readonly PriceElement[], slots: readonly (readonly number[])[]): number =>
  minutesOf(elements)
    .filter(({ at }) => slots.some(([from = 0, to = 0]) => at >= from && at < to))
    .reduce((sum, { price }) => sum + price, 0)

const cases = fc.record({
  elements: fc
    .array(
      fc.tuple(fc.integer({ min: 1, max: 7 }), fc.option(fc.integer({ min: -2, max: 3 }), { nil: null, freq: 6 })),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    .map(timeline)
    .filter(elements => elements.length > 0),
  minutes: fc.integer({ min: 1, max: 20 }),
  segment: fc.constantFrom<Segment>('LOW', 'HIGH'),
})

describe('a split duration', () => {
  it('has the best sum of all choices of minutes, in order and without overlap', () => {
    fc.assert(
      fc.property(cases, ({ elements, minutes, segment }) => {
        const slots = choose(elements, minutes, segment)
        if (minutesOf(elements).length < minutes) {
          expect(slots).toBeUndefined()
          return
        }
        expect(slots?.reduce((sum, [from = 0, to = 0]) => sum + to - from, 0)).toBe(minutes)
        expect(sumOf(elements, slots ?? [])).toBe(bestSplit(elements, minutes, segment))
        for (const [index, [from = 0]] of (slots ?? []).entries())
          if (index > 0) expect(from).toBeGreaterThan(slots?.[index - 1]?.[1] ?? 0)
      }),
      { numRuns: 300 },
    )
  })

  const ties: readonly (readonly [
    string,
    readonly (readonly [number, number | null])[],
    number,
    readonly (readonly number[])[],
  ])[] = [
    [
      'begins earliest',
      [
        [60, 2],
        [60, 1],
        [60, 2],
        [60, 1],
      ],
      30,
      [[60, 90]],
    ],
    [
      'extends chosen time before it starts another interval',
      [
        [60, 2],
        [60, 3],
        [60, 1],
        [60, 2],
      ],
      90,
      [[120, 210]],
    ],
    [
      'extends toward the past where only that joins',
      [
        [60, 2],
        [60, 1],
        [60, 3],
        [60, 2],
      ],
      90,
      [[30, 120]],
    ],
    [
      'joins two pieces',
      [
        [60, 1],
        [30, 2],
        [60, 1],
        [60, 3],
        [60, 2],
      ],
      150,
      [[0, 150]],
    ],
    [
      'starts another interval if no chosen time can be extended',
      [
        [60, 1],
        [30, 2],
        [60, 3],
        [60, 2],
      ],
      120,
      [
        [0, 90],
        [150, 180],
      ],
    ],
    [
      'does not reach over time without price',
      [
        [60, 1],
        [60, null],
        [60, 1],
      ],
      120,
      [
        [0, 60],
        [120, 180],
      ],
    ],
  ]
  it.each(ties)('of equal prices %s', (_, steps, minutes, expected) => {
    expect(choose(timeline(steps), minutes)).toEqual(expected)
  })

  it('answers the mean of each piece by time', () => {
    // 20 minutes at 1 and 10 at 2: (20 × 1 + 10 × 2) / 30
    const slots = scheduleDuration(
      timeline([
        [20, 1_000],
        [10, 2_000],
        [30, 9_000],
      ]),
      { segment: 'LOW', durationMs: 30 * minuteMs, isContiguous: false },
    )
    expect(slots).toEqual([{ start: 0, end: 30 * minuteMs, average: 1333n, confidence: 10_000 }])
  })
})

describe('a duration in one run', () => {
  it('is the best of the runs that begin at any minute, and the earliest of equal ones', () => {
    fc.assert(
      fc.property(cases, ({ elements, minutes, segment }) => {
        const [slot] = choose(elements, minutes, segment, true) ?? []
        const best = bestRun(elements, minutes, segment)
        expect(slot).toEqual(best === null ? undefined : [best.start, best.start + minutes])
      }),
      { numRuns: 300 },
    )
  })

  it('begins off the grid of prices where that is best', () => {
    // 90 minutes: the end meets the edge at 120, so it begins at 30
    expect(
      choose(
        timeline([
          [60, 2],
          [60, 1],
          [60, 3],
        ]),
        90,
        'LOW',
        true,
      ),
    ).toEqual([[30, 120]])
  })
})
