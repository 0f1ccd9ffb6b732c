import { expect, it } from 'vitest'
import { startBatch } from '../../../../services/interchange/reading-import/reading-batch.ts'
import { batchSender } from '../../../../services/interchange/reading-import/send-batch.ts'
import { CallError, type ServiceCalls } from '../../../../services/platform/call-service.ts'

it('after a refusal, the registers of a batch that wait are not sent', async () => {
  const batch = startBatch()
  for (let line = 1; line <= 40; line += 1)
    batch.add({
      line,
      location: { reference: 'depot' },
      device: { reference: `meter ${line}` },
      start: Date.UTC(2026, 0, 1),
      end: Date.UTC(2026, 0, 1),
      value: '1',
      units: 'WH',
      isRegister: true,
      isRestart: false,
      directions: null,
      confidence: null,
      sessionReferenceId: null,
      recordReferenceId: null,
    })
  let requests = 0
  const call = async () => {
    requests += 1
    return { status: 401, body: null, retryAfterMs: null }
  }
  const { signal } = new AbortController()
  const sender = batchSender({
    client: { call: call as ServiceCalls['call'] },
    signal,
    onWait: () => undefined,
    isDryRun: false,
    importId: 'import-1',
    at: Date.UTC(2026, 0, 2),
  })
  await expect(sender.send(batch.build())).rejects.toThrow(CallError)
  await new Promise(setImmediate)
  expect(requests).toBe(16)
})
