import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { BilledRow } from '../../../../services/domain/statement/billed-row.ts'
import { addRow, createEnergyBuckets } from '../../../../services/domain/statement/energy-sums.ts'
import { provisionalTimes, uncertainWithin } from '../../../../services/domain/statement/uncertain-energy.ts'

const flows = [
  { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' },
  { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' },
  { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' },
  { energyFlowDirection: 'OUTBOUND', tariffDirection: 'IMPORT' },
] as const

/** Confidences of prices in 1e-6: published, forecasts, and after a contract. */
const priceConfidences = fc.constantFrom(1_000_000, 999_900, 731_200, 800_000, 200_000, 100)
const pieceLengths = fc.array(fc.record({ hours: fc.integer({ min: 1, max: 5 }), confidence: priceConfidences }), {
  minLength: 1,
  maxLength: 5,
})

/** Row with 1e-6 Wh in each ms of its pieces, so that each part has as much energy as ms. */
const rows = fc
  .record({
    flow: fc.constantFrom(...flows),
    start: fc.integer({ min: -3, max: 40 }),
    recordConfidence: fc.constantFrom(1_000_000, 999_999, 500_000),
    isPriced: fc.boolean(),
    lengths: pieceLengths,
  })
  .map(({ flow, start, recordConfidence, isPriced, lengths }): BilledRow => {
    let at = start
    const pieces = lengths.map(({ hours, confidence }) => {
      const piece = { start: at, end: at + hours, energy: BigInt(hours), cost: 0n, confidence, price: 0n }
      at += hours
      return { ...piece, nonCommodityPrice: 0n, commodityId: null, nonCommodityId: null, whole: null }
    })
    const energy = BigInt(at - start)
    return { ...flow, start, end: at, energy, cost: isPriced ? 0n : null, recordConfidence, pieces }
  })

const edges = [0, 10, 25, 40]

it('estimates, forecasts and prices after a contract add up in each bucket, and provisional times have their energy', () => {
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 8 }), all => {
      const sums = createEnergyBuckets(edges, [], false)
      for (const row of all) addRow(sums, row)
      const billed = all.filter(
        ({ cost, tariffDirection, energyFlowDirection }) =>
          cost !== null &&
          tariffDirection !== 'LOCAL' &&
          !(tariffDirection === 'IMPORT' && energyFlowDirection === 'OUTBOUND'),
      )
      // Ms by ms: which have an estimate, and which a provisional price.
      const within = (from: number, to: number) => {
        let [estimatedEnergy, provisionalEnergy] = [0n, 0n]
        for (const { recordConfidence, pieces } of billed)
          for (const { start, end, confidence } of pieces)
            for (let at = Math.max(from, start); at < Math.min(to, end); at += 1) {
              if (recordConfidence < 1_000_000) estimatedEnergy += 1n
              if (confidence < 1_000_000) provisionalEnergy += 1n
            }
        return { estimatedEnergy, provisionalEnergy }
      }
      for (let bucket = 0; bucket < 3; bucket += 1)
        expect(uncertainWithin(sums.uncertain, bucket, bucket + 1)).toEqual(
          within(edges[bucket] ?? 0, edges[bucket + 1] ?? 0),
        )
      const times = provisionalTimes(sums.uncertain)
      for (const { start, end, energy } of times) expect(energy).toBe(within(start, end).provisionalEnergy)
      expect(times.reduce((sum, { energy }) => sum + energy, 0n)).toBe(within(0, 40).provisionalEnergy)
      // The times are apart from each other.
      for (const [index, { start }] of times.entries()) expect(start).toBeGreaterThan(times[index - 1]?.end ?? -1)
    }),
    { numRuns: 300 },
  )
})
