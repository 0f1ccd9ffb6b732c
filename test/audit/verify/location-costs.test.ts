import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costRecords } from '../../support/oracle/cost.ts'
import { scenarios } from '../../support/oracle/generate.ts'
import { locationCosts } from './location-costs.ts'

const numRuns = Number(process.env['SCENARIOS'] ?? 60)

describe('calculation of the audit', () => {
  it('returns exactly the costs of an oracle that calculates minute by minute', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(scenarios({ maxRecords: 8 }), ({ input, records }) => {
        expect(locationCosts(input, records)).toEqual(costRecords(input, records))
      }),
      { numRuns },
    )
  })

  it('returns the same costs for energies that are rounded', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(scenarios({ maxRecords: 8, amounts: 'tiny' }), ({ input, records }) => {
        expect(locationCosts(input, records)).toEqual(costRecords(input, records))
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  })
})
