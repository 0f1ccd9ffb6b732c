import type { ColumnChoices } from '../domain/csv/columns.ts'
import type { CsvRules } from '../domain/csv/csv-rules.ts'
import { maxNem12Columns, nem12Headings, nem12Reader } from '../domain/nem12.ts'
import type { SourceRow } from '../domain/reading.ts'
import { type CsvForm, readCsv } from '../platform/csv.ts'
import { rowReadingSource } from './read-csv-readings.ts'
import type { ReadingSource } from './reading-source.ts'

/** Fields and headings that separate the meters of a file. */
const objectFields = ['location', 'location_reference', 'device', 'device_reference']

/**
 * Open a NEM12 file as a source of readings.
 * Source: docs/rules/imports.md #nem12.
 */
export const nem12ReadingSource = (
  chunks: AsyncIterable<Uint8Array>,
  form: CsvForm,
  choices: ColumnChoices,
  rules: CsvRules,
): ReadingSource => {
  const hasMeters =
    objectFields.some(field => (choices.get(field) ?? '') !== '') ||
    rules.where.some(({ heading }) => heading === 'NMI')
  const reader = nem12Reader(hasMeters)
  const rows = async function* (): AsyncGenerator<readonly SourceRow[]> {
    yield [{ cells: nem12Headings, line: 1 }]
    for await (const lines of readCsv(chunks, { ...form, maxColumns: maxNem12Columns }))
      yield lines.flatMap(({ cells, line }) => reader.add(cells, line))
    yield reader.end()
  }
  const source = rowReadingSource(rows(), choices, rules)
  const notes = (): ReturnType<ReadingSource['notes']> => {
    const { noted, notImported } = source.notes()
    return { noted: [...noted, ...reader.noted()], notImported }
  }
  return { ...source, notes }
}
