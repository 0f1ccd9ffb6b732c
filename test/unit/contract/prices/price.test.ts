import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPriceInterval, refuseLongInterval } from '../../../../services/contract/prices/price-request.ts'
import { priceWriter } from '../../../../services/contract/prices/price-writer.ts'
import { answerOffset } from '../../../../services/domain/answer-offset.ts'
import { offsetAt } from '../../../../services/domain/civil-time.ts'
import { writeInstant } from '../../../../services/domain/instant.ts'
import { formatDecimal } from '../../../../services/domain/quantity.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'

const dayMs = 86_400_000
const at = Date.parse('2026-03-01T12:00:00.250Z')
const instant = (of: number, offsetMinutes = 0) => ({ at: of, offsetMinutes })

describe('a series', () => {
  it('has exact prices without an exponent', () => {
    const tenths = fc.tuple(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), fc.integer({ min: 0, max: 17 }))
    const prices = fc.oneof(
      tenths.map(([value, zeros]) => value / 10n ** BigInt(zeros)),
      fc.bigInt({ min: -2000n, max: 2000n }),
      fc.bigInt({ min: 10n ** 15n - 50n, max: 10n ** 15n + 50n }),
    )
    fc.assert(
      fc.property(prices, price => {
        expect(JSON.stringify(priceWriter(() => 0).price(price))).toBe(formatDecimal(price, 9))
        expect(JSON.stringify(priceWriter(() => 0).kwh(price))).toBe(formatDecimal(price, 9))
      }),
      { numRuns: 2_000 },
    )
  })

  it('has confidences with four decimals', () => {
    for (let confidence = 0; confidence <= 10_000; confidence += 1)
      expect(JSON.stringify(priceWriter(() => 0).confidence(confidence))).toBe(formatDecimal(BigInt(confidence), 4))
  })

  it('has the same text for an instant as a single answer', () => {
    const instants = fc.array(
      fc.oneof(
        fc.integer({ min: 0, max: 4_000_000_000_000 }),
        fc.integer({ min: 0, max: 400 }).map(quarter => quarter * 900_000),
      ),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(instants, fc.integer({ min: -1439, max: 1439 }), (found, offset) => {
        const write = priceWriter(() => offset)
        expect(found.map(write.instant)).toEqual(found.map(one => writeInstant(one, offset)))
      }),
    )
  })

  it.each(['America/Denver', 'Europe/London', 'Australia/Lord_Howe'])(
    'has the offset of %s at each instant, in any order',
    name => {
      const zone = zoneOf(name)
      const changes = zone.changes.filter(change => change > Date.UTC(2024, 0, 1) && change < Date.UTC(2028, 0, 1))
      expect(changes.length).toBeGreaterThanOrEqual(8)
      const near = fc.tuple(
        fc.constantFrom(...changes),
        fc.integer({ min: -100, max: 100 }),
        fc.constantFrom(0, -1, 1, 450_000),
      )
      const instants = fc.array(near, { minLength: 1, maxLength: 30 })
      fc.assert(
        fc.property(instants, list => {
          const found = list.map(([change, quarters, more]) => change + quarters * 900_000 + more)
          const write = priceWriter(answerOffset(zone, 60))
          expect(found.map(write.instant)).toEqual(found.map(one => writeInstant(one, offsetAt(zone, one) / 60_000)))
          const inUtc = priceWriter(answerOffset(zone, 0))
          expect(found.map(inUtc.instant)).toEqual(found.map(one => writeInstant(one)))
        }),
      )
    },
  )
})

describe('the interval of a request', () => {
  it('starts now and is IMPORT by default', () => {
    expect(readPriceInterval({ end_time: instant(at + dayMs, 60) }, 'current', at)).toEqual({
      ok: true,
      value: { start: at, end: at + dayMs, startOffset: 60, endOffset: 60, direction: 'IMPORT' },
    })
  })

  it.each([
    ['current', 0, 1, true],
    ['current', 0, 0, false],
    ['earlier', 0, 749, false],
    ['earlier', 0, 750, true],
  ] as const)('in the %s API version from %i to %i ms later is accepted: %s', (apiVersion, from, to, isAccepted) => {
    const body = { start_time: instant(at + from), end_time: instant(at + to) }
    expect(readPriceInterval(body, apiVersion, at).ok).toBe(isAccepted)
  })

  it.each([
    ['current', 90 * dayMs, true],
    ['current', 90 * dayMs + 1, false],
    // Both ends are first rounded down to whole seconds: from 12:00:00 to 12:00:00.
    ['earlier', 90 * dayMs + 749, true],
    ['earlier', 90 * dayMs + 750, false],
  ] as const)('in the %s API version %i ms are at most 90 days: %s', (apiVersion, length, isShort) => {
    const span = readPriceInterval({ start_time: instant(at), end_time: instant(at + length) }, apiVersion, at)
    expect(span.ok && refuseLongInterval(span.value, zoneOf('UTC'), 90)?.code).toBe(
      isShort ? undefined : 'interval_too_long',
    )
  })

  it.each([
    // Three days by the clock: 73 hours where summer time ends between, 71 where it begins, for which 72 hours are no
    // more than three days
    ['Europe/Berlin', '2026-10-24T00:00:00+02:00', '2026-10-27T00:00:00+01:00', true],
    ['Europe/Berlin', '2026-10-24T00:00:00+02:00', '2026-10-27T00:00:00.001+01:00', false],
    ['Europe/Berlin', '2026-03-28T00:00:00+01:00', '2026-03-31T01:00:00+02:00', true],
    ['Europe/Berlin', '2026-03-28T00:00:00+01:00', '2026-03-31T01:00:00.001+02:00', false],
    // It is the clock of the location that counts
    ['UTC', '2026-10-24T00:00:00+02:00', '2026-10-27T00:00:00+01:00', false],
    ['Australia/Lord_Howe', '2026-04-04T00:00:00+11:00', '2026-04-07T00:00:00+10:30', true],
    ['Australia/Lord_Howe', '2026-04-04T00:00:00+11:00', '2026-04-07T00:00:00.001+10:30', false],
  ] as const)('in %s from %s to %s is three days at most: %s', (zone, from, to, isShort) => {
    const body = { start_time: instant(Date.parse(from)), end_time: instant(Date.parse(to)) }
    const span = readPriceInterval(body, 'current', at)
    expect(span.ok && refuseLongInterval(span.value, zoneOf(zone), 3)?.code).toBe(
      isShort ? undefined : 'interval_too_long',
    )
  })
})
