import type { ImportUndoWire, meterImportUndo } from '../contract/metering/meter-import.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { dayMs } from '../domain/interval.ts'
import type { StoredImport } from '../domain/record/undo.ts'
import { decideUndo } from '../domain/record/undo.ts'
import { accepted, refused } from '../domain/refusal.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type EarlierState, readReplaced, replacedKey } from '../platform/clickhouse/readings/earlier-values.ts'
import {
  countRepeats,
  otherImports,
  readImport,
  type UndoneImports,
} from '../platform/clickhouse/readings/import-batches.ts'
import {
  type ImportedKind,
  type ImportedRow,
  importedKinds,
  importedRows,
  nextImportedStart,
} from '../platform/clickhouse/readings/import-rows.ts'
import { Failure } from '../platform/failure.ts'
import { type Log, recordTopic } from '../platform/log/log.ts'
import { waitForRecords } from '../platform/log/stored-records.ts'
import type { Database } from '../platform/postgres/database.ts'
import { beginUndo, undoneImports } from '../platform/postgres/registry/import-undos.ts'
import { withTenant } from '../platform/postgres/transaction.ts'
import { recordIdDigits } from '../record-bytes/record-id.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import type { RecordEntrance } from './record-entrance.ts'
import { readUndoCursor, type UndoCursor, writeUndoCursor } from './undo-cursor.ts'
import { type UndoChange, writeUndoneReadings, writeUndoneRecords } from './write-undo.ts'

export type UndoImportDependencies = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly log: Pick<Log, 'lag' | 'partitions'>
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly entrance: RecordEntrance
}

type Request = RequestOf<typeof meterImportUndo>

/** Rows of a page. Each reading of another register is a submission of its own. */
const maxRows: Readonly<Record<ImportedKind, number>> = { records: 5_000, readings: 1_000 }
const undoableMs = dayMs
/** Time after which a call begins no further page, in ms. */
const callMs = 1_000
/** Maximum time to wait for the partitions, in ms. */
const waitMs = 5_000

const noImport = refused('import_not_found', 'No submission of the last two days has this import_id', 'import_id')

const tooOld = refused(
  'import_too_old',
  'The import began more than 24 hours ago, so it cannot be undone. Send the right values again',
  'import_id',
)

/**
 * Undo pages of an import for about 1 s. The first call waits until all records that were accepted before are stored.
 * A page is read, decided and sent as a submission of the import's undo, so that a repeated call changes nothing.
 * Throws `Failure` if a store is unavailable, and `lane_behind` if accepted records are not stored in time.
 * Source: docs/rules/imports.md #undo.
 */
export const undoImport =
  (dependencies: UndoImportDependencies) =>
  async (request: Request): Promise<Outcome<AnswerOf<typeof meterImportUndo>>> => {
    const { at, body, caller } = request
    const { clickHouse, database } = dependencies
    const { import_id: importId, cursor: text } = body
    const tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const cursor = text === undefined ? firstPage : readUndoCursor(text)
    if (cursor === null) return refused('cursor_not_found', 'cursor must be the next_cursor of an answer', 'cursor')
    if (text === undefined) await waitForAccepted(dependencies, request)
    const stored = await readImport(clickHouse, tenant, importId)
    if (stored === null) return noImport
    const isDryRun = body.dry_run === true
    const undone = await withTenant(database, tenant, transaction => undoneImports(transaction, at))
    // A cursor does not prove that the undo has begun: it can come from a dry run.
    if (text === undefined || !undone.has(importId)) {
      if (at - stored.startedAt > undoableMs) return tooOld
      if (!isDryRun)
        await withTenant(database, tenant, transaction => beginUndo(transaction, { importId, actor: caller.keyId, at }))
    }
    const imports = { id: importId, all: [...new Set([importId, ...undone.keys()])] }
    let next = cursor
    for (const deadline = performance.now() + callMs; ; ) {
      next = await undoPage(dependencies, { tenant, at, imports, isDryRun }, next)
      if (next.kind === null || request.signal.aborted || performance.now() > deadline) break
    }
    return accepted(await answerOf(dependencies, { tenant, imports, isDryRun }, stored, next))
  }

const firstPage: UndoCursor = { kind: 'records', from: 0, after: null, withdrawn: 0, restored: 0, unchanged: 0 }

const waitForAccepted = async (
  { log, clickHouse }: UndoImportDependencies,
  { signal }: Pick<Request, 'signal'>,
): Promise<void> => {
  const deadline = performance.now() + waitMs
  for (let partition = 0; partition < log.partitions(recordTopic); partition += 1)
    if (!(await waitForRecords(log, partition, deadline - performance.now(), signal)))
      throw new Failure('lane_behind', 'Accepted records are not stored yet. Send the request again.', {
        retriable: true,
      })
  await clickHouse.catchUp()
}

type UndoPage = {
  readonly tenant: Tenant
  readonly at: number
  readonly imports: UndoneImports
  readonly isDryRun: boolean
}

const startOfMonth = (at: number, months: number): number => {
  const day = new Date(at)
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months)
}

