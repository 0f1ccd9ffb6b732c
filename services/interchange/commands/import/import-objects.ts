import { UsageError } from '../../../command-line/command.ts'
import type { DryRunWire } from '../../../contract/dry-run.ts'
import { CallError, callPatiently, type MessageBody, refusalOf } from '../../../platform/call-service.ts'
import { isFailure } from '../../../platform/failure.ts'
import { type ObjectRow, openObjectRows } from '../../domain/csv/object-rows.ts'
import { type RefusedRow, type RowCode, refusedRow } from '../../domain/reading.ts'
import type { Noted } from '../../domain/report.ts'
import { openArchive, peekChunks } from '../../platform/archive.ts'
import { type CsvRow, readCsv } from '../../platform/csv.ts'
import { readLines, textFormatOf } from '../../platform/file-format.ts'
import { readColumns, readCsvForm } from '../../reading-import/csv-options.ts'
import { maxListed } from '../../reading-import/reading-source.ts'
import { pathsBeside } from './import-files.ts'
import { type ImportedObject, type ImportReport, noRowsRemark } from './import-report.ts'
import type { TariffFileImport } from './import-tariffs.ts'
import { openRefusedFile, type RefusedFile } from './refused-file.ts'

export type ObjectKind = 'locations' | 'devices'

export type ObjectImport = TariffFileImport & { readonly kind: ObjectKind }

/** Fields of a kind of object. The fields of an address are flat. */
const ownFields = {
  locations: ['reference_id', 'display_name', 'customer_id', 'timezone', 'currency_code', 'calendar_id'],
  devices: ['reference_id', 'display_name'],
} as const
const addressFields = ['address_line1', 'address_line2', 'city', 'state', 'post_code', 'country_code']
const nestedFields = { locations: ['market_sources.import', 'market_sources.export'], devices: [] } as const

const fieldNames = (kind: ObjectKind): readonly string[] => [
  ...ownFields[kind],
  ...(kind === 'locations' ? addressFields : []),
  ...nestedFields[kind],
  'metadata.NAME',
]

/** Return the path of the member of a field; undefined for an unknown field. */
const memberPath =
  (kind: ObjectKind) =>
  (field: string): readonly string[] | undefined => {
    if (field.startsWith('metadata.') && field.length > 9) return ['metadata', field.slice(9)]
    if (kind === 'locations' && addressFields.includes(field)) return ['postal_address', field]
    if (fieldNames(kind).includes(field) && field !== 'metadata.NAME') return field.split('.')
    return undefined
  }

/** Row of a file: an object as JSON with its reference, or a refusal; and the cells for the file of refused rows. */
type SourceRow = { readonly cells: readonly string[]; readonly row: JsonRow | RefusedRow }
type JsonRow = { readonly line: number; readonly reference: string; readonly body: string }

const jsonRow = ({ line, reference, members }: ObjectRow): JsonRow => ({
  line,
  reference,
  body: JSON.stringify(members),
})

const readObjectLine = (text: string, line: number): JsonRow | RefusedRow => {
  try {
    const value: unknown = JSON.parse(text)
    const reference = typeof value === 'object' && value !== null ? Reflect.get(value, 'reference_id') : undefined
    if (typeof reference !== 'string' || reference === '')
      return refusedRow(line, 'reference_id', 'field_required', 'The line is no object with a reference_id.')
    return { line, reference, body: text }
  } catch {
    return refusedRow(line, null, 'body_invalid', 'The line is not JSON.')
  }
}

async function* readCsvObjects(
  chunks: AsyncIterable<Uint8Array>,
  { kind, options }: ObjectImport,
  noted: Noted[],
): AsyncGenerator<SourceRow> {
  const pathOf = memberPath(kind)
  const choices = readColumns(options, field => pathOf(field) !== undefined, fieldNames(kind))
  let header: CsvRow | undefined
  let reader: ReturnType<typeof openObjectRows> | undefined
  for await (const rows of readCsv(chunks, readCsvForm(options))) {
    for (const row of rows) {
      if (header === undefined || reader === undefined) {
        header = row
        reader = openObjectRows(row.cells, choices, pathOf)
        if ('problem' in reader) throw new UsageError(reader.problem)
        noted.push(...reader.otherHeadings.map(path => ({ path: `/${path}`, message: 'The column is not used.' })))
      } else if ('readRow' in reader) {
        const read = reader.readRow(row.cells, row.line)
        yield { cells: row.cells, row: 'code' in read ? read : jsonRow(read) }
      }
    }
  }
}

