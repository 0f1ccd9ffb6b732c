import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextLocalMidnight } from '../../../services/domain/civil-time.ts'
import { requestSpans } from '../../../services/platform/market-feeds/feed-spans.ts'
import { expectedUntil, nextFetchAt, retryDelayMs } from '../../../services/platform/market-feeds/publication.ts'
import { marketClock, sharedSources } from '../../../services/platform/market-feeds/shared-sources.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'

const zone = timeZone('Europe/Brussels')
if (zone === null) throw new Error('no zone')
const clock = { zone, publishedAtMinute: 12 * 60 + 55 }
const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const at = (text: string): number => Date.parse(text)

describe('the next fetch', () => {
  it('is at the next publication once tomorrow is known', () => {
    expect(nextFetchAt(clock, at('2026-06-01T12:00:00Z'), at('2026-06-02T22:00:00Z'), 0)).toBe(at('2026-06-02T10:55:00Z'))
  })

  it('is at the publication of today while tomorrow is not out', () => {
    expect(nextFetchAt(clock, at('2026-06-01T06:00:00Z'), at('2026-06-01T22:00:00Z'), 0.5)).toBe(at('2026-06-01T11:00:00Z'))
  })

  it('follows the market clock through its changes', () => {
    expect(nextFetchAt(clock, at('2026-03-28T20:00:00Z'), at('2026-03-29T22:00:00Z'), 0)).toBe(at('2026-03-29T10:55:00Z'))
    expect(nextFetchAt(clock, at('2026-10-24T20:00:00Z'), at('2026-10-25T23:00:00Z'), 0)).toBe(at('2026-10-25T11:55:00Z'))
  })

  it('comes soon while a publication is out, later less often', () => {
    const known = at('2026-06-01T22:00:00Z')
    expect(nextFetchAt(clock, at('2026-06-01T11:00:00Z'), known, 0.5) - at('2026-06-01T11:00:00Z')).toBe(5 * minute)
    expect(nextFetchAt(clock, at('2026-06-01T16:00:00Z'), known, 0.5) - at('2026-06-01T16:00:00Z')).toBe(30 * minute)
  })

  it('lies ahead, and within 40 hours, whenever it is and whatever is known', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') }),
        fc.option(fc.integer({ min: -3 * day, max: 3 * day })),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (now, known, chance) => {
          const next = nextFetchAt(clock, now, known === null ? null : now + known, chance)
          expect(next).toBeGreaterThan(now)
          expect(next).toBeLessThan(now + 40 * hour)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('what must be known', () => {
  it('is today, and tomorrow from six hours after its publication on', () => {
    expect(expectedUntil(clock, at('2026-06-01T16:54:59Z'))).toBe(at('2026-06-01T22:00:00Z'))
    expect(expectedUntil(clock, at('2026-06-01T16:55:00Z'))).toBe(at('2026-06-02T22:00:00Z'))
    expect(expectedUntil(clock, at('2026-03-28T20:00:00Z'))).toBe(at('2026-03-29T22:00:00Z'))
  })
})

describe('a retry', () => {
  it('waits one minute, doubled with each failure up to an hour, a fifth more or less', () => {
    expect([1, 2, 3, 6, 7, 8, 100].map(failures => retryDelayMs(failures, 0.5, null) / minute)).toEqual([1, 2, 4, 32, 60, 60, 60])
    expect([0, 1].map(chance => retryDelayMs(1, chance, null))).toEqual([48_000, 72_000])
  })

  it('waits as long as the feed asks for, an hour at most', () => {
    expect(retryDelayMs(1, 0.5, 10 * minute)).toBe(10 * minute)
    expect(retryDelayMs(1, 0.5, 10 * hour)).toBe(hour)
  })
})

describe('the spans of requests', () => {
  it('are whole local days, without gap, as long as the feed takes, cut where it says', () => {
    const cut = at('2025-10-25T22:00:00Z')
    const spans = requestSpans({ longestDays: 3, cutsAt: [cut] }, zone, {
      from: at('2025-10-21T05:00:00Z'),
      to: at('2025-10-27T05:00:00Z'),
    })
    expect(spans.map(({ from, to }) => [new Date(from).toISOString().slice(0, 13), (to - from) / hour])).toEqual([
      ['2025-10-20T22', 72],
      ['2025-10-23T22', 48],
      ['2025-10-25T22', 25 + 24],
    ])
  })

  it('cover what is asked for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 700 * day }),
        fc.integer({ min: 1, max: 60 * day }),
        fc.integer({ min: 1, max: 31 }),
        (offset, length, longestDays) => {
          const from = at('2025-01-01T00:00:00Z') + offset
          const spans = requestSpans({ longestDays }, zone, { from, to: from + length })
          expect(spans[0]?.from).toBeLessThanOrEqual(from)
          expect(spans.at(-1)?.to).toBeGreaterThanOrEqual(from + length)
          for (const [index, span] of spans.entries()) {
            if (index > 0) expect(span.from).toBe(spans[index - 1]?.to)
            expect(span.to - span.from).toBeLessThanOrEqual(longestDays * day + hour)
            expect(nextLocalMidnight(zone, span.to - 1)).toBe(span.to)
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})

describe('the shared sources', () => {
  it('are one for each area and currency, each with a clock that exists', () => {
    const names = sharedSources.map(({ area, currencyCode }) => `${area} ${currencyCode}`)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(
      expect.arrayContaining(['DE-LU EUR', 'SE3 SEK', 'SE3 EUR', 'DK1 DKK', 'NO5 NOK', 'IT-NORD EUR', 'GB GBP', 'GB-P GBP', 'UA UAH']),
    )
    for (const { area } of sharedSources) expect(timeZone(marketClock(area).timeZone)).not.toBeNull()
  })
})
