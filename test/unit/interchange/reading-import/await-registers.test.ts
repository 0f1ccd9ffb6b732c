import { expect, it } from 'vitest'
import { registerWaiter } from '../../../../services/interchange/reading-import/await-registers.ts'
import type { SentBatch } from '../../../../services/interchange/reading-import/send-batch.ts'
import type { ServiceCalls } from '../../../../services/platform/call-service.ts'

const failure = (recordNumber: number) => ({ record_num: recordNumber, error: 'register_decreased: it fell' })

/** Receipts by batch, as the service answers the first and each later request. */
const receipts: Readonly<Record<string, readonly unknown[]>> = {
  bat_1: [
    { status: 'PROCESSING' },
    { status: 'COMPLETE', records_replaced: 2, failed_records: [failure(1), failure(2)] },
  ],
  bat_2: [{ status: 'COMPLETE', records_replaced: 3, failed_records: [] }],
  bat_3: [null],
}

it('receipts of registers are read once, after the readings are processed', async () => {
  const requests: string[] = []
  const call = async (_: string, path: string) => {
    const id = path.slice('/meters/batch/'.length)
    const answers = receipts[id] ?? []
    const body = answers[Math.min(requests.filter(one => one === id).length, answers.length - 1)]
    requests.push(id)
    return { status: body === null ? 403 : 200, body, retryAfterMs: null }
  }
  const wait = registerWaiter({ call: call as ServiceCalls['call'] }, new AbortController().signal)
  const lines = [2, 3]
  const sent: SentBatch = {
    accepted: 5,
    checked: [],
    refused: [],
    batchIds: ['bat_0', 'bat_1', 'bat_2', 'bat_3'],
    warnings: [],
    registers: [
      // The service refused the first reading at once.
      { batchId: 'bat_1', lines, refused: new Set([1]) },
      { batchId: 'bat_2', lines, refused: new Set() },
      { batchId: 'bat_3', lines, refused: new Set() },
    ],
  }
  const { refused, accepted, batchIds, replaced, unknown } = await wait(sent)
  expect(requests.toSorted()).toEqual(['bat_1', 'bat_1', 'bat_2', 'bat_3'])
  expect(refused).toMatchObject([{ line: 3, code: 'register_decreased' }])
  // The receipts of intervals, and those that cannot be read, are read at the end.
  expect({ accepted, batchIds, replaced, unknown }).toEqual({
    accepted: 4,
    batchIds: ['bat_0', 'bat_3'],
    replaced: 5,
    unknown: 2,
  })
})
