import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { priceAudit } from '../../../services/domain/price/price-series.ts'
import { copyPricing, mostPieces, openPricingCopy } from '../../../services/domain/price/pricing-copy.ts'
import { planPrices } from '../../../services/domain/schedule/plan-prices.ts'
import { pricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import { countAll } from '../../support/oracle/count-all.ts'
import { scenarios } from '../../support/oracle/generate.ts'

const day = 86_400_000
const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

describe('the copy of a pricing', () => {
  it('prices its span as the pricing does, for any tariffs, after it was sent to another thread', () => {
    fc.assert(
      fc.property(
        scenarios({ mostRecords: 5 }),
        fc.constantFrom(...directions),
        fc.integer({ min: -40 * day, max: 40 * day }),
        fc.integer({ min: 1, max: 10 * day }),
        ({ input, records }, direction, shift, length) => {
          const snapshot = compileSnapshot(input, pricingPool())
          const start = (records[0]?.record.start ?? 0) + shift
          const span = { start, end: start + length }
          const counted = countAll({ snapshot, direction, records })
          const copy = openPricingCopy(structuredClone(copyPricing(snapshot, directions, span)))
          const request = { direction, ...span, counted }
          const audit = priceAudit(snapshot, request)
          expect(priceAudit(copy, request)).toEqual(audit)
          expect(planPrices(copy, direction, span, counted)).toEqual(planPrices(snapshot, direction, span, counted))
          expect(priceAudit(snapshot, { ...request, counted: () => [] }).elements.length).toBeLessThanOrEqual(
            mostPieces(snapshot, direction, span),
          )
        },
      ),
      { numRuns: 100 },
    )
  })
})
