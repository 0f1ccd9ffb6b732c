import { expect, it } from 'vitest'
import { statusOf } from '../../../../services/domain/cost/cost-record.ts'

it.each([
  ['PRICED', 1_000_000, 'PRICED'],
  ['PRICED', 999_999, 'PROVISIONAL'],
  ['PRICED', 0, 'PROVISIONAL'],
  ['UNPRICED', 0, 'UNPRICED'],
] as const)('a cost that is %s at a price confidence of %i is stored as %s', (status, priceConfidence, stored) => {
  expect(statusOf({ status, priceConfidence })).toBe(stored)
})
