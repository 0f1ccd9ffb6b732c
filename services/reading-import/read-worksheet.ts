import { Failure } from '../platform/failure.ts'
import type { CsvRow } from '../platform/interchange/csv.ts'
import { readSheetRows, type SheetForm } from '../platform/interchange/xlsx/sheet-rows.ts'
import { openWorkbook, type Workbook, xlsxLimits } from '../platform/interchange/xlsx/workbook.ts'
import { type ReadingOptions, readCsvForm, readCsvRules } from './csv-options.ts'
import { findPresetOfRows, maxHeadLines, type PresetOptions } from './find-preset.ts'
import { rowReadingSource } from './read-csv-readings.ts'
import type { ReadingSource } from './reading-source.ts'

/** Worksheet of a file with readings, before its rows are read. */
export type WorksheetReadings = {
  readonly preset: PresetOptions
  /** Open the rows as a source of readings. `locationZone` is the zone of --location. */
  readonly open: (locationZone: string | null) => ReadingSource
}

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

const readHead = async (workbook: Workbook, sheet: string | null): Promise<readonly CsvRow[]> => {
  const head: CsvRow[] = []
  for await (const rows of readSheetRows(workbook, { sheet, skipLines: 0, decimal: '.' })) {
    head.push(...rows)
    if ((head.at(-1)?.line ?? 0) > maxHeadLines) break
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
): Promise<WorksheetReadings> => {
  const workbook = await openWorkbook(await readBytes(chunks))
  const sheet = options['sheet'] ?? null
  const preset = findPresetOfRows(await readHead(workbook, sheet), options)
  const open = (locationZone: string | null): ReadingSource => {
    const rules = readCsvRules(preset.options, locationZone)
    const { skipLines } = readCsvForm(preset.options)
    const form: SheetForm = { sheet, skipLines, decimal: rules.marks.decimal }
    return { ...rowReadingSource(readSheetRows(workbook, form), preset.choices, rules), format: 'xlsx' }
  }
  return { preset, open }
}
