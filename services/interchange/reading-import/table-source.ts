import { UsageError } from '../../platform/failure.ts'
import { isWorkbook, type PeekedChunks } from '../platform/archive.ts'
import { type CsvRow, readCsv } from '../platform/csv.ts'
import { type ReadingOptions, readCsvForm, readCsvRules } from './csv-options.ts'
import { findPreset } from './find-preset.ts'
import { csvReadingSource } from './read-csv-readings.ts'
import { nem12ReadingSource } from './read-nem12.ts'
import { maxHeadRows, openWorksheet } from './read-worksheet.ts'
import type { ReadingTable } from './reading-table.ts'

/** First bytes of a file, in which the headings of a known file are searched. */
export const headBytes = 262_144

const csvHeadOf = async (first: Uint8Array, options: ReadingOptions): Promise<readonly CsvRow[]> => {
  const chunks = async function* () {
    yield first
  }
  const head: CsvRow[] = []
  try {
    for await (const rows of readCsv(chunks(), readCsvForm(options))) {
      head.push(...rows)
      if (head.length > maxHeadRows + 1) break
    }
  } catch (error) {
    if (error instanceof UsageError) throw error
    // The first bytes of a long file end in the middle of a row. The rows before it are enough.
  }
  // The last row of the first bytes can be cut.
  return head.slice(0, first.length < headBytes ? maxHeadRows + 1 : Math.min(maxHeadRows + 1, head.length - 1))
}

const openCsv = ({ first, all }: Pick<PeekedChunks, 'first' | 'all'>, options: ReadingOptions): ReadingTable => {
  if (options['sheet'] !== undefined) throw new UsageError('--sheet needs a workbook in .xlsx.')
  return {
    sheets: [],
    presetOf: given => findPreset(first, given),
    headOf: given => csvHeadOf(first, given),
    open: ({ options: found, choices, reader, remarks }, locationZone) => {
      const openSource = reader === 'nem12' ? nem12ReadingSource : csvReadingSource
      const rules = readCsvRules(found, locationZone)
      return { ...openSource(all, readCsvForm(found), choices, rules), zone: rules.zone, remarks }
    },
  }
}

/**
 * Open a CSV file, or a worksheet of a workbook, by its first bytes. Long work runs in time slices of `account`.
 * Throws `UsageError`, and `Failure` `file_unreadable` for a damaged workbook.
 */
export const openTable = async (
  peeked: Pick<PeekedChunks, 'first' | 'all'>,
  options: ReadingOptions,
  account?: string,
): Promise<ReadingTable> =>
  isWorkbook(peeked.first) ? openWorksheet(peeked.all, options, account) : openCsv(peeked, options)
