import type { CommandOutcome } from '../../../command-line/command.ts'
import type { RefusedRow } from '../../domain/reading.ts'
import type { Noted, NotImported } from '../../domain/report.ts'
import { type ImportWarning, warningLine } from '../../reading-import/import-warnings.ts'
import { previewLines, type ReadingPreview } from '../../reading-import/preview-readings.ts'
import { type ComparedCost, comparedLine } from './compare-costs.ts'

/** Object that an import made or found. `from` are the places of the source. */
export type ImportedObject = {
  readonly object: string
  /** Null in a dry run, if the object does not exist yet. */
  readonly id: string | null
  readonly name: string | null
  readonly direction?: string
  readonly type?: string
  readonly from: readonly string[]
}

/** Report of one file. `rows` counts rows of the file, `accepted` readings or objects. */
export type ImportReport = {
  readonly format: string
  readonly file: string
  readonly sha256: string
  readonly dry_run: boolean
  readonly rows: number
  readonly accepted: number
  readonly created: number
  readonly unchanged: number
  /** Objects that `--update` changed. */
  readonly changed?: number
  /** Rows of which no value is imported, because it is blank. */
  readonly blank: number
  /** Rows that `--where` leaves out. */
  readonly unselected?: number
  /** Number of refused rows. `refused` has the first 10,000 of them. */
  readonly refused_rows: number
  readonly refused: readonly RefusedRow[]
  readonly refused_file: string | null
  readonly resumed_at_line?: number
  /** Sentences about the whole file. */
  readonly remarks?: readonly string[]
  readonly imported: readonly ImportedObject[]
  readonly not_imported: readonly NotImported[]
  readonly noted: readonly Noted[]
  /** Id of the submissions of the import, and the command that undoes them within 24 hours. */
  readonly import_id?: string
  readonly undo?: string
  /** Batches that were not priced 60 s after the last row. */
  readonly batches_pending: number
  /** Stored records that the import replaced with another value. Null: the receipts are not readable, or nothing was sent. */
  readonly replaced?: number | null
  /** Doubts about the stored records, by code. Empty after a dry run, which has no receipts. */
  readonly warnings?: readonly ImportWarning[]
  /** What would be stored; of a dry run of readings. */
  readonly preview?: ReadingPreview
  /** Costs of the file beside the stored ones, with `--compare`. */
  readonly compared?: readonly ComparedCost[]
  /** Fault that ended the import before the end of the file. */
  readonly error?: string
}

const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

export const noRowsRemark = 'The file has no rows.'

/** Remark of a file with too many readings out of step to compare all of them. */
export const uncomparedRemark = (line: number): string =>
  `Readings from line ${line} on are not compared with earlier ones: the later row of equal meters and times wins. Split the file.`

const forbiddenRemark =
  'The key may not read receipts. So the report has no count of replaced records. Use a key that may read.'

const unknownRemark = (count: number): string =>
  `Whether ${count.toLocaleString('en')} register readings failed later is unknown: their receipts could not be read. Look at GET /meters/batch/{id} with a key that may read.`

/** Return the remarks about receipts. `unknown`: register readings; `forgotten`: batches without a read receipt. */
export const remarksOfReceipts = ({
  replaced,
  pending,
  unknown,
  forgotten,
}: {
  readonly replaced: number | null
  readonly pending: number
  readonly unknown: number
  readonly forgotten: number
}): readonly string[] => [
  ...(replaced === null ? [forbiddenRemark] : []),
  ...(unknown > 0 ? [unknownRemark(unknown)] : []),
  ...(replaced !== null && pending + forgotten > 0
    ? ['The count of replaced records is without that of the batches whose receipts are not complete or not read.']
    : []),
]

const replacedLine = ({ replaced, resumed_at_line: line }: ImportReport): readonly string[] => {
  if (replaced === undefined || replaced === null) return []
  const since = line === undefined ? '' : ` from line ${line} on`
  const more =
    replaced === 0
      ? ''
      : ' GET /meters/corrections lists the values of records before and after. An undo of the import sets records and register readings back.'
  return [`  ${counted(replaced, 'stored record')} replaced with another value${since}.${more}`]
}

const shownRows = 10

const lineOf = ({ line, field, code, message }: RefusedRow): string =>
  `    line ${line}${field === null ? '' : ` (${field})`}: ${code}: ${message}`

/** Return the lines of a report for the terminal. */
export const reportLines = (report: ImportReport): readonly string[] => {
  const {
    file,
    format,
    rows,
    accepted,
    created,
    unchanged,
    changed = 0,
    blank,
    unselected = 0,
    refused,
    refused_rows: refusedRows,
  } = report
  const more = refusedRows - shownRows
  const objects =
    created + unchanged + changed > 0 ? ` (${created} created, ${unchanged} unchanged, ${changed} changed)` : ''
  return [
    `${file}: ${format}, ${counted(rows, 'row')}, ${accepted.toLocaleString('en')} accepted${objects}, ${refusedRows.toLocaleString('en')} refused${report.dry_run ? ' (dry run: nothing was changed)' : ''}`,
    ...(report.resumed_at_line === undefined ? [] : [`  Continued at line ${report.resumed_at_line}.`]),
    ...(report.remarks ?? []).map(remark => `  ${remark}`),
    ...replacedLine(report),
    ...(report.warnings ?? []).map(warningLine),
    ...(report.preview === undefined ? [] : previewLines(report.preview)),
    ...(blank > 0 ? [`  ${counted(blank, 'row')} without a value.`] : []),
    ...(unselected > 0 ? [`  ${counted(unselected, 'row')} left out by --where.`] : []),
    ...refused.slice(0, shownRows).map(lineOf),
    ...(more > 0 ? [`    and ${more.toLocaleString('en')} more`] : []),
    ...(report.refused_file === null ? [] : [`  All refused rows: ${report.refused_file}`]),
    ...report.not_imported
      .slice(0, shownRows)
      .map(({ path, reason, message }) => `  Not imported: ${path}: ${reason}: ${message}`),
    ...report.noted.slice(0, shownRows).map(({ path, message }) => `  Noted: ${path}: ${message}`),
    ...(report.compared ?? []).slice(0, shownRows).map(comparedLine),
    ...(report.batches_pending > 0 ? [`  ${counted(report.batches_pending, 'batch')} will be priced later.`] : []),
    ...(report.error === undefined ? [] : [`  The import stopped: ${report.error}`]),
    ...(report.undo === undefined ? [] : [`  To undo this import within 24 hours: ${report.undo}`]),
  ]
}

/** Return the exit code of a report: 0 all, 3 something refused or not imported, 1 nothing usable or a fault. */
const exitCodeOf = (report: ImportReport): number => {
  if (report.error !== undefined || (report.accepted === 0 && report.imported.length === 0)) return 1
  return report.refused_rows > 0 || report.not_imported.length > 0 ? 3 : 0
}

/** Combine the reports of the files of a command. Different exit codes give 3. */
export const importOutcome = (reports: readonly ImportReport[]): CommandOutcome => {
  const codes = new Set(reports.map(exitCodeOf))
  const [exitCode = 1] =
    codes.size === 1 || reports.some(({ error }) => error !== undefined)
      ? [Math.max(...(codes.has(1) ? [1] : codes))]
      : [3]
  const [only] = reports
  return {
    text: reports.flatMap(reportLines).join('\n'),
    json: reports.length === 1 ? only : reports,
    ok: exitCode === 0,
    exitCode,
  }
}
