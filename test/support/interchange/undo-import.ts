import type { ImportUndoWire } from '../../../services/contract/metering/meter-import.ts'
import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'

/**
 * Undo an import from a cursor on, or count what an undo would change, and return the last answer. A busy service is
 * asked again.
 */
export const undoAll = async (
  client: Client,
  importId: string,
  isDryRun = false,
  first?: string,
): Promise<ImportUndoWire> => {
  for (let cursor = first; ; ) {
    const body = { import_id: importId, dry_run: isDryRun, cursor }
    const { text, json } = await until(
      () => client.send('POST', '/meters/imports/undo', body),
      ({ status }) => status !== 503,
    )
    const answer = json as ImportUndoWire
    if (answer.object !== 'meter_import_undo') throw new Error(`The undo failed: ${text}`)
    if (answer.next_cursor === null) return answer
    cursor = answer.next_cursor
  }
}

/** Return the counts of an undo: withdrawn, set back, unchanged, left. */
export const countsOf = (undo: ImportUndoWire): readonly (number | null)[] => [
  undo.records_withdrawn,
  undo.records_restored,
  undo.records_unchanged,
  undo.records_left,
]