/** Undo the rows after a cursor that start in its month. Returns the next cursor; `kind` null at the end. */
const undoPage = async (
  dependencies: UndoImportDependencies,
  page: UndoPage,
  cursor: UndoCursor,
): Promise<UndoCursor> => {
  const { clickHouse } = dependencies
  const { tenant, imports } = page
  const { kind } = cursor
  if (kind === null) return cursor
  const from =
    cursor.after === null ? await nextImportedStart(clickHouse, tenant, kind, imports, cursor.from) : cursor.from
  if (from === null) return { ...cursor, kind: importedKinds[importedKinds.indexOf(kind) + 1] ?? null, from: 0 }
  const interval = { from, to: startOfMonth(from, 1) }
  const { after } = cursor
  const rows = await importedRows(clickHouse, tenant, kind, imports, { interval, after, limit: maxRows[kind] })
  const counts = await undoRows(dependencies, page, kind, rows)
  const last = rows.length < maxRows[kind] ? undefined : rows.at(-1)
  return {
    kind,
    from: last === undefined ? interval.to : from,
    after: last === undefined ? null : placeOf(last),
    withdrawn: cursor.withdrawn + counts.withdrawn,
    restored: cursor.restored + counts.restored,
    unchanged: cursor.unchanged + counts.unchanged,
  }
}

const placeOf = ({ locationId, start, recordId, isRestart }: ImportedRow): NonNullable<UndoCursor['after']> => ({
  locationId,
  start,
  recordId,
  isRestart,
})

/** Confidence of a withdrawn record: with value 0, it covers no estimate. Source: docs/rules/imports.md #undo. */
const withdrawnConfidence = 1

const withdrawnState = (kind: ImportedKind, { state }: ImportedRow): EarlierState =>
  kind === 'records'
    ? { ...state, value: 0n, confidence: withdrawnConfidence }
    : { ...state, value: null, confidence: 0 }

const areEqual = (kind: ImportedKind, one: EarlierState, other: EarlierState): boolean =>
  one.value === other.value &&
  (kind === 'records'
    ? one.confidence === other.confidence
    : one.sessionReferenceId === other.sessionReferenceId && one.recordReferenceId === other.recordReferenceId)

/** Return whether a cost row is of a submitted record. The rows of registers are not: their readings are undone. */
const isRecord = (tenant: Tenant, { recordId, state, ...row }: ImportedRow): boolean => {
  const { sessionReferenceId, recordReferenceId } = state
  return recordIdDigits(tenant, { ...row, sessionReferenceId, recordReferenceId }) === recordId
}

/** Decide the rows of a page and write the changes, unless it is a dry run. Rows that cannot be written are not counted. */
const undoRows = async (
  { clickHouse, ...dependencies }: UndoImportDependencies,
  { tenant, at, imports, isDryRun }: UndoPage,
  kind: ImportedKind,
  found: readonly ImportedRow[],
): Promise<{ readonly withdrawn: number; readonly restored: number; readonly unchanged: number }> => {
  const rows = kind === 'records' ? found.filter(row => isRecord(tenant, row)) : found
  const replaced = await readReplaced(clickHouse, tenant, imports, rows)
  let unchanged = 0
  const changes: UndoChange[] = []
  for (const row of rows) {
    const step = decideUndo(row.isOfImport ? 'import' : 'undone', replaced.get(replacedKey(row)) ?? [])
    if (step.kind === 'leave') continue
    const state = step.kind === 'set' ? { ...row.state, ...textsOf(kind, step.state) } : withdrawnState(kind, row)
    if (areEqual(kind, row.state, state)) unchanged += 1
    else changes.push({ row, state, isWithdrawn: step.kind === 'withdraw' })
  }
  const write = kind === 'records' ? writeUndoneRecords : writeUndoneReadings
  const written = isDryRun ? changes : await write({ ...dependencies, tenant, at, importId: imports.id }, changes)
  const withdrawn = written.filter(({ isWithdrawn }) => isWithdrawn).length
  return { withdrawn, restored: written.length - withdrawn, unchanged }
}

/** The references of a record are in its identity, so they stay. */
const textsOf = (kind: ImportedKind, { value, confidence, ...texts }: EarlierState): Partial<EarlierState> =>
  kind === 'records' ? { value, confidence } : { value, confidence, ...texts }

const answerOf = async (
  { clickHouse }: UndoImportDependencies,
  { tenant, imports, isDryRun }: Omit<UndoPage, 'at'>,
  { id, recordsAccepted }: StoredImport,
  next: UndoCursor,
): Promise<ImportUndoWire> => {
  const { kind, withdrawn, restored, unchanged } = next
  const handled = withdrawn + restored + unchanged
  const left =
    kind === null ? Math.max(0, recordsAccepted - (await countRepeats(clickHouse, tenant, id)) - handled) : null
  return {
    object: 'meter_import_undo',
    import_id: id,
    dry_run: isDryRun,
    records_withdrawn: withdrawn,
    records_restored: restored,
    records_unchanged: unchanged,
    records_left: left,
    other_imports: kind === null ? await otherImports(clickHouse, tenant, imports) : null,
    next_cursor: kind === null ? null : writeUndoCursor(next),
  }
}
