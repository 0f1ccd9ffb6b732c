import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecord } from '../../../../services/domain/cost/cost-record.ts'
import { priceAudit, priceSeries } from '../../../../services/domain/price/price-series.ts'
import { accumulatorKey } from '../../../../services/domain/tariff/accumulator.ts'
import { type CountedEnergy, evaluate, priceSteps } from '../../../../services/domain/tariff/evaluate.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { MarketSeries, PricingInput } from '../../../../services/domain/tariff/tariff.ts'
import { type Scenario, scenarios } from '../../../support/oracle/generate.ts'
import { publishedPrices } from '../../../support/oracle/published.ts'
import {
  allDay,
  at,
  band,
  kwh,
  nano,
  percentage,
  pricing,
  rate,
  record,
  tariff,
} from '../../../support/oracle/tables.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const start = at('2026-01-01T00:00:00Z')
const snapshotOf = (input: PricingInput) => compileSnapshot(input, createPricingPool())
const import24 = { direction: 'IMPORT', start, end: start + dayMs } as const
const shown = (elements: readonly { start: number; end: number; price: bigint; confidence: number }[]) =>
  elements.map(element => [
    (element.start - start) / hourMs,
    (element.end - start) / hourMs,
    Number(element.price) / 1e9,
    element.confidence,
  ])

const market: MarketSeries = {
  sourceId: 'mrs_a',
  starts: [0, 1, 2, 4].map(hours => start + hours * hourMs),
  ends: [1, 2, 3, 5].map(hours => start + hours * hourMs),
  prices: [nano(0.1), nano(0.1), nano(-0.05), nano(0.2)],
  confidences: [1, 1, 1, 0.75],
}
const marketTariff = tariff(
  allDay([rate(0, null, { surchargeFixed: nano(0.02), surchargePercentage: percentage(0.1) })]),
  {
    marketRates: true,
  },
)

