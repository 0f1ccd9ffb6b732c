import { CommandError, type CommandInput, type CommandOutcome, UsageError } from '../../../command-line/command.ts'
import type { ImportUndoWire } from '../../../contract/metering/meter-import.ts'
import { undoImport } from '../../reading-import/undo-import.ts'
import type { ImportTarget } from './import-target.ts'
import type { ImportProgress } from './progress.ts'

/** Return the command that undoes an import. */
export const undoCommand = (importId: string, { liveMode }: Pick<ImportTarget, 'liveMode'>): string =>
  `npx wattledger import undo ${importId}${liveMode ? ' --live' : ''}`

const line = (count: number, text: string): string => `  ${count.toLocaleString('en')} ${text}`

/** Return the lines of an answer for the terminal. */
const linesOf = (undo: ImportUndoWire): string => {
  const will = undo.dry_run ? 'would be ' : ''
  const others = undo.other_imports ?? []
  return [
    `Import ${undo.import_id}${undo.dry_run ? ' (nothing is changed yet)' : ''}:`,
    line(undo.records_withdrawn, `${will}withdrawn: only this import sent them, or imports that were undone`),
    line(undo.records_restored, `${will}set back to the value before the import`),
    line(undo.records_unchanged, 'unchanged: they have the value before the import, or were undone before'),
    line(undo.records_left ?? 0, 'left: sent by another submission since, or their location or device is deleted'),
    ...(others.length === 0
      ? []
      : [
          `  Other imports sent some of them too: ${others.join(', ')}. These records keep the value that others sent last.`,
        ]),
  ].join('\n')
}

type Undo = {
  readonly target: ImportTarget
  readonly importId: string
  readonly progress: ImportProgress
  readonly signal: AbortSignal
}

const runUndo = async (
  { target: { client }, importId, progress, signal }: Undo,
  isDryRun: boolean,
): Promise<ImportUndoWire> => {
  let last: ImportUndoWire | null = null
  try {
    for await (last of undoImport({ client, importId, isDryRun, signal, onWait: progress.wait })) {
      const { records_withdrawn: withdrawn, records_restored: restored, records_unchanged: unchanged } = last
      progress.show(withdrawn + restored + unchanged, 0)
    }
  } finally {
    progress.end()
  }
  if (last === null) throw new Error('An undo has at least one answer.')
  return last
}

/**
 * Undo an import after a person said yes, or with --yes. Shows first what the undo would change.
 * Source: docs/rules/imports.md #undo.
 */
export const undoReadings = async (undo: Undo, { options, status, confirm }: CommandInput): Promise<CommandOutcome> => {
  const isDryRun = options['dry-run'] !== undefined
  if (isDryRun || options['yes'] === undefined) {
    const counted = await runUndo(undo, true)
    if (isDryRun) return { text: linesOf(counted), json: counted, ok: true }
    status.write(`${linesOf(counted)}\n`)
    if (confirm === null) throw new UsageError('Nothing was undone. Add --yes to undo the import without a question.')
    if (!(await confirm('Undo this import? [y/N] '))) throw new CommandError('Nothing was undone.')
  }
  const done = await runUndo(undo, false)
  return { text: linesOf(done), json: done, ok: true, exitCode: done.records_left === 0 ? 0 : 3 }
}
