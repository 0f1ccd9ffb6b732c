import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { billsWithFinals } from '../../../support/bill-comparison/bills-with-finals.ts'
import { domainStatement } from '../../../support/bill-comparison/domain-statement.ts'
import { shownStatement } from '../../../support/bill-comparison/shown-statement.ts'
import type { BillInput } from '../../../support/bill-oracle/bill-input.ts'
import { billStatement } from '../../../support/bill-oracle/bill-statement.ts'

const numRuns = Number(process.env['BILL_RUNS'] ?? 12)
const seed = process.env['BILL_SEED'] === undefined ? {} : { seed: Number(process.env['BILL_SEED']) }
const pool = createPricingPool()

/** Statement of the oracle without the dates of the request. */
const expected = (bill: BillInput): object => {
  const { start_date: _, end_date: __, ...statement } = billStatement(bill)
  return statement
}

describe('a statement agrees with the oracle', () => {
  it('in every member, to the last digit', () => {
    fc.assert(
      fc.property(billsWithFinals, bill => {
        expect(shownStatement(domainStatement(bill, pool))).toEqual(expected(bill))
      }),
      { numRuns, ...seed },
    )
  }, 3_600_000)
})
