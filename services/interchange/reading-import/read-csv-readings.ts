import { UsageError } from '../../platform/failure.ts'
import type { ColumnChoices } from '../domain/csv/columns.ts'
import { type CsvReadings, openCsvReadings } from '../domain/csv/csv-readings.ts'
import type { CsvRules } from '../domain/csv/csv-rules.ts'
import { leftOutText } from '../domain/csv/row-selection.ts'
import type { ReadRow, SourceRow } from '../domain/reading.ts'
import type { Noted } from '../domain/report.ts'
import { type CsvForm, readCsv } from '../platform/csv.ts'
import type { ReadingSource } from './reading-source.ts'

/** Rows that are read and not yet acknowledged, for the report of refused rows. */
const rowMemory = () => {
  let chunks: SourceRow[][] = []
  return {
    add: (rows: SourceRow[]): void => {
      if (rows.length > 0) chunks.push(rows)
    },
    find: (line: number): readonly string[] =>
      chunks.find(rows => (rows.at(-1)?.line ?? 0) >= line)?.find(row => row.line === line)?.cells ?? [],
    forget: (line: number): void => {
      chunks = chunks.filter(rows => (rows.at(-1)?.line ?? 0) > line)
    },
  }
}

const pointerTo = (heading: string): string => `/${heading.replaceAll('~', '~0').replaceAll('/', '~1')}`

const addRow = (readings: CsvReadings, { cells, line, refusal }: SourceRow): ReturnType<CsvReadings['addRow']> => {
  if (refusal === undefined) return readings.addRow(cells, line)
  readings.addRefused(refusal)
  return 'read'
}

/** Open the rows of a file as a source of readings. The rows are read with `openCsvReadings`. */
export const rowReadingSource = (
  allRows: AsyncIterable<readonly SourceRow[]>,
  choices: ColumnChoices,
  rules: CsvRules,
): ReadingSource => {
  const memory = rowMemory()
  const noted: Noted[] = []
  let label: CsvReadings['label'] = null
  let leftOut: CsvReadings['leftOut'] = () => []
  let rowCount = 0
  let blankCount = 0
  let unselectedCount = 0
  const open = (header: SourceRow): CsvReadings => {
    const readings = openCsvReadings(header.cells, choices, rules)
    if ('problem' in readings) throw new UsageError(readings.problem)
    noted.push(
      ...readings.otherHeadings.map(heading => ({ path: pointerTo(heading), message: 'The column is not used.' })),
      ...readings.otherUnits.map(({ heading, unit }) => ({
        path: pointerTo(heading),
        message: `The heading names ${unit}, and the import reads ${rules.unit}.`,
      })),
    )
    label = readings.label
    leftOut = readings.leftOut
    return readings
  }
  const read = async function* (): AsyncGenerator<readonly ReadRow[]> {
    let readings: CsvReadings | undefined
    for await (const rows of allRows) {
      const [header] = rows
      if (header === undefined) continue
      const isFirst = readings === undefined
      readings ??= open(header)
      const kept: SourceRow[] = []
      for (const row of isFirst && readings.hasHeader ? rows.slice(1) : rows) {
        rowCount += 1
        const result = addRow(readings, row)
        if (result === 'read') kept.push(row.source === undefined ? row : { cells: row.source, line: row.line })
        else if (result === 'blank') blankCount += 1
        else unselectedCount += 1
      }
      memory.add(kept)
      yield readings.take()
    }
    readings?.end()
    yield readings?.take() ?? []
  }
  return {
    format: 'csv',
    read,
    label: () => label,
    cellsOf: memory.find,
    forget: memory.forget,
    counts: () => ({
      rows: rowCount,
      blank: blankCount,
      ...(unselectedCount === 0 ? {} : { unselected: unselectedCount }),
    }),
    notes: () => ({
      noted: [...noted, ...leftOut().map(left => ({ path: pointerTo(left.heading), message: leftOutText(left) }))],
      notImported: [],
    }),
  }
}

/** Open a CSV file as a source of readings. */
export const csvReadingSource = (
  chunks: AsyncIterable<Uint8Array>,
  form: CsvForm,
  choices: ColumnChoices,
  rules: CsvRules,
): ReadingSource => rowReadingSource(readCsv(chunks, form), choices, rules)
