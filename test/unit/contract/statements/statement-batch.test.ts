import { expect, it } from 'vitest'
import { readShape } from '../../../../services/contract/read-shape.ts'
import { statementBatchCreate } from '../../../../services/contract/statements/statement-batch.ts'
import { maxBatchLocations } from '../../../../services/domain/statement/statement-batch.ts'

const read = (body: object) => {
  const result = readShape(statementBatchCreate.body ?? expect.fail(), body, 'body')
  return result.ok ? null : [result.refusal.code, result.refusal.field, result.refusal.message]
}

const days = { start_date: '2026-05-01', end_date: '2026-06-01' }
const ids = (count: number) => Array.from({ length: count }, (_, n) => `loc_${String(n).padStart(24, '0')}`)

it('a batch has at most 100,000 locations', () => {
  expect(read({ ...days, object_ids: ids(maxBatchLocations) })).toBeNull()
  const [code, field, message] = read({ ...days, object_ids: ids(maxBatchLocations + 1) }) ?? []
  expect([code, field]).toEqual(['value_out_of_range', 'object_ids'])
  expect(message).toContain('at most 100000 locations')
})

it('a batch has one selection of locations', () => {
  expect(read({ ...days, all: true })).toBeNull()
  expect(read({ ...days, all: false })?.[1]).toBe('all')
  expect(read({ ...days, all: true, plan_id: 'pln_1' })?.[1]).toBe('all')
  expect(read({ ...days, customer_id: 'cus_1', plan_id: 'pln_1' })?.[1]).toBe('plan_id')
})
