import { Failure } from '../../platform/failure.ts'
import type { CsvRow } from '../platform/csv.ts'
import { readSheetRows, type SheetForm } from '../platform/xlsx/sheet-rows.ts'
import { openWorkbook, type Workbook, xlsxLimits } from '../platform/xlsx/workbook.ts'
import { type ReadingOptions, readCsvForm, readCsvRules } from './csv-options.ts'
import { findPresetOfRows, maxHeadLines } from './find-preset.ts'
import { rowReadingSource } from './read-csv-readings.ts'
import type { ReadingTable } from './reading-table.ts'

const readBytes = async (chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> => {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > xlsxLimits.fileBytes)
      throw new Failure('file_unreadable', 'The workbook is larger than 64 MiB. Save the worksheet as CSV.')
    read.push(chunk)
  }
  return Buffer.concat(read)
}

/** Rows after the header from which the options of a file are guessed. */
export const maxHeadRows = 500

const readHead = async (workbook: Workbook, form: SheetForm, isEnough: (rows: readonly CsvRow[]) => boolean) => {
  const head: CsvRow[] = []
  for await (const rows of readSheetRows(workbook, form)) {
    head.push(...rows)
    if (isEnough(head)) break
  }
  return head
}

/**
 * Open a worksheet of a workbook: that of --sheet, or the first one. Throws `Failure` `file_unreadable` and `UsageError`.
 * Source: docs/rules/imports.md #worksheets.
 */
export const openWorksheet = async (
  chunks: AsyncIterable<Uint8Array>,
  options: ReadingOptions,
  account?: string,
): Promise<ReadingTable> => {
  const workbook = await openWorkbook(await readBytes(chunks), account)
  const sheet = options['sheet'] ?? null
  const whole: SheetForm = { sheet, skipLines: 0, decimal: '.' }
  const head = await readHead(workbook, whole, rows => (rows.at(-1)?.line ?? 0) > maxHeadLines)
  return {
    sheets: workbook.sheets.map(({ name }) => name),
    presetOf: given => findPresetOfRows(head, given),
    headOf: async given => {
      const form = { ...whole, skipLines: readCsvForm(given).skipLines }
      return (await readHead(workbook, form, rows => rows.length > maxHeadRows)).slice(0, maxHeadRows + 1)
    },
    open: ({ options: found, choices, remarks }, locationZone) => {
      const rules = readCsvRules(found, locationZone)
      const form: SheetForm = { sheet, skipLines: readCsvForm(found).skipLines, decimal: rules.marks.decimal }
      const source = rowReadingSource(readSheetRows(workbook, form), choices, rules)
      return { ...source, format: 'xlsx', zone: rules.zone, remarks }
    },
  }
}
