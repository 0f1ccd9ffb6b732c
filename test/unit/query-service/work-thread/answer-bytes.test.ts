import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { answerInApiVersion } from '../../../../services/contract/exchange.ts'
import { priceRetrieve, priceToWire } from '../../../../services/contract/prices/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../../../services/contract/prices/price-audit.ts'
import { answerOffset } from '../../../../services/domain/answer-offset.ts'
import type { PriceAuditElement } from '../../../../services/domain/price/price-series.ts'
import { answerTexts, encodeTexts } from '../../../../services/query-service/work-thread/answer-bytes.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'

const minuteMs = 60_000
const start = Date.UTC(2026, 2, 28, 20)
const interval = { start, end: start + 1_000 * minuteMs, startOffset: 60, endOffset: 120, direction: 'IMPORT' } as const
const view = {
  id: 'prs_1',
  accountId: 'acc_1',
  liveMode: true,
  locationId: 'loc_1',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  interval,
  lastUpdated: start,
  createdAt: start,
  offsetOf: answerOffset(zoneOf('Europe/Berlin'), interval.endOffset),
}

/** Create elements with all kinds of digits. */
const elements = (count: number): readonly PriceAuditElement[] =>
  Array.from({ length: count }, (_, index) => {
    const aggregate = BigInt(index % 7 === 0 ? index : index * 123_456_789)
    const commodity = {
      market: -aggregate,
      fixed: aggregate,
      percentage: aggregate,
      tier: BigInt(index) * 1_000_003n,
      aggregate,
    }
    return {
      start: start + index * minuteMs,
      end: start + (index + 1) * minuteMs,
      price: aggregate + 1n,
      confidence: 10_000 - (index % 3),
      breakdown: { commodity, nonCommodity: { fixed: 1n, tier: 0n } },
    }
  })

const textOf = (answer: Parameters<typeof answerTexts>[0]): string => {
  const decoder = new TextDecoder()
  let text = ''
  for (const bytes of encodeTexts(answerTexts(answer))) text += decoder.decode(bytes)
  return text
}

describe('an answer written in parts', () => {
  it('has the text of the whole answer, in both API versions and for any size of the parts', () => {
    const counts = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(1_023, 1_024, 1_025, 2_048))
    fc.assert(
      fc.property(
        counts,
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(...apiVersions),
        (count, few, apiVersion) => {
          const all = elements(count)
          const maxPerStep = count > 100 ? 1_024 : few
          const earlier =
            apiVersion === 'current'
              ? null
              : { includeTariff: count % 2 === 0, includeCarbon: false, nextUpdate: start }
          const price = (from: number, to: number) => priceToWire({ ...view, earlier, elements: all.slice(from, to) })
          const audit = (from: number, to: number) =>
            priceAuditToWire({ ...view, apiVersion, marketSourceIds: ['mrs_1'], elements: all.slice(from, to) })
          for (const [operation, write] of [[priceRetrieve, price] as const, [priceAuditRetrieve, audit] as const]) {
            const whole = JSON.stringify(answerInApiVersion(operation, write(0, count), apiVersion))
            expect(textOf({ operation, apiVersion, count, maxPerStep, write })).toBe(whole)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('consists of chunks of bounded length', () => {
    const all = elements(20_000)
    const write = (from: number, to: number) => priceToWire({ ...view, earlier: null, elements: all.slice(from, to) })
    const answer = answerTexts({ operation: priceRetrieve, apiVersion: 'current', count: all.length, write })
    const sizes = [...encodeTexts(answer)].map(({ length }) => length)
    expect(sizes.length).toBeGreaterThan(10)
    expect(Math.max(...sizes)).toBeLessThan(400_000)
  })
})
