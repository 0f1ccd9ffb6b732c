import { CallError } from '../../../platform/call-service.ts'
import { isFailure } from '../../../platform/failure.ts'
import { type ReadReceipts, receiptReader } from '../../reading-import/await-receipts.ts'
import type { ProcessedBatch } from '../../reading-import/await-registers.ts'
import { type ImportWarning, sumWarnings } from '../../reading-import/import-warnings.ts'
import { type PreviewCollector, previewReadings } from '../../reading-import/preview-readings.ts'
import type { ReadingSource } from '../../reading-import/reading-source.ts'
import { batchSender } from '../../reading-import/send-batch.ts'
import { importIdentities, sendReadings } from '../../reading-import/send-readings.ts'
import { isUndone } from '../../reading-import/undo-import.ts'
import {
  type ImportPaths,
  type ImportState,
  pathsBeside,
  readState,
  removeState,
  type SourceFile,
  saveState,
} from './import-files.ts'
import { type ImportReport, noRowsRemark, remarksOfReceipts, uncomparedRemark } from './import-report.ts'
import type { ImportTarget } from './import-target.ts'
import type { ImportProgress } from './progress.ts'
import { hasKeptRows, openRefusedFile, type RefusedFile } from './refused-file.ts'
import { undoCommand } from './undo-import.ts'

export type ReadingImport = {
  readonly file: SourceFile
  readonly source: ReadingSource
  readonly target: ImportTarget
  readonly progress: ImportProgress
  readonly isDryRun: boolean
  /** Text of the options, account and address: an import with others starts from the first line. Null: never continue. */
  readonly stateOptions: string | null
  /** Time of the import in ms. */
  readonly at: number
  readonly signal: AbortSignal
}

/** Minimum time between two writes of the state, in ms. */
const stateMs = 500

type Run = {
  readonly importId: string
  readonly preview: PreviewCollector | null
  readonly options: ReadingImport
  readonly refused: RefusedFile
  readonly statePath: string | null
  line: number
  accepted: number
  savedAt: number
  /** Readings of registers whose later failures are not known. */
  unknown: number
  warnings: readonly ImportWarning[]
  readonly receipts: ReturnType<typeof receiptReader>
}

/** Store the result of a batch. Batches are committed in file order. */
const commitBatch = async (run: Run, lastLine: number, result: ProcessedBatch): Promise<void> => {
  const { source, file, progress, stateOptions } = run.options
  const failures = (await run.preview?.add(result.checked)) ?? []
  run.refused.begin()
  for (const row of [...result.refused, ...failures]) run.refused.add(row, source.cellsOf(row.line))
  source.forget(lastLine)
  run.line = lastLine
  run.accepted += result.accepted - failures.length
  run.unknown += result.unknown
  run.warnings = sumWarnings([...run.warnings, ...result.warnings])
  run.receipts.add(result.batchIds, result.replaced)
  progress.show(source.counts().rows, run.refused.count())
  if (run.statePath === null || stateOptions === null || performance.now() - run.savedAt < stateMs) return
  run.savedAt = performance.now()
  saveState(run.statePath, stateOf(run, file.sha256(), stateOptions))
}

const stateOf = (run: Run, sha256: string, options: string): ImportState => ({
  sha256,
  importId: run.importId,
  options,
  line: run.line,
  accepted: run.accepted,
  refused: run.refused.count(),
  refusedBytes: run.refused.bytes(),
})

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Error of a file or the service that ends an import, after the earlier rows were stored. */
const isFault = (error: unknown): boolean => isFailure(error) || error instanceof CallError

/** State of an earlier run that continues, or a remark why the import begins at line 1. */
type EarlierRun = { readonly kept: ImportState | null; readonly remark?: string }

/** Return the state of an earlier run that continues, or why its state is not enough to continue. */
const findEarlierRun = async (
  { file, stateOptions, target: { client }, signal }: ReadingImport,
  paths: ImportPaths,
): Promise<EarlierRun> => {
  if (paths.state === null || stateOptions === null) return { kept: null }
  const kept = readState(paths.state, { sha256: file.sha256(), options: stateOptions })
  if (kept === null) return { kept }
  if (await isUndone(client, kept.importId, signal))
    return { kept: null, remark: 'The interrupted import was undone, so this import began at line 1.' }
  if (await hasKeptRows(paths.refused, kept)) return { kept }
  const remark = `${paths.refused} was removed or changed, so the import began at line 1 again. Each record counts once.`
  return { kept: null, remark }
}