describe('prices', () => {
  it('are cut where they change and merged where they do not', () => {
    const bands = [
      band('00:00-06:00', 0.2),
      band('06:00-07:00', [rate(0.1, null, { surchargeFixed: nano(0.1) })]),
      band('07:00-00:00', 0.3),
    ]
    const { elements, unpriced } = priceSeries(snapshotOf(pricing('UTC', [tariff(bands)])), import24)
    expect(shown(elements)).toEqual([
      [0, 7, 0.2, 10_000],
      [7, 24, 0.3, 10_000],
    ])
    expect(unpriced).toEqual([])
  })

  it('name what is unpriced: before the first contract, and where the market has no price', () => {
    const late = { ...marketTariff, contractStart: start + hourMs / 2 }
    const { elements, unpriced, marketSourceIds } = priceSeries(snapshotOf(pricing('UTC', [late], market)), {
      ...import24,
      end: start + 6 * hourMs,
    })
    expect(shown(elements)).toEqual([
      // (0.1 + 0.02) × 1.1; (-0.05 + 0.02) × 1.1; (0.2 + 0.02) × 1.1
      [0.5, 2, 0.132, 10_000],
      [2, 3, -0.033, 10_000],
      [4, 5, 0.242, 7500],
    ])
    expect(unpriced.map(span => [(span.start - start) / hourMs, (span.end - start) / hourMs, span.missing])).toEqual([
      [0, 0.5, 'TARIFF'],
      [3, 4, 'MARKET_PRICE'],
      [5, 6, 'MARKET_PRICE'],
    ])
    expect(marketSourceIds).toEqual(['mrs_a'])
  })

  it('show the tier that the next energy would meet, as the counts rise', () => {
    const tiers = tariff(allDay([rate(1, 10), rate(2)]))
    const counted: CountedEnergy = (_type, _direction, from) =>
      from === start
        ? [
            { from: start, counted: kwh(4) },
            { from: start + 5 * hourMs, counted: kwh(10) },
            { from: start + 8 * hourMs, counted: kwh(11) },
          ]
        : []
    const { elements } = priceSeries(snapshotOf(pricing('UTC', [tiers])), {
      ...import24,
      end: start + 32 * dayMs,
      counted,
    })
    expect(shown(elements)).toEqual([
      [0, 5, 1, 10_000],
      [5, 31 * 24, 2, 10_000],
      // A month not yet begun starts at 0
      [31 * 24, 32 * 24, 1, 10_000],
    ])
  })

  it('continue after a contract, with 0.2 less confidence every 90 days', () => {
    const ended = tariff(allDay(1), { contractEnd: start })
    const { elements } = priceSeries(snapshotOf(pricing('UTC', [ended])), {
      ...import24,
      start: start - hourMs,
      end: start + 400 * dayMs,
    })
    expect(shown(elements).map(([from = 0, , , confidence]) => [from / 24, confidence])).toEqual([
      [-1 / 24, 10_000],
      [0, 8000],
      [90, 6000],
      [180, 4000],
      [270, 2000],
    ])
  })

  it('are those of each tariff where more of them share a pool than it keeps market prices of', () => {
    const pool = createPricingPool()
    const surcharges = Array.from({ length: 2_049 }, (_, index) => BigInt(index))
    const snapshots = surcharges.map(surchargeFixed => {
      const own = tariff(allDay([rate(0, null, { surchargeFixed })]), { marketRates: true })
      return compileSnapshot(pricing('UTC', [own], market), pool)
    })
    const atHour = (hours: number) => {
      const request = { direction: 'IMPORT', start: start + hours * hourMs, end: start + (hours + 1) * hourMs } as const
      return snapshots.map(snapshot => priceSeries(snapshot, request).elements[0]?.price)
    }
    for (const [hours, price] of [
      [1, nano(0.1)],
      [2, nano(-0.05)],
      [1, nano(0.1)],
    ] as const) {
      expect(atHour(hours)).toEqual(surcharges.map(surcharge => price + surcharge))
    }
  })

  it.each(publishedPrices().map(found => [found.id, found] as const))(
    'are as published: %s',
    (_, { input, segments }) => {
      const snapshot = snapshotOf(input)
      const direction = input.tariffs[0]?.direction ?? 'IMPORT'
      expect(segments.length).toBeGreaterThan(0)
      for (const { from, to, price } of segments) {
        const { elements } = priceSeries(snapshot, { direction, start: from, end: to })
        expect(elements.map(element => [element.start, element.end, element.price])).toEqual([[from, to, price]])
      }
    },
  )
})

