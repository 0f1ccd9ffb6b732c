import { type FileIdentities, fileIdentities } from '../../domain/interchange/file-identities.ts'
import { isRefusedRow, type ReadRow } from '../../domain/interchange/reading.ts'
import type { Noted, NotImported } from '../../domain/interchange/report.ts'
import { isFailure } from '../../platform/failure.ts'
import { CallError } from '../service-client.ts'
import { type ReadReceipts, receiptReader } from './await-receipts.ts'
import { awaitRegisters, type ProcessedBatch } from './await-registers.ts'
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
import { areBatchesRelated, type BatchBuilder, type ReadingBatch, startBatch } from './reading-batch.ts'
import { hasKeptRows, openRefusedFile, type RefusedFile } from './refused-file.ts'
import { batchSender, refuseRepeat } from './send-batch.ts'

/** Readings of a file in one of the formats. */
export type ReadingSource = {
  readonly format: string
  readonly read: () => AsyncIterable<readonly ReadRow[]>
  /** Cells of a line that is not forgotten. */
  readonly cellsOf: (line: number) => readonly string[]
  /** Forget the lines up to this one. */
  readonly forget: (line: number) => void
  /** Rows of the file, rows without a value, and rows that the options do not select. */
  readonly counts: () => { readonly rows: number; readonly blank: number; readonly unselected?: number }
  /** Sentences about the whole file. */
  readonly remarks?: readonly string[]
  readonly notes: () => { readonly noted: readonly Noted[]; readonly notImported: readonly NotImported[] }
}

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

/** Memory for identities of readings that are out of step, in bytes. */
const identityBytes = 512 * 1_048_576

/** Submissions that are sent at the same time. */
const concurrency = 3
/** Batches that are sent, and wait until their register readings are processed. */
const maxWaitingBatches = 64
/** Minimum time between two writes of the state, in ms. */
const stateMs = 500

type Run = {
  readonly options: ReadingImport
  readonly refused: RefusedFile
  readonly statePath: string | null
  readonly identities: FileIdentities
  line: number
  accepted: number
  savedAt: number
  /** Readings of registers whose later failures are not known. */
  unknown: number
  readonly receipts: ReturnType<typeof receiptReader>
}

/** Store the result of a batch. Batches are committed in file order. */
const commitBatch = (run: Run, batch: ReadingBatch, result: ProcessedBatch): void => {
  const { source, file, progress, stateOptions } = run.options
  run.refused.begin()
  for (const row of result.refused) run.refused.add(row, source.cellsOf(row.line))
  source.forget(batch.lastLine)
  run.line = batch.lastLine
  run.accepted += result.accepted
  run.unknown += result.unknown
  run.receipts.add(result.batchIds)
  progress.show(source.counts().rows, run.refused.count())
  if (run.statePath === null || stateOptions === null || performance.now() - run.savedAt < stateMs) return
  run.savedAt = performance.now()
  saveState(run.statePath, stateOf(run, file.sha256(), stateOptions))
}

const stateOf = (run: Run, sha256: string, options: string): ImportState => ({
  sha256,
  options,
  line: run.line,
  accepted: run.accepted,
  refused: run.refused.count(),
  refusedBytes: run.refused.bytes(),
})

/**
 * Sends batches, a few at a time, and commits them in order. A batch with readings of registers is committed after the
 * service has processed them, so that readings which fail then are refused rows of the file.
 */
const batchQueue = (run: Run, signal: AbortSignal) => {
  const { target, isDryRun, at, progress } = run.options
  const sender = batchSender({ target, isDryRun, at, signal, onWait: progress.wait })
  const sending = new Map<ReadingBatch, Promise<unknown>>()
  const waiting = new Set<Promise<unknown>>()
  let committed: Promise<void> = Promise.resolve()
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  interrupted.catch(() => undefined)
  const hasCapacity = (batch: ReadingBatch): boolean =>
    sending.size < concurrency && ![...sending.keys()].some(other => areBatchesRelated(other, batch))
  return {
    /** Send a batch. Resolves when the batch is on its way; throws if an earlier batch failed. */
    add: async (batch: ReadingBatch): Promise<void> => {
      while (!hasCapacity(batch)) await Promise.race([interrupted, ...sending.values()])
      while (waiting.size >= maxWaitingBatches) await Promise.race([interrupted, ...waiting])
      const sent = sender.send(batch)
      const [before, done] = [committed, sent.finally(() => sending.delete(batch))]
      sending.set(batch, done)
      const processed = sent.then(result => awaitRegisters(result, target.client, signal))
      committed = before.then(async () => commitBatch(run, batch, await processed))
      const finished = committed.finally(() => waiting.delete(finished))
      waiting.add(finished)
      // The error is thrown by the next `add` or by `end`.
      for (const promise of [done, committed, finished]) promise.catch(() => undefined)
    },
    end: (): Promise<void> => Promise.race([interrupted, committed]),
  }
}

