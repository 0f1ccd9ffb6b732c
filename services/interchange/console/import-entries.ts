import type { ConsoleDependencies } from '../../console/console-dependencies.ts'
import type { ConsoleRequest } from '../../console/console-request.ts'
import { counted, wholeNumber } from '../../console/kit/amount.ts'
import { instant, row, showResult, table } from '../../console/page-parts.ts'
import type { ConsoleSession } from '../../console/session.ts'
import { type MeterImportWire, meterImportList } from '../../contract/metering/meter-import.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
import { appendAudit, listAudit } from '../../platform/postgres/registry/audit-log.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { undoPagePath } from './import-form.ts'

/** Actions of the two audit entries of an import. Both name its id in their details. */
const [startAction, endAction] = ['readings.import', 'readings.import_end']

type Stores = Pick<ConsoleDependencies, 'database' | 'at'>

/** Result of an import: what it sent. `isComplete`: it reached the end of the file. */
export type ImportCounts = { readonly accepted: number; readonly refused: number; readonly isComplete: boolean }

const append = (
  { database, at }: Stores,
  session: ConsoleSession,
  action: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> =>
  withTenant(database, session, transaction =>
    // The object is the account, so that the entries are found among all others.
    appendAudit(transaction.query, transaction, {
      actor: session.keyId,
      action,
      objectId: session.accountId,
      at: at(),
      detail,
    }),
  )

/**
 * Create the audit entries of an import of a file. `start` writes the first one, before the first batch is sent. `end` writes
 * the second one, with the result. An import without a second entry is in work, or its process was killed.
 */
export const importEntries = (stores: Stores, session: ConsoleSession, fileName: string) => {
  const importId = crypto.randomUUID()
  const detail = { import_id: importId, file: fileName.slice(0, 255) }
  let started: Promise<void> | null = null
  return {
    importId,
    start: (): Promise<void> => {
      started ??= append(stores, session, startAction, detail)
      return started
    },
    end: async ({ accepted, refused, isComplete }: ImportCounts): Promise<void> => {
      if (started === null) return
      await append(stores, session, endAction, { ...detail, accepted, refused, is_complete: isComplete })
    },
  }
}

type EntryDetail = {
  readonly import_id: string
  readonly file: string
  readonly accepted?: number
  readonly refused?: number
  readonly is_complete?: boolean
}

/** Entries in which imports are searched. */
const maxEntries = 1_000

const listEntries = ({ database, at }: Stores, session: ConsoleSession, action: string) => {
  const filter = { actor: null, action, objectId: session.accountId, from: at() - dayMs, to: null }
  return withTenant(database, session, transaction => listAudit(transaction, filter, null, maxEntries))
}

/** Show what the newest import of the last day did. Null without one. */
export const lastImport = async (stores: Stores, session: ConsoleSession): Promise<Html | null> => {
  const entries = await listEntries(stores, session, 'readings.import*')
  const start = entries.find(({ action }) => action === startAction)
  if (start === undefined) return null
  const { import_id: id, file } = start.detail as EntryDetail
  const end = entries.find(({ action, detail }) => action === endAction && (detail as EntryDetail).import_id === id)
  const name = html`The last import, of ${file}, began at ${instant(writeInstant(start.at))}.`
  const again = 'Import the file again if it is not complete: each reading counts once.'
  if (end === undefined)
    return html`<p class="notice">${name} It is in work, or its process ended. Readings that it sent are stored. ${again}</p>`
  const { accepted = 0, refused = 0, is_complete: isComplete } = end.detail as EntryDetail
  const counts = `${counted(String(accepted), 'reading')} accepted, ${counted(String(refused), 'row')} refused.`
  return isComplete === true
    ? html`<p class="notice">${name} It reached the end of the file: ${counts}</p>`
    : html`<p class="notice bad">${name} It ended before the end of the file: ${counts} ${again}</p>`
}

const importRow = ({ id, time_started, records_accepted, time_undone }: MeterImportWire, file: string | undefined) =>
  row(
    file ?? html`<code>${id}</code>`,
    instant(time_started),
    wholeNumber(String(records_accepted)),
    html`${time_undone === null ? null : html`Undone ${instant(time_undone)}. `}<a href="${undoPagePath(id)}" aria-label="Undo the import ${file ?? id}">${
      time_undone === null ? 'Undo' : 'Undo again'
    }</a>`,
  )

/** Return the files of the imports of the console by the id of the import. Only imports of the last day. */
export const importedFiles = async (stores: Stores, session: ConsoleSession): Promise<ReadonlyMap<string, string>> => {
  const entries = await listEntries(stores, session, startAction)
  return new Map(
    entries.map(({ detail }) => {
      const { import_id: id, file } = detail as EntryDetail
      return [id, file] as const
    }),
  )
}

/** Show the imports of the last day, from all senders. Those of the console have the name of their file. */
export const importsOfDay = async (
  stores: Stores,
  { call, session }: Pick<ConsoleRequest, 'call' | 'session'>,
): Promise<Html> => {
  const listed = await call(meterImportList, {})
  const files = await importedFiles(stores, session)
  return html`<section><h2>Imports of the last day</h2>
${showResult(listed, ({ data }) =>
  table(
    'Imports',
    ['File or id', 'Began', 'Accepted', 'Undo'],
    data.map(one => importRow(one, files.get(one.id))),
    'No import of the last day. An import can be undone here for 24 hours.',
  ),
)}</section>`
}