describe('audits', () => {
  it('show the parts of a price, whose sums hold', () => {
    const fee = tariff(allDay([rate(0.05, 3), rate(0.04)]), { id: 'trf_fee', type: 'NON_COMMODITY' })
    const counted: CountedEnergy = type => [{ from: 0, counted: type === 'NON_COMMODITY' ? kwh(3) : 0n }]
    const request = { direction: 'IMPORT', start: start + 2 * hourMs, end: start + 3 * hourMs, counted } as const
    const { elements } = priceAudit(snapshotOf(pricing('UTC', [marketTariff, fee], market)), request)
    // (-0.05 + 0.02) × 1.1 = -0.033, of which the percentage is -0.003; with the fee 0.007
    expect(elements.map(({ price, breakdown }) => [price, breakdown])).toEqual([
      [
        nano(0.007),
        {
          commodity: {
            market: nano(-0.05),
            fixed: nano(0.02),
            percentage: nano(-0.003),
            tier: 0n,
            aggregate: nano(-0.033),
          },
          nonCommodity: { fixed: nano(0.04), tier: kwh(3) },
        },
      ],
    ])
  })

  it('add up to the price for any tariff, cover the same time, and cover the interval together with the unpriced time', () => {
    fc.assert(
      fc.property(
        scenarios({ maxRecords: 1 }),
        fc.constantFrom('IMPORT' as const, 'EXPORT' as const, 'LOCAL' as const),
        ({ input, records }, direction) => {
          const from = records[0]?.record.start ?? 0
          const request = { direction, start: from, end: from + 3 * dayMs }
          const [audit, prices] = [priceAudit(snapshotOf(input), request), priceSeries(snapshotOf(input), request)]
          for (const { price, breakdown } of audit.elements) {
            const { market: base, fixed, percentage, aggregate } = breakdown.commodity
            expect(base + fixed + percentage).toBe(aggregate)
            expect(aggregate + breakdown.nonCommodity.fixed).toBe(price)
          }
          expect(audit.unpriced).toEqual(prices.unpriced)
          const spans = [...prices.elements, ...prices.unpriced].sort((a, b) => a.start - b.start)
          expect([spans[0]?.start, spans.at(-1)?.end]).toEqual([request.start, request.end])
          for (const [index, span] of spans.entries()) if (index > 0) expect(span.start).toBe(spans[index - 1]?.end)
          for (const [index, element] of prices.elements.entries()) {
            const last = prices.elements[index - 1]
            expect(
              last?.end === element.start && last.price === element.price && last.confidence === element.confidence,
            ).toBe(false)
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('the steps of a price', () => {
  it('list both components tier by tier from the counted energy', () => {
    const fee = tariff(allDay([rate(0.5, 3), rate(0.25)]), { id: 'trf_fee', type: 'NON_COMMODITY' })
    const snapshot = snapshotOf(pricing('UTC', [tariff(allDay([rate(1, 2), rate(2, 5), rate(3)])), fee]))
    const [span] = evaluate(snapshot, 'IMPORT', start, start + hourMs, () => [{ from: 0, counted: kwh(1) }])
    expect(span === undefined ? [] : priceSteps(span)).toEqual([
      { upTo: kwh(1), price: nano(1.5) },
      { upTo: kwh(2), price: nano(2.5) },
      { upTo: kwh(4), price: nano(2.25) },
      { upTo: null, price: nano(3.25) },
    ])
  })

  it('have the cost of a record of that energy', () => {
    const sameAsRecord = ({ input, records: [first] }: Scenario): void => {
      if (first === undefined || first.record.energyFlowDirection === 'OUTBOUND') return
      const snapshot = snapshotOf(input)
      const impulse = { ...first.record, end: first.record.start }
      const [span] = evaluate(snapshot, impulse.tariffDirection, impulse.start, impulse.start + 1)
      const steps = span === undefined ? [] : priceSteps(span)
      let [from, cost] = [0n, 0n]
      for (const { upTo, price } of steps) {
        const to = upTo === null || upTo > impulse.energy ? impulse.energy : upTo
        if (to > from) cost += (to - from) * price
        from = to > from ? to : from
      }
      const costed = costRecord(snapshot, impulse)
      expect(costed.cost === null).toBe(steps.length === 0)
      if (costed.cost === null) return
      const error = costed.cost * 1_000_000_000n - cost
      expect(error <= 32n * 1_000_000_000n && -error <= 32n * 1_000_000_000n).toBe(true)
    }
    fc.assert(fc.property(scenarios({ maxRecords: 1 }), sameAsRecord), { numRuns: 60 })
  })

  it('at the current tier are the prices of a record without earlier energy', () => {
    const tiers = tariff(allDay([rate(1, 10), rate(2)]))
    const snapshot = snapshotOf(pricing('UTC', [tiers]))
    const counts = new Map([[accumulatorKey('COMMODITY', 'IMPORT', start), kwh(10)]])
    const { record: of } = record('a', '2026-01-02T00:00:00Z', '2026-01-02T01:00:00Z', kwh(1))
    const [span] = evaluate(snapshot, 'IMPORT', of.start, of.end, () => [{ from: 0, counted: kwh(10) }])
    expect(costRecord(snapshot, of, counts).pieces.map(piece => piece.price)).toEqual([span?.price])
  })
})