/** Return a row, refused if an earlier line of the file has its identity, however far away. */
const checkRepeat = (row: ReadRow, identities: FileIdentities): ReadRow => {
  const firstLine = isRefusedRow(row) ? null : identities.note(row)
  return firstLine === null || isRefusedRow(row) ? row : refuseRepeat(row, firstLine)
}

const sendRows = async (run: Run, from: number): Promise<void> => {
  const { source, signal } = run.options
  const queue = batchQueue(run, signal)
  let batch: BatchBuilder = startBatch()
  for await (const rows of source.read()) {
    signal.throwIfAborted()
    // No batch acknowledges the lines that an earlier run sent.
    source.forget(from)
    for (const read of rows) {
      const row = checkRepeat(read, run.identities)
      if (row.line <= from) continue
      if (batch.isFull(row.line)) {
        const full = batch.build()
        // The rest of a line that is split is in the next batch, so that the line is not complete.
        await queue.add({ ...full, lastLine: Math.min(full.lastLine, row.line - 1) })
        batch = startBatch()
      }
      batch.add(row)
    }
  }
  if (!batch.isEmpty()) await queue.add(batch.build())
  await queue.end()
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Error of a file or the service that ends an import, after the earlier rows were stored. */
const isFault = (error: unknown): boolean => isFailure(error) || error instanceof CallError

/** Return the state of an earlier run that continues, or why its state is not enough to continue. */
const findEarlierRun = async (
  { file, stateOptions }: ReadingImport,
  paths: ImportPaths,
): Promise<{ readonly kept: ImportState | null; readonly remark?: string }> => {
  if (paths.state === null || stateOptions === null) return { kept: null }
  const kept = readState(paths.state, { sha256: file.sha256(), options: stateOptions })
  if (kept === null || (await hasKeptRows(paths.refused, kept))) return { kept }
  const remark = `${paths.refused} was removed or changed, so the import began at line 1 again. Each record counts once.`
  return { kept: null, remark }
}

/**
 * Import the readings of a file: send batches, keep the state after each, continue an interrupted import at the line after
 * the last acknowledged one. If its refused rows are lost, begin at line 1. A fault is in the report, and the state stays.
 * Throws `UsageError` for columns that give no readings, and the reason of an aborted `signal`; then the state stays too.
 * Source: docs/rules/imports.md #continue.
 */
export const importReadings = async (options: ReadingImport): Promise<ImportReport> => {
  const { file, source, progress, isDryRun, stateOptions } = options
  const paths = pathsBeside(file, isDryRun)
  const { kept, remark } = await findEarlierRun(options, paths)
  const statePath = stateOptions === null ? null : paths.state
  const refused = await openRefusedFile(paths, kept)
  const run: Run = {
    ...{ options, refused, statePath, line: kept?.line ?? 0, accepted: kept?.accepted ?? 0, savedAt: 0 },
    ...{ unknown: 0, identities: fileIdentities(identityBytes) },
    receipts: receiptReader(options.target.client, progress, options.signal),
  }
  let error: string | undefined
  let receipts: ReadReceipts = { pending: 0, replaced: null }
  try {
    await sendRows(run, run.line)
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
  const hasNoRows = source.counts().rows === 0 && error === undefined
  const uncomparedFrom = run.identities.uncomparedFrom()
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
    ...{ format: source.format, file: file.name, sha256: file.sha256(), dry_run: isDryRun },
    ...{ ...source.counts(), accepted: run.accepted, created: 0, unchanged: 0 },
    ...{ refused_rows: refused.count(), refused: refused.listed(), refused_file: refused.path() },
    ...(kept === null ? {} : { resumed_at_line: kept.line + 1 }),
    ...(remarks.length === 0 ? {} : { remarks }),
    ...{ imported: [], not_imported: source.notes().notImported, noted: source.notes().noted },
    ...{ batches_pending: receipts.pending, replaced: receipts.replaced },
    ...(error === undefined ? {} : { error }),
  }
}