/** How a run ended. `uncomparedFrom`: line from which identities were not compared; null if all were. */
type RunEnd = {
  readonly earlier: EarlierRun
  readonly uncomparedFrom: number | null
  readonly receipts: ReadReceipts
  readonly error: string | undefined
}

const reportOf = (run: Run, { earlier, uncomparedFrom, receipts, error }: RunEnd): ImportReport => {
  const { options, refused } = run
  const { kept, remark } = earlier
  const { file, source, isDryRun } = options
  const hasNoRows = source.counts().rows === 0 && error === undefined
  const remarks = [
    ...(source.remarks ?? []),
    ...(remark === undefined ? [] : [remark]),
    ...(hasNoRows ? [noRowsRemark] : []),
    ...(uncomparedFrom === null ? [] : [uncomparedRemark(uncomparedFrom)]),
    ...(isDryRun || error !== undefined
      ? []
      : remarksOfReceipts({ ...receipts, ...run, forgotten: run.receipts.forgotten() })),
  ]
  return {
    format: source.format,
    file: file.name,
    sha256: file.sha256(),
    dry_run: isDryRun,
    ...source.counts(),
    accepted: run.accepted,
    created: 0,
    unchanged: 0,
    refused_rows: refused.count(),
    refused: refused.listed(),
    refused_file: refused.path(),
    ...(kept === null ? {} : { resumed_at_line: kept.line + 1 }),
    ...(remarks.length === 0 ? {} : { remarks }),
    imported: [],
    not_imported: source.notes().notImported,
    noted: source.notes().noted,
    ...(isDryRun || run.accepted === 0
      ? {}
      : { import_id: run.importId, undo: undoCommand(run.importId, options.target) }),
    batches_pending: receipts.pending,
    replaced: receipts.replaced,
    warnings: run.warnings,
    ...(run.preview === null ? {} : { preview: run.preview.end() }),
    ...(error === undefined ? {} : { error }),
  }
}

/**
 * Import the readings of a file: send batches, keep the state after each, continue an interrupted import at the line after
 * the last acknowledged one. If its refused rows are lost, begin at line 1. A fault is in the report, and the state stays.
 * Throws `UsageError` for columns that give no readings, and the reason of an aborted `signal`; then the state stays too.
 * Source: docs/rules/imports.md #continue.
 */
export const importReadings = async (options: ReadingImport): Promise<ImportReport> => {
  const { file, source, progress, isDryRun, stateOptions, signal, at } = options
  const { client } = options.target
  const paths = pathsBeside(file, isDryRun)
  const earlier = await findEarlierRun(options, paths)
  const { kept } = earlier
  const statePath = stateOptions === null ? null : paths.state
  const refused = await openRefusedFile(paths, kept)
  const run: Run = {
    importId: kept?.importId ?? crypto.randomUUID(),
    options,
    refused,
    statePath,
    line: kept?.line ?? 0,
    accepted: kept?.accepted ?? 0,
    savedAt: 0,
    unknown: 0,
    warnings: [],
    preview: isDryRun ? previewReadings(source) : null,
    receipts: receiptReader(client, progress.wait, signal),
  }
  const identities = importIdentities()
  let error: string | undefined
  let receipts: ReadReceipts = { pending: 0, replaced: null }
  try {
    await sendReadings({
      source,
      identities,
      client,
      signal,
      from: run.line,
      sender: batchSender({ client, isDryRun, importId: run.importId, at, signal, onWait: progress.wait }),
      commit: (lastLine, result) => commitBatch(run, lastLine, result),
    })
    if (!isDryRun) receipts = await run.receipts.end()
    if (statePath !== null) removeState(statePath)
  } catch (cause) {
    if (statePath !== null && stateOptions !== null && run.line > 0)
      saveState(statePath, stateOf(run, file.sha256(), stateOptions))
    if (!isFault(cause)) throw cause
    error = messageOf(cause)
  } finally {
    refused.close()
    progress.end()
  }
  return reportOf(run, { earlier, uncomparedFrom: identities.uncomparedFrom(), receipts, error })
}
