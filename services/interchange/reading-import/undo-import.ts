import type { ImportUndoWire, MeterImportWire } from '../../contract/metering/meter-import.ts'
import { askPatiently, callPatiently, refusalOf, type ServiceCalls } from '../../platform/call-service.ts'

type UndoOptions = {
  readonly client: ServiceCalls
  readonly importId: string
  readonly isDryRun: boolean
  readonly signal: AbortSignal
  readonly onWait?: (reason: string) => void
}

/** Path of the operation that undoes imports. */
export const undoPath = '/meters/imports/undo'

/**
 * Undo an import in calls, or count the changes of an undo. Yields the answer of each call; the last one is complete.
 * Throws `CallError` if the service refuses or does not answer. The undo can then be started again, with the same result.
 */
export async function* undoImport({
  client,
  importId,
  isDryRun,
  signal,
  onWait,
}: UndoOptions): AsyncGenerator<ImportUndoWire> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { import_id: importId, dry_run: isDryRun, ...(cursor === undefined ? {} : { cursor }) }
    const answer = await callPatiently(() => client.call<ImportUndoWire>('POST', undoPath, body), signal, onWait)
    if (answer.status !== 200 || answer.body === null) throw refusalOf('POST', undoPath, answer)
    yield answer.body
    cursor = answer.body.next_cursor
  }
}

/** Return whether an import of the last day was undone. Throws `CallError` if the service does not answer. */
export const isUndone = async (client: ServiceCalls, importId: string, signal: AbortSignal): Promise<boolean> => {
  const { data } = await askPatiently<{ readonly data: readonly MeterImportWire[] }>(
    client,
    'GET',
    '/meters/imports',
    signal,
  )
  return data.some(({ id, time_undone: undoneAt }) => id === importId && undoneAt !== null)
}
