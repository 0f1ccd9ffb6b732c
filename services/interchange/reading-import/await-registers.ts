import { setTimeout as sleep } from 'node:timers/promises'
import { toSentence } from '../../contract/error.ts'
import type { MeterBatchWire } from '../../contract/metering/meter-batch.ts'
import type { ServiceCalls } from '../../platform/call-service.ts'
import { semaphore } from '../../platform/concurrency/semaphore.ts'
import { type RefusedRow, type RowCode, refusedRow } from '../domain/reading.ts'
import type { SentBatch, SentRegister } from './send-batch.ts'

/** Time for which the receipt of a register is awaited, and time between two requests, in ms. */
const [maxWaitMs, pollMs] = [60_000, 100]
const concurrentReads = 4

/**
 * Return a function that returns the receipt of a submission that is processed; null if the key cannot read it, or after
 * 60 s. After a receipt that took longer, the others are requested once each, until one is processed.
 */
const receiptWaiter = (client: ServiceCalls, signal: AbortSignal) => {
  let waitMs = maxWaitMs
  return async (batchId: string): Promise<MeterBatchWire | null> => {
    for (const since = performance.now(); ; await sleep(pollMs, undefined, { signal })) {
      const { status, body } = await client.call<MeterBatchWire>('GET', `/meters/batch/${batchId}`)
      if (status === 403) return null
      if (status === 200 && body?.status === 'COMPLETE') {
        waitMs = maxWaitMs
        return body
      }
      if (performance.now() - since < waitMs) continue
      waitMs = 0
      return null
    }
  }
}

/** Return the readings of a register that failed when the service made the intervals. */
const laterFailures = (
  { lines, refused }: SentRegister,
  { failed_records: failed }: MeterBatchWire,
): readonly RefusedRow[] =>
  failed.flatMap(({ record_num: recordNumber, error }) => {
    const line = refused.has(recordNumber) ? undefined : lines[recordNumber - 1]
    const [, code = 'field_invalid', message = error] = /^([a-z_]+): (.*)$/s.exec(error) ?? []
    return line === undefined ? [] : [refusedRow(line, 'register', code as RowCode, toSentence(message))]
  })

/**
 * A batch whose register readings are processed. `batchIds` are those whose receipts are not read. `replaced`: records that
 * the others replaced. `unknown`: readings whose later failures are not known.
 */
export type ProcessedBatch = SentBatch & { readonly replaced: number; readonly unknown: number }

/**
 * Return a function that waits until the service has processed the register readings of a batch. It returns the batch with
 * the readings that failed then as refused rows, such as a reading below the one before it.
 * Source: docs/rules/imports.md #csv.
 */
export const registerWaiter = (client: ServiceCalls, signal: AbortSignal) => {
  const awaitReceipt = receiptWaiter(client, signal)
  const limited = semaphore(concurrentReads)
  return async (sent: SentBatch): Promise<ProcessedBatch> => {
    const receipts = await Promise.all(sent.registers.map(({ batchId }) => limited(() => awaitReceipt(batchId))))
    const failures: RefusedRow[] = []
    const read = new Set<string>()
    let [replaced, unknown] = [0, 0]
    for (const [index, register] of sent.registers.entries()) {
      const receipt = receipts[index] ?? null
      if (receipt === null) unknown += register.lines.length - register.refused.size
      else {
        failures.push(...laterFailures(register, receipt))
        read.add(register.batchId)
        replaced += receipt.records_replaced
      }
    }
    const batchIds = sent.batchIds.filter(id => !read.has(id))
    if (failures.length === 0) return { ...sent, batchIds, replaced, unknown }
    const refused = [...sent.refused, ...failures].sort((a, b) => a.line - b.line)
    return { ...sent, batchIds, refused, replaced, unknown, accepted: sent.accepted - failures.length }
  }
}
