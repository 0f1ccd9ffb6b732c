import type { RefusedRow } from '../../../domain/interchange/reading.ts'
import { isWorkbook, openArchive, peekChunks } from '../../../platform/interchange/archive.ts'
import { readCsv } from '../../../platform/interchange/csv.ts'
import { isSignedText, textFormatOf } from '../../../platform/interchange/file-format.ts'
import { type ReadReceipts, receiptReader } from '../../../reading-import/await-receipts.ts'
import type { ProcessedBatch } from '../../../reading-import/await-registers.ts'
import { type ServiceCalls, zoneOfLocation } from '../../../reading-import/call-service.ts'
import { type ReadingOptions, readCsvForm } from '../../../reading-import/csv-options.ts'
import { findPreset } from '../../../reading-import/find-preset.ts'
import { type PreviewCollector, previewReadings } from '../../../reading-import/preview-readings.ts'
import type { ReadingBatch } from '../../../reading-import/reading-batch.ts'
import { maxListed, type ReadingSource } from '../../../reading-import/reading-source.ts'
import { batchSender, type SentBatch } from '../../../reading-import/send-batch.ts'
import { importIdentities, sendReadings } from '../../../reading-import/send-readings.ts'
import { headBytes, tableSource } from '../../../reading-import/table-source.ts'
import { UsageError } from '../../../reading-import/usage-error.ts'
import { objectText } from '../kit/object-text.ts'

/** Refused row with the cells of its line. */
export type ShownRefusal = RefusedRow & { readonly cells: readonly string[] }

/** A file that is ready to be read. */
export type OpenedFile = {
  readonly source: ReadingSource
  readonly headings: readonly string[]
}

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

/** Largest content of a compressed file, and its largest multiple of the file. */
const uploadLimits = { bytes: 256 * 2 ** 20, ratio: 200 }
const headerOf = async (first: Uint8Array, options: ReadingOptions): Promise<readonly string[]> => {
  const chunks = async function* () {
    yield first
  }
  // Rows after the header can end in the middle of a cell.
  for await (const [header] of readCsv(chunks(), readCsvForm(options))) if (header !== undefined) return header.cells
  return []
}

/** Return the zone of the location of all readings; null without a location, or if the options name a zone. */
const zoneOfReadings = (
  calls: ServiceCalls,
  { location, zone }: ReadingOptions,
  signal: AbortSignal,
): Promise<string | null> =>
  location === undefined || zone !== undefined
    ? Promise.resolve(null)
    : zoneOfLocation(calls, objectText(location), signal)

/**
 * Open an uploaded file. `onHeadings` receives the headings before the options are checked, so that a wrong choice of columns
 * can be corrected. Throws `UsageError` for wrong options, `CallError`, and `Failure` for a damaged file.
 */
export const openUpload = async (
  bytes: AsyncIterable<Uint8Array>,
  options: ReadingOptions,
  { calls, signal }: { readonly calls: ServiceCalls; readonly signal: AbortSignal },
  onHeadings: (headings: readonly string[]) => void,
): Promise<OpenedFile> => {
  const { first, all } = await peekChunks(openArchive(bytes, { keepsWorkbook: true, limits: uploadLimits }), headBytes)
  if (isSignedText(first) || isWorkbook(first) || textFormatOf(first) === 'xml')
    throw new UsageError('This page reads CSV files. Import other files with "npx wattledger import readings".')
  const preset = findPreset(first, options)
  const headings = preset.reader === undefined ? await headerOf(first, preset.options) : []
  onHeadings(headings)
  const locationZone = await zoneOfReadings(calls, preset.options, signal)
  const source = tableSource(all, preset, locationZone)
  return { source, headings }
}

type RunOptions = {
  readonly file: OpenedFile
  readonly calls: ServiceCalls
  /** Check the readings and send nothing. */
  readonly isPreview: boolean
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
export const startImport = ({ file, calls, isPreview, at, signal, beforeBatch }: RunOptions) => {
  const { source } = file
  const run: ImportRun = {
    ...{ accepted: 0, sent: 0, refusedCount: 0, refused: [], unknown: 0 },
    preview: isPreview ? previewReadings(source) : null,
    receipts: { pending: 0, replaced: null },
  }
  const receipts = receiptReader(calls, () => undefined, signal)
  const commit = (batch: ReadingBatch, result: ProcessedBatch): void => {
    for (const row of result.refused) {
      run.refusedCount += 1
      if (run.refused.length < maxListed) run.refused.push({ ...row, cells: source.cellsOf(row.line) })
    }
    run.preview?.add(batch, result.refused)
    source.forget(batch.lastLine)
    run.accepted += result.accepted
    run.unknown += result.unknown
    receipts.add(result.batchIds)
  }
  const sender = batchSender({ client: calls, isDryRun: isPreview, at, signal, onWait: () => undefined })
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
