import { expect, it } from 'vitest'
import type { Bill } from '../../../../services/domain/simulation/bill.ts'
import { billOf } from '../../../../services/domain/simulation/bill.ts'
import { addLocationBills, emptySums } from '../../../../services/domain/simulation/simulation-sums.ts'
import { billOf as statementOf } from '../statement/bill.ts'

const charges = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({ kind: 'FIXED', name: `fee ${from + index}`, price: '1', per: 'DAY' }))

const bill = (count: number, from = 0): Bill =>
  billOf(
    statementOf({ charges: charges(count, from), statement: { start_date: '2026-06-01', end_date: '2026-06-02' } }),
    { charges: [], days: { startDay: 0, endDay: 1 }, hasLines: true },
  )

it('a bill of some locations has at most 500 different lines, of which equal ones are one line', () => {
  const add = (sums: ReturnType<typeof emptySums>, one: Bill) =>
    addLocationBills(sums, { locationId: `loc_${one.lines.length}`, bills: [one, bill(0)] })
  const first = add(emptySums(1, false), bill(200))
  if (!first.ok) throw new Error(first.refusal.message)
  const second = add(first.value, bill(300, 100))
  if (!second.ok) throw new Error(second.refusal.message)
  const full = add(second.value, bill(100, 400))
  if (!full.ok) throw new Error(full.refusal.message)
  expect(full.value.bills.map(({ lines }) => lines.length)).toEqual([500, 0])
  expect(add(full.value, bill(1, 499)).ok).toBe(true)
  expect(add(full.value, bill(1, 500))).toMatchObject({
    refusal: {
      code: 'too_many_lines',
      field: 'lines',
      message: 'A bill must have at most 500 different lines. Simulate fewer locations, or without lines',
    },
  })
})
