import { findColumns } from '../domain/csv/columns.ts'
import { isReadingField, openCsvReadings } from '../domain/csv/csv-readings.ts'
import { type ColumnGuess, guessColumns } from '../domain/csv/guess-columns.ts'
import type { Question } from '../domain/csv/guess-times.ts'
import type { CsvRow } from '../platform/csv.ts'
import { type ReadingOptions, readCsvRules, readReadingColumns } from './csv-options.ts'
import type { PresetOptions } from './find-preset.ts'

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

/** Options without those that describe the fields of a file. Its form in bytes stays. */
export const withoutDescription = (options: ReadingOptions): ReadingOptions =>
  Object.fromEntries(
    Object.entries(options).filter(
      ([name]) => !describing.includes(name) || ['delimiter', 'skip-lines'].includes(name),
    ),
  )

/**
 * Guess the options of a file that no option describes, by its header and first rows. Null if the file is a known one, if
 * its headings name its fields, or if it has no row.
 * Source: docs/rules/imports.md #suggestion.
 */
export const suggestOptions = (
  [header, ...rows]: readonly CsvRow[],
  { options, choices, preset }: PresetOptions,
): ColumnGuess | null => {
  if (preset !== null) return null
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
  const question = { text: 'The location is unknown. Set --location.', answers: ['location', 'location_reference'] }
  return hasLocation ? guess : { ...guess, missing: [...guess.missing, question] }
}

/** Fields of which a file has one: a choice of one of them replaces a guess of another. */
const fieldGroups = [
  ['start', 'end', 'time', 'day'],
  ['value', 'value_export', 'register', 'register_export'],
]

/** Options of a file with those of a guess. `open`: questions that the given options do not answer. */
export type CompletedOptions = { readonly options: ReadingOptions; readonly open: readonly Question[] }

/**
 * Complete options with those of a guess. A given option wins, and a guess that a question concerns is left out.
 * Source: docs/rules/imports.md #suggestion.
 */
export const completeOptions = ({ options: guess, missing }: ColumnGuess, given: ReadingOptions): CompletedOptions => {
  const givenColumns = readReadingColumns(given)
  const names = new Set([...Object.keys(given).filter(name => given[name] !== undefined), ...givenColumns.keys()])
  const excluded = new Set([
    ...missing.flatMap(({ answers }) => answers),
    ...names,
    ...(givenColumns.has('end') ? ['interval'] : []),
    ...fieldGroups.filter(group => group.some(field => givenColumns.has(field))).flat(),
  ])
  const columns = [...[...readReadingColumns(guess)].filter(([field]) => !excluded.has(field)), ...givenColumns]
  const others = Object.entries(guess).filter(([name]) => name !== 'columns' && !excluded.has(name))
  return {
    options: {
      ...Object.fromEntries(others),
      ...given,
      columns: columns.map(([field, choice]) => `${field}=${choice.includes(',') ? `"${choice}"` : choice}`).join(','),
    },
    open: missing.filter(({ answers }) => !answers.some(name => names.has(name))),
  }
}
