import { setTimeout as sleep } from 'node:timers/promises'
import { toSentence } from '../contract/error.ts'
import type { MeterBatchWire } from '../contract/metering/meter-batch.ts'
import { type RefusedRow, type RowCode, refusedRow } from '../domain/interchange/reading.ts'
import type { ServiceCalls } from './call-service.ts'
import type { SentBatch, SentRegister } from './send-batch.ts'

/** Time for which the receipt of a register is awaited, and time between two requests, in ms. */
const [maxWaitMs, pollMs] = [60_000, 100]

/** Return the receipt of a submission that is processed; null if the key cannot read it, or after 60 s. */
const awaitReceipt = async (
  batchId: string,
  client: ServiceCalls,
  signal: AbortSignal,
): Promise<MeterBatchWire | null> => {
  for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; ) {
    const { status, body } = await client.call<MeterBatchWire>('GET', `/meters/batch/${batchId}`)
    if (status === 403) return null
    if (status === 200 && body?.status === 'COMPLETE') return body
    await sleep(pollMs, undefined, { signal })
  }
  return null
}

/** Return the readings of a register that failed when the service made the intervals; null if that is not known. */
const laterFailures = async (
  { batchId, readings }: SentRegister,
  client: ServiceCalls,
  signal: AbortSignal,
): Promise<readonly RefusedRow[] | null> => {
  const receipt = await awaitReceipt(batchId, client, signal)
  if (receipt === null) return null
  return receipt.failed_records.flatMap(({ record_num: recordNumber, error }) => {
    const reading = readings.get(recordNumber)
    const [, code = 'field_invalid', message = error] = /^([a-z_]+): (.*)$/s.exec(error) ?? []
    return reading === undefined ? [] : [refusedRow(reading.line, 'register', code as RowCode, toSentence(message))]
  })
}

/** A batch whose register readings are processed. `unknown`: readings whose later failures are not known. */
export type ProcessedBatch = SentBatch & { readonly unknown: number }

/**
 * Wait until the service has processed the register readings of a batch. Returns the batch with the readings that failed
 * then as refused rows, such as a reading below the one before it.
 * Source: docs/rules/imports.md #csv.
 */
export const awaitRegisters = async (
  sent: SentBatch,
  client: ServiceCalls,
  signal: AbortSignal,
): Promise<ProcessedBatch> => {
  const failures: RefusedRow[] = []
  let unknown = 0
  for (const register of sent.registers) {
    const failed = await laterFailures(register, client, signal)
    if (failed === null) unknown += register.readings.size
    else failures.push(...failed)
  }
  if (failures.length === 0) return { ...sent, unknown }
  const refused = [...sent.refused, ...failures].sort((a, b) => a.line - b.line)
  return { ...sent, refused, unknown, accepted: sent.accepted - failures.length }
}