async function* readNdjsonObjects(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SourceRow> {
  for await (const { text, line } of readLines(chunks)) yield { cells: [text], row: readObjectLine(text, line) }
}

/** Result of a row, or what it would be. `id` is null for an object that a dry run does not create. */
type Saved = { readonly how: 'created' | 'unchanged' | 'changed'; readonly id: string | null } | RefusedRow

type ObjectBody = { readonly id: string }

/** Refuse a row with the error of an answer. Throws `CallError` for errors that are no fault of the row. */
const refuseAnswer = (
  line: number,
  path: string,
  answer: { readonly status: number; readonly body: unknown },
): RefusedRow => {
  const { code, message, field } = (answer.body ?? {}) as MessageBody
  const isRowFault = answer.status >= 400 && answer.status < 500 && ![401, 403, 404, 405].includes(answer.status)
  if (!isRowFault || code === undefined)
    throw refusalOf('POST', path, { status: answer.status, body: answer.body, retryAfterMs: null })
  return refusedRow(line, field?.replace(/^postal_address\./, '') ?? null, code as RowCode, message ?? '')
}

/** Send a change of a row, or its dry run. Returns the object, null after a dry run, or the refusal of the row. */
const changeObject = async (
  { target: { client }, signal, progress, options }: ObjectImport,
  { line, body }: JsonRow,
  method: 'POST' | 'PATCH',
  path: string,
): Promise<ObjectBody | null | RefusedRow> => {
  const query = options['dry-run'] === undefined ? '' : '?dry_run=true'
  const call = () => client.call<ObjectBody | DryRunWire>(method, path + query, body)
  const { status, body: answer } = await callPatiently(call, signal, progress.wait)
  if (answer !== null && 'stored_rows' in answer) {
    const [error] = answer.errors
    return error === undefined ? null : refuseAnswer(line, path, { status: 400, body: error })
  }
  return (status === 200 || status === 201) && answer !== null
    ? answer
    : refuseAnswer(line, path, { status, body: answer })
}

const saveObject = async (one: ObjectImport, row: JsonRow): Promise<Saved> => {
  const { kind, target, signal, progress, options } = one
  const path = `/${kind}`
  const created = await changeObject(one, row, 'POST', path)
  if (created === null || !('code' in created)) return { how: 'created', id: created?.id ?? null }
  if (created.code !== 'reference_id_taken') return created
  const ownPath = `${path}/${encodeURIComponent(`reference:${row.reference}`)}`
  const known = await callPatiently(() => target.client.call<ObjectBody>('GET', ownPath), signal, progress.wait)
  if (known.status !== 200 || known.body === null) return refuseAnswer(row.line, ownPath, known)
  const { id } = known.body
  if (options['update'] === undefined) return { how: 'unchanged', id }
  const changed = await changeObject(one, row, 'PATCH', `${path}/${id}`)
  return changed !== null && 'code' in changed ? changed : { how: 'changed', id }
}

/** Objects that are saved at the same time. */
const concurrency = 4

type Counts = { rows: number; created: number; unchanged: number; changed: number }

const countSaved = (
  { kind, progress }: ObjectImport,
  refused: RefusedFile,
  counts: Counts,
  imported: ImportedObject[],
  { cells, row, saved }: SourceRow & { readonly saved: Saved },
): void => {
  if ('code' in saved) refused.add(saved, cells)
  else {
    counts[saved.how] += 1
    const name = 'reference' in row ? row.reference : null
    const from = [String(row.line)]
    if (imported.length < maxListed) imported.push({ object: kind.slice(0, -1), id: saved.id, name, from })
  }
  progress.show(counts.rows, refused.count())
}

/**
 * Import the objects of a file: create each, or find it by its reference. A repeated import changes nothing without
 * `--update`. A reference that a file has twice is refused. A fault is in the report.
 * Throws `UsageError` for a file without the column `reference_id`.
 * Source: docs/rules/imports.md #locations-and-devices.
 */
export const importObjects = async (one: ObjectImport): Promise<ImportReport> => {
  const { file, options, signal, progress } = one
  const { first, all } = await peekChunks(openArchive(file.chunks(progress.addBytes)))
  const format = options['format'] ?? (textFormatOf(first) === 'ndjson' ? 'ndjson' : 'csv')
  const noted: Noted[] = []
  const rows = format === 'ndjson' ? readNdjsonObjects(all) : readCsvObjects(all, one, noted)
  const isDryRun = options['dry-run'] !== undefined
  const refused = await openRefusedFile(pathsBeside(file, isDryRun), null)
  const counts: Counts = { rows: 0, created: 0, unchanged: 0, changed: 0 }
  const imported: ImportedObject[] = []
  const lines = new Map<string, number>()
  let group: Promise<SourceRow & { readonly saved: Saved }>[] = []
  const finishGroup = async (): Promise<void> => {
    for (const result of await Promise.all(group)) countSaved(one, refused, counts, imported, result)
    group = []
  }
  let error: string | undefined
  try {
    for await (const source of rows) {
      signal.throwIfAborted()
      refused.begin()
      counts.rows += 1
      const row = refuseRepeated(source.row, lines)
      group.push(saveRow(one, { ...source, row }))
      if (group.length === concurrency) await finishGroup()
    }
    await finishGroup()
  } catch (cause) {
    if (!isFailure(cause) && !(cause instanceof CallError)) throw cause
    error = cause.message
  } finally {
    refused.close()
    progress.end()
  }
  return {
    format,
    file: file.name,
    sha256: file.sha256(),
    dry_run: isDryRun,
    rows: counts.rows,
    ...(counts.rows === 0 && error === undefined ? { remarks: [noRowsRemark] } : {}),
    accepted: counts.created + counts.unchanged + counts.changed,
    created: counts.created,
    unchanged: counts.unchanged,
    changed: counts.changed,
    blank: 0,
    refused_rows: refused.count(),
    refused: refused.listed(),
    refused_file: refused.path(),
    imported,
    not_imported: [],
    noted,
    batches_pending: 0,
    ...(error === undefined ? {} : { error }),
  }
}

const saveRow = async (one: ObjectImport, source: SourceRow): Promise<SourceRow & { readonly saved: Saved }> => ({
  ...source,
  saved: 'code' in source.row ? source.row : await saveObject(one, source.row),
})

/** Refuse a row whose reference an earlier row of the file has. */
const refuseRepeated = (row: SourceRow['row'], lines: Map<string, number>): SourceRow['row'] => {
  if ('code' in row) return row
  const first = lines.get(row.reference)
  if (first !== undefined)
    return refusedRow(row.line, 'reference_id', 'duplicate_row', `Line ${first} has the same reference_id.`)
  lines.set(row.reference, row.line)
  return row
}
