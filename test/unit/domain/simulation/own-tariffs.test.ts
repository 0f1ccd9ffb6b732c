import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayMs } from '../../../../services/domain/interval.ts'
import { standingDaysOf } from '../../../../services/domain/simulation/bill.ts'
import { type Candidate, simulateLocation } from '../../../../services/domain/simulation/simulate-location.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { chargeOf } from '../../../support/acceptance/read-charge.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { histories } from '../../../support/history/generate-history.ts'
import { simulatedHistory } from '../../../support/history/simulated-history.ts'

/** Number of histories. A long run has 500. */
const count = Number(process.env['SIMULATED_HISTORIES'] ?? 40)
const seed = Number(process.env['HISTORY_SEED'] ?? 14)

const charges = [
  { kind: 'FIXED', name: 'month', price: '9.99', per: 'MONTH' },
  { kind: 'USAGE', name: 'levy', price: '0.0205' },
  { kind: 'USAGE', name: 'net', price: '0.013', counts: 'NET_IMPORT' },
  { kind: 'DEMAND', name: 'peak', interval_minutes: '15', price: '4.1' },
  { kind: 'SESSION', name: 'time', per: 'MINUTE', price: '0.013' },
  { kind: 'MINIMUM', name: 'least', amount: '55.123', per: 'MONTH' },
  { kind: 'PERCENTAGE', name: 'tax', rate: '0.19', base: { directions: ['IMPORT', 'EXPORT'] } },
].map((wire, index) => chargeOf(wire, `chg_${index}`))

const pool = createPricingPool()

describe(`${count} random histories`, () => {
  it('with their own tariffs as a candidate have the stored bill, to the last digit', {
    timeout: 20_000 + count * 200,
  }, () => {
    fc.assert(
      fc.property(
        histories,
        fc.constantFrom(-2, 0, 1, 3),
        fc.constantFrom(1, 4, 40),
        fc.boolean(),
        (history, firstDay, days, includesDevices) => {
          const from = history.monthStart + firstDay * dayMs + dayMs / 2
          const { location, tariffs, own } = simulatedHistory(history, { from, days, includesDevices }, pool)
          const stored: Candidate = { snapshot: null, tariffs, charges }
          const [baseline, candidate] = acceptedValue(
            simulateLocation(location, [stored, { ...stored, snapshot: own }]),
          )
          expect(candidate).toEqual(baseline)
          expect(candidate === undefined ? null : standingDaysOf(candidate)).toBe(days)
        },
      ),
      { numRuns: count, seed },
    )
  })
})
