import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideAttempt,
  isDisableDue,
  maxFailingMs,
  readRetryAfterMs,
  retryDelayMs,
  retryGapsMs,
} from '../../../../services/domain/webhook/delivery-attempt.ts'

const random = fc.double({ min: 0, max: 1, noNaN: true })
const attempts = fc.integer({ min: 1, max: retryGapsMs.length })
const at = 1_757_840_000_000
const seconds = (count: number): number => count * 1_000
const hours = (count: number): number => seconds(count * 3_600)

describe('the schedule of attempts', () => {
  it('waits 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, in the middle of each band', () => {
    const waits = retryGapsMs.map((_, index) => retryDelayMs(index + 1, 0.5, null))
    expect(waits).toEqual([seconds(5), seconds(300), seconds(1_800), ...[2, 5, 10, 14, 20, 24].map(hours)])
  })

  it('keeps every wait within 20 % of its gap, and reaches both ends', () => {
    fc.assert(
      fc.property(attempts, random, (made, randomValue) => {
        const gap = retryGapsMs[made - 1] ?? 0
        const wait = retryDelayMs(made, randomValue, null) ?? 0
        expect(wait).toBeGreaterThanOrEqual(gap * 0.8)
        expect(wait).toBeLessThanOrEqual(gap * 1.2)
      }),
    )
    expect([retryDelayMs(1, 0, null), retryDelayMs(1, 1, null)]).toEqual([4_000, 6_000])
  })

  it('ends with the tenth attempt', () => {
    expect(retryDelayMs(10, 0.5, null)).toBeNull()
    expect(decideAttempt({ status: 500, retryAfter: null }, 10, at, 0.5)).toEqual({ kind: 'EXHAUSTED' })
  })

  it('honours Retry-After up to twice the gap, and never comes sooner than planned', () => {
    fc.assert(
      fc.property(attempts, random, fc.integer({ min: 0, max: hours(100) }), (made, randomValue, requestedWait) => {
        const gap = retryGapsMs[made - 1] ?? 0
        const planned = retryDelayMs(made, randomValue, null) ?? 0
        const wait = retryDelayMs(made, randomValue, requestedWait) ?? 0
        expect(wait).toBe(requestedWait <= planned ? planned : Math.min(requestedWait, 2 * gap))
      }),
    )
  })
})

describe('an attempt', () => {
  it('succeeds with 2xx alone', () => {
    for (let status = 100; status < 600; status += 1) {
      const { kind } = decideAttempt({ status, retryAfter: null }, 1, at, 0.5)
      expect([status, kind]).toEqual([
        status,
        status >= 200 && status < 300 ? 'DELIVERED' : status === 410 ? 'GONE' : 'RETRY',
      ])
    }
    expect(decideAttempt({ status: null, retryAfter: null }, 1, at, 0.5)).toEqual({
      kind: 'RETRY',
      dueAt: at + seconds(5),
    })
  })

  it('is put off by Retry-After of 429 and 503 only', () => {
    const dueWith = (status: number) => decideAttempt({ status, retryAfter: '8' }, 1, at, 0.5)
    expect([429, 503].map(dueWith)).toEqual([429, 503].map(() => ({ kind: 'RETRY', dueAt: at + seconds(8) })))
    expect([400, 500, 502, 301].map(dueWith)).toEqual(
      [400, 500, 502, 301].map(() => ({ kind: 'RETRY', dueAt: at + seconds(5) })),
    )
  })

  it.each([
    ['8', 8_000],
    [' 120 ', 120_000],
    [new Date(at + 7_000).toUTCString(), 7_000],
    [new Date(at - 7_000).toUTCString(), 0],
    ['soon', null],
    ['-1', null],
    ['1.5', null],
    ['2025-09-14T10:00:00Z', null],
    ['', null],
    [null, null],
  ])('reads Retry-After %j as %j ms', (header, ms) => {
    expect(readRetryAfterMs(header, at)).toBe(ms)
  })

  it('ends an endpoint after five days of nothing but failure', () => {
    expect(isDisableDue(at, at + maxFailingMs - 1)).toBe(false)
    expect(isDisableDue(at, at + maxFailingMs)).toBe(true)
  })
})
