import { describe, expect, it } from 'vitest'
import { freeAfter, isFree, maxFreeSpans, occupy } from '../../../../services/domain/record/free-spans.ts'
import { seededRandom } from '../../../support/random.ts'

const record = (start: number, end: number) => ({ start, end })

describe('spans without records', () => {
  it('are free where no record was, in any order of arrival', () => {
    const spans = freeAfter(0)
    const order = [5, 1, 9, 3, 7, 2, 8, 4, 6]
    for (const hour of order) {
      expect(isFree(spans, record(hour, hour + 1))).toBe(true)
      occupy(spans, record(hour, hour + 1))
      expect(isFree(spans, record(hour, hour + 1))).toBe(false)
    }
    expect(spans).toEqual([0, 1, 10, Number.POSITIVE_INFINITY])
  })

  it('are not free before the last record that was loaded', () => {
    const spans = freeAfter(100)
    expect(isFree(spans, record(99, 101))).toBe(false)
    expect(isFree(spans, record(100, 101))).toBe(true)
    // An impulse at the end of a record can be stored: it would have the same end.
    expect(isFree(spans, record(100, 100))).toBe(false)
  })

  it('drop the oldest spans beyond the limit', () => {
    const spans = freeAfter(0)
    for (let at = 1; at <= maxFreeSpans + 1; at += 1) occupy(spans, record(at * 10, at * 10 + 1))
    expect(spans.length).toBe(2 * maxFreeSpans)
    expect(isFree(spans, record(2, 3))).toBe(false)
    expect(isFree(spans, record((maxFreeSpans + 1) * 10 - 2, (maxFreeSpans + 1) * 10 - 1))).toBe(true)
  })

  it('are what is left of each span', () => {
    const random = seededRandom(11)
    /** Return what is left of a span. An impulse divides it. */
    const leftOf = ([from, to]: readonly [number, number], { start, end }: { start: number; end: number }) =>
      to <= start || from >= end
        ? [[from, to] as const]
        : [...(from < start ? [[from, start] as const] : []), ...(end < to ? [[end, to] as const] : [])]
    for (let history = 0; history < 300; history += 1) {
      const spans = freeAfter(random.below(2) === 0 ? Number.NEGATIVE_INFINITY : 5)
      let expected: readonly (readonly [number, number])[] = [[spans[0] ?? 0, Number.POSITIVE_INFINITY]]
      for (let count = 0; count < 80; count += 1) {
        const start = random.below(10) === 0 ? Number.NEGATIVE_INFINITY : random.below(300)
        const one = record(start, Math.max(start, 0) + random.below(9))
        occupy(spans, one)
        expected = expected.flatMap(span => leftOf(span, one)).slice(-maxFreeSpans)
        expect(spans).toEqual(expected.flat())
      }
    }
  })

  it('never contain a time that was occupied: random records, impulses and overlaps', () => {
    const random = seededRandom(7)
    for (let history = 0; history < 200; history += 1) {
      const spans = history % 2 === 0 ? freeAfter(Number.NEGATIVE_INFINITY) : freeAfter(10)
      const seen = new Set<string>()
      for (let count = 0; count < 60; count += 1) {
        const start = random.below(40)
        const one = record(start, start + random.below(7))
        const key = `${one.start} ${one.end}`
        if (isFree(spans, one)) expect(seen.has(key)).toBe(false)
        occupy(spans, one)
        seen.add(key)
        for (const known of seen) {
          const [from = 0, to = 0] = known.split(' ').map(Number)
          expect(isFree(spans, record(from, to))).toBe(false)
        }
      }
    }
  })
})
