import { describe, expect, it } from 'vitest'
import { clickHouseFailure } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { Failure } from '../../../../services/platform/failure.ts'
import { isOutage } from '../../../../services/query-service/statement-batches/process-page.ts'

describe('a failure of a page of statements', () => {
  it('counts as an attempt if the work of the page can be the cause', () => {
    expect(isOutage(clickHouseFailure(159, new Error('Timeout exceeded')))).toBe(false)
    expect(isOutage(new Failure('work_thread_lost', 'The thread has ended.', { retriable: true }))).toBe(false)
    expect(isOutage(new TypeError('A fault.'))).toBe(false)
  })

  it('does not count if a store is unavailable: the page waits', () => {
    expect(isOutage(clickHouseFailure(210, new Error('Connection refused')))).toBe(true)
    expect(isOutage(clickHouseFailure(202, new Error('Too many queries')))).toBe(true)
  })
})
