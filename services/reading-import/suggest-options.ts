import { findColumns } from '../domain/interchange/csv/columns.ts'
import { isReadingField, openCsvReadings } from '../domain/interchange/csv/csv-readings.ts'
import { type ColumnGuess, guessColumns } from '../domain/interchange/csv/guess-columns.ts'
import { type CsvRow, readCsv } from '../platform/interchange/csv.ts'
import { type ReadingOptions, readCsvForm, readCsvRules } from './csv-options.ts'
import type { PresetOptions } from './find-preset.ts'
import { headBytes } from './table-source.ts'

/** Rows after the header from which a guess is made. */
const maxRows = 500

/** Options that describe a file. */
const describing = [
  ...[
    'columns',
    'preset',
    'layout',
    'unit',
    'interval',
    'label',
    'date-format',
    'decimal',
    'thousands',
    'where',
    'map',
  ],
  ...['sum', 'delimiter', 'skip-lines', 'direction', 'format'],
]

/** Return whether options describe a file. Then nothing is guessed. */
export const describesFile = (options: ReadingOptions): boolean => describing.some(name => options[name] !== undefined)

const readHead = async (first: Uint8Array, options: PresetOptions['options']): Promise<readonly CsvRow[]> => {
  const chunks = async function* () {
    yield first
  }
  const head: CsvRow[] = []
  try {
    for await (const rows of readCsv(chunks(), readCsvForm(options))) {
      head.push(...rows)
      if (head.length > maxRows + 1) break
    }
  } catch {
    // The first bytes of a long file end in the middle of a row. The rows before it are enough.
  }
  // The last row of the first bytes can be cut.
  return head.slice(0, first.length < headBytes ? maxRows + 1 : Math.min(maxRows + 1, head.length - 1))
}

/**
 * Guess the options of a file that no option describes, by its first bytes. Null if the file is a known one, if its headings
 * name its fields, or if it has no row.
 * Source: docs/rules/imports.md #suggestion.
 */
export const suggestOptions = async (
  first: Uint8Array,
  { options, choices, reader, remarks }: PresetOptions,
): Promise<ColumnGuess | null> => {
  if (reader !== undefined || remarks.length > 0) return null
  const [header, ...rows] = await readHead(first, options)
  if (header === undefined || rows.length === 0) return null
  const readings = openCsvReadings(header.cells, choices, readCsvRules(options, null))
  if (!('problem' in readings)) return null
  const columns = findColumns(header.cells, choices, isReadingField)
  // A heading that names a value is an own file whose problem says what is missing.
  if ('problem' in columns || columns.indexes.has('value') || columns.indexes.has('register')) return null
  const guess = guessColumns(
    header.cells,
    rows.map(({ cells }) => cells),
  )
  const hasLocation =
    options['location'] !== undefined || columns.indexes.has('location') || columns.indexes.has('location_reference')
  return hasLocation ? guess : { ...guess, missing: [...guess.missing, 'The location is unknown. Set --location.'] }
}
