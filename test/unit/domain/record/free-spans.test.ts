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
