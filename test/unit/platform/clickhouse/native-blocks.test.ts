import { describe, expect, it } from 'vitest'
import {
  decodeBlocks,
  encodeBlocksInSteps,
  readColumn,
} from '../../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { text } from '../../../../services/platform/clickhouse/encoding/fast-path/native-types.ts'
import {
  type BatchFailureRow,
  batchFailureColumns,
} from '../../../../services/platform/clickhouse/readings/receipts.ts'

describe('encoding rows as many blocks', () => {
  const errors = batchFailureColumns.filter(({ name }) => name === 'error')
  const failures = Array.from(
    { length: 2_000 },
    (_, at): BatchFailureRow => ({
      accountId: `acc_${'0'.repeat(24)}`,
      liveMode: true,
      batchId: `bat_${'0'.repeat(24)}`,
      recordNumber: at,
      foundLater: false,
      recordReferenceId: null,
      error: `error ${at}`,
      locationId: null,
      deviceId: null,
    }),
  )

  it('has steps of few rows each, and the rows can be read back in order', () => {
    const work = encodeBlocksInSteps(errors, failures)
    let steps = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) steps += 1
    expect(steps).toBe(4)
    const read = decodeBlocks(step.value, (from, count) => readColumn(from, text, count))
    expect(read).toEqual(failures.map(({ error }) => error))
  })
})
