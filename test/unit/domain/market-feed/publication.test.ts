import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextLocalMidnight } from '../../../../services/domain/civil-time.ts'
import {
  expectedUntil,
  nextFetchAt,
  requestIntervals,
  retryDelayMs,
} from '../../../../services/domain/market-feed/publication.ts'
import { marketClock, sharedSources } from '../../../../services/domain/market-feed/shared-sources.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'

const zone = timeZone('Europe/Brussels')
if (zone === null) throw new Error('no zone')
const clock = { zone, publishedAtMinute: 12 * 60 + 55 }
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const at = (text: string): number => Date.parse(text)

describe('the next fetch', () => {
  it('is at the next publication once tomorrow is known', () => {
    expect(nextFetchAt(clock, at('2026-06-01T12:00:00Z'), at('2026-06-02T22:00:00Z'), 0)).toBe(
      at('2026-06-02T10:55:00Z'),
    )
  })

  it('is at the publication of today while tomorrow is not out', () => {
    expect(nextFetchAt(clock, at('2026-06-01T06:00:00Z'), at('2026-06-01T22:00:00Z'), 0.5)).toBe(
      at('2026-06-01T11:00:00Z'),
    )
  })

  it('follows the market clock through its changes', () => {
    expect(nextFetchAt(clock, at('2026-03-28T20:00:00Z'), at('2026-03-29T22:00:00Z'), 0)).toBe(
      at('2026-03-29T10:55:00Z'),
    )
    expect(nextFetchAt(clock, at('2026-10-24T20:00:00Z'), at('2026-10-25T23:00:00Z'), 0)).toBe(
      at('2026-10-25T11:55:00Z'),
    )
  })

  it('comes soon while a publication is out, later less often', () => {
    const known = at('2026-06-01T22:00:00Z')
    expect(nextFetchAt(clock, at('2026-06-01T11:00:00Z'), known, 0.5) - at('2026-06-01T11:00:00Z')).toBe(5 * minuteMs)
    expect(nextFetchAt(clock, at('2026-06-01T16:00:00Z'), known, 0.5) - at('2026-06-01T16:00:00Z')).toBe(30 * minuteMs)
  })

  it('is in the future, and within 40 hours, for all times and all known prices', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') }),
        fc.option(fc.integer({ min: -3 * dayMs, max: 3 * dayMs })),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (now, known, random) => {
          const next = nextFetchAt(clock, now, known === null ? null : now + known, random)
          expect(next).toBeGreaterThan(now)
          expect(next).toBeLessThan(now + 40 * hourMs)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('the prices that must be known', () => {
  it('are those of today, and those of tomorrow from six hours after their publication on', () => {
    expect(expectedUntil(clock, at('2026-06-01T16:54:59Z'))).toBe(at('2026-06-01T22:00:00Z'))
    expect(expectedUntil(clock, at('2026-06-01T16:55:00Z'))).toBe(at('2026-06-02T22:00:00Z'))
    expect(expectedUntil(clock, at('2026-03-28T20:00:00Z'))).toBe(at('2026-03-29T22:00:00Z'))
  })
})

describe('a retry', () => {
  it('waits one minute, doubled with each failure up to an hour, a fifth more or less', () => {
    expect([1, 2, 3, 6, 7, 8, 100].map(failures => retryDelayMs(failures, 0.5, null) / minuteMs)).toEqual([
      1, 2, 4, 32, 60, 60, 60,
    ])
    expect([0, 1].map(random => retryDelayMs(1, random, null))).toEqual([48_000, 72_000])
  })

  it('waits as long as the feed asks for, an hour at most', () => {
    expect(retryDelayMs(1, 0.5, 10 * minuteMs)).toBe(10 * minuteMs)
    expect(retryDelayMs(1, 0.5, 10 * hourMs)).toBe(hourMs)
  })
})

describe('the spans of requests', () => {
  it('are whole local days, without gap, as long as the feed takes, cut where it says', () => {
    const cut = at('2025-10-25T22:00:00Z')
    const spans = requestIntervals({ maxDays: 3, cutsAt: [cut] }, zone, {
      from: at('2025-10-21T05:00:00Z'),
      to: at('2025-10-27T05:00:00Z'),
    })
    expect(spans.map(({ from, to }) => [new Date(from).toISOString().slice(0, 13), (to - from) / hourMs])).toEqual([
      ['2025-10-20T22', 72],
      ['2025-10-23T22', 48],
      ['2025-10-25T22', 25 + 24],
    ])
  })

  it('cover what is asked for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 700 * dayMs }),
        fc.integer({ min: 1, max: 60 * dayMs }),
        fc.integer({ min: 1, max: 31 }),
        (offset, length, longestDays) => {
          const from = at('2025-01-01T00:00:00Z') + offset
          const spans = requestIntervals({ maxDays: longestDays }, zone, { from, to: from + length })
          expect(spans[0]?.from).toBeLessThanOrEqual(from)
          expect(spans.at(-1)?.to).toBeGreaterThanOrEqual(from + length)
          for (const [index, span] of spans.entries()) {
            if (index > 0) expect(span.from).toBe(spans[index - 1]?.to)
            expect(span.to - span.from).toBeLessThanOrEqual(longestDays * dayMs + hourMs)
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
      expect.arrayContaining([
        'DE-LU EUR',
        'SE3 SEK',
        'SE3 EUR',
        'DK1 DKK',
        'NO5 NOK',
        'IT-NORD EUR',
        'GB GBP',
        'GB-P GBP',
        'UA UAH',
      ]),
    )
    for (const { area } of sharedSources) expect(timeZone(marketClock(area).timeZone)).not.toBeNull()
  })
})
