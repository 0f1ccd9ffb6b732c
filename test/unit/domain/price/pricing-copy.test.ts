import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { priceAudit } from '../../../../services/domain/price/price-series.ts'
import { copyPricing, maxPieces, snapshotFromCopy } from '../../../../services/domain/price/pricing-copy.ts'
import { planPrices } from '../../../../services/domain/schedule/plan-prices.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../../../services/domain/tariff/tariff.ts'
import { countAll } from '../../../support/oracle/count-all.ts'
import { scenarios } from '../../../support/oracle/generate.ts'

const dayMs = 86_400_000
const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

describe('the copy of a pricing', () => {
  it('prices its span as the pricing does, for any tariffs, after it was sent to another thread', () => {
    fc.assert(
      fc.property(
        scenarios({ maxRecords: 5 }),
        fc.constantFrom(...directions),
        fc.integer({ min: -40 * dayMs, max: 40 * dayMs }),
        fc.integer({ min: 1, max: 10 * dayMs }),
        ({ input, records }, direction, shift, length) => {
          const snapshot = compileSnapshot(input, createPricingPool())
          const start = (records[0]?.record.start ?? 0) + shift
          const span = { start, end: start + length }
          const counted = countAll({ snapshot, direction, records })
          const copy = snapshotFromCopy(structuredClone(copyPricing(snapshot, directions, span)))
          const request = { direction, ...span, counted }
          const audit = priceAudit(snapshot, request)
          expect(priceAudit(copy, request)).toEqual(audit)
          expect(copy.directions[direction].isTiered).toEqual(snapshot.directions[direction].isTiered)
          expect(planPrices(copy, direction, span, counted)).toEqual(planPrices(snapshot, direction, span, counted))
          expect(priceAudit(snapshot, { ...request, counted: () => [] }).elements.length).toBeLessThanOrEqual(
            maxPieces(snapshot, direction, span),
          )
        },
      ),
      { numRuns: 100 },
    )
  })
})
