import type { ServiceCalls } from '../../platform/call-service.ts'
import type { RefusedRow } from '../domain/reading.ts'
import { type ReadReceipts, receiptReader } from '../reading-import/await-receipts.ts'
import type { ProcessedBatch } from '../reading-import/await-registers.ts'
import { type PreviewCollector, previewReadings } from '../reading-import/preview-readings.ts'
import type { ReadingBatch } from '../reading-import/reading-batch.ts'
import { maxListed } from '../reading-import/reading-source.ts'
import { batchSender, type SentBatch } from '../reading-import/send-batch.ts'
import { importIdentities, sendReadings } from '../reading-import/send-readings.ts'
import type { OpenedFile } from './open-upload.ts'

/** Refused row with the cells of its line. */
export type ShownRefusal = RefusedRow & { readonly cells: readonly string[] }

/** State of a running import, and its result at the end. */
export type ImportRun = {
  accepted: number
  /** Readings that the service accepted, also those of batches whose results are not complete. */
  sent: number
  refusedCount: number
  /** The first refused rows. */
  readonly refused: ShownRefusal[]
  /** Readings and sums; null in an import. */
  readonly preview: PreviewCollector | null
  unknown: number
  receipts: ReadReceipts
}

type RunOptions = {
  readonly file: OpenedFile
  readonly calls: ServiceCalls
  /** Check the readings and send nothing. */
  readonly isPreview: boolean
  readonly importId: string
  /** Time of the import in ms. */
  readonly at: number
  readonly signal: AbortSignal
  /** Called before a batch is sent. */
  readonly beforeBatch: () => Promise<void>
}

/**
 * Start an import or its preview. Both read the same rows by the same rules: a preview checks each reading as the service
 * does. `run` changes with each batch. `done` throws `UsageError`, `CallError` or `Failure`;
 * the batches that were sent before are stored. `settle` waits until no batch is on its way.
 * Source: docs/rules/imports.md #laws.
 */
export const startImport = ({ file, calls, isPreview, importId, at, signal, beforeBatch }: RunOptions) => {
  const { source } = file
  const run: ImportRun = {
    accepted: 0,
    sent: 0,
    refusedCount: 0,
    refused: [],
    unknown: 0,
    preview: isPreview ? previewReadings(source) : null,
    receipts: { pending: 0, replaced: null },
  }
  const receipts = receiptReader(calls, () => undefined, signal)
  const commit = async (lastLine: number, result: ProcessedBatch): Promise<void> => {
    const failures = (await run.preview?.add(result.checked)) ?? []
    for (const row of [...result.refused, ...failures]) {
      run.refusedCount += 1
      if (run.refused.length < maxListed) run.refused.push({ ...row, cells: source.cellsOf(row.line) })
    }
    source.forget(lastLine)
    run.accepted += result.accepted - failures.length
    run.unknown += result.unknown
    receipts.add(result.batchIds, result.replaced)
  }
  const sender = batchSender({ client: calls, isDryRun: isPreview, importId, at, signal, onWait: () => undefined })
  const batches = new Set<Promise<SentBatch>>()
  const sendOne = async (batch: ReadingBatch): Promise<SentBatch> => {
    signal.throwIfAborted()
    if (!isPreview) await beforeBatch()
    const result = await sender.send(batch)
    run.sent += result.accepted
    return result
  }
  const sendBatch = (batch: ReadingBatch): Promise<SentBatch> => {
    const sent = sendOne(batch)
    batches.add(sent)
    const forget = (): boolean => batches.delete(sent)
    sent.then(forget, forget)
    return sent
  }
  const send = async (): Promise<void> => {
    await sendReadings({
      source,
      sender: { send: sendBatch },
      client: calls,
      identities: importIdentities(),
      commit,
      from: 0,
      signal,
    })
    if (!isPreview) run.receipts = await receipts.end()
  }
  const done = send()
  const settle = async (): Promise<void> => {
    await Promise.allSettled([done])
    await Promise.allSettled(batches)
  }
  return { run, done, settle }
}
