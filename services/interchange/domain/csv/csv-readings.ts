import { type ReadRow, type RefusedRow, refusedRow } from '../reading.ts'
import {
  type ColumnChoices,
  type Columns,
  type ColumnsProblem,
  findColumns,
  indexOfChoice,
  readingFields,
} from './columns.ts'
import { type CsvRules, columnsProblem, unitInHeading } from './csv-rules.ts'
import { intervalSteps } from './interval-steps.ts'
import { type LocalTimes, localTimes } from './local-times.ts'
import { isLongRow, labelOfInterval, longRowReader, type RowReader, valueFields } from './long-rows.ts'
import { type OtherColumn, otherQuantityReader } from './other-quantity.ts'
import { type LeftOutTexts, rowSelection } from './row-selection.ts'
import { rowSums } from './sum-rows.ts'
import { findDayColumns, wideRowReader } from './wide-rows.ts'

/** Reader of the rows of a file, in order. */
export type CsvReadings = {
  /** Headings that give no member of a reading. */
  readonly otherHeadings: readonly string[]
  /** Headings of values that name another unit than the rules, with this unit. */
  readonly otherUnits: readonly { readonly heading: string; readonly unit: string }[]
  /** Texts of the rows that are not selected, by the column that left them out. The first few of each. */
  readonly leftOut: () => readonly LeftOutTexts[]
  /** Whether the first row of the file has headings. Else it is a row of readings. */
  readonly hasHeader: boolean
  /** Meaning of the single time of a row; null if rows have both times, or another layout. */
  readonly label: 'start' | 'end' | null
  /** Add a row. A blank row has no value. An unselected row has another text in a column than the rules require. */
  readonly addRow: (cells: readonly string[], line: number) => 'read' | 'blank' | 'unselected'
  /** Add a row that its format refuses. */
  readonly addRefused: (row: RefusedRow) => void
  /** Return the readings and refused rows that are complete, in file order. */
  readonly take: () => readonly ReadRow[]
  /** Complete the rows that wait for the second run of a doubled hour. */
  readonly end: () => void
}

const isReadingField = (name: string): boolean => (readingFields as readonly string[]).includes(name)

/** Read choices of columns for readings. */
export { isReadingField }

/** Return whether a row has the columns of the header. The header or the row can have a delimiter at its end. */
const hasColumnsOf = (header: readonly string[], cells: readonly string[]): boolean =>
  cells.length === header.length ||
  (cells.length === header.length + 1 && cells.at(-1) === '') ||
  (cells.length === header.length - 1 && header.at(-1)?.trim() === '')

/** Rows of a file without a zone: all times have an offset. */
const instantsOnly = (): LocalTimes => {
  let rows: ReadRow[] = []
  return {
    add: row => rows.push(row),
    addLocal: line => rows.push(refusedRow(line, null, 'not_a_time', 'The time has no UTC offset. Set --zone.')),
    take: () => {
      const taken = rows
      rows = []
      return taken
    },
    end: () => undefined,
  }
}

/** Find headings of values that name another unit than the rules. */
const findOtherUnits = (
  header: readonly string[],
  { indexes }: Columns,
  { unit }: CsvRules,
): CsvReadings['otherUnits'] => {
  if (indexes.has('unit')) return []
  return valueFields.flatMap(field =>
    (indexes.get(field) ?? []).flatMap(index => {
      const heading = header[index] ?? ''
      const named = unitInHeading(heading)
      return named === undefined || named === unit ? [] : [{ heading, unit: named }]
    }),
  )
}

const maxListedHeadings = 20
const maxHeadingLength = 40

const listHeadings = (header: readonly string[]): string => {
  const listed = header.slice(0, maxListedHeadings).map(heading => heading.slice(0, maxHeadingLength))
  return [...listed, ...(header.length > maxListedHeadings ? ['…'] : [])].join(', ')
}

/**
 * Return the columns of a file without headings: all columns are chosen by number, and the first row has readings.
 * Null: the first row has headings.
 */
const columnsWithoutHeader = (first: readonly string[], choices: ColumnChoices, rules: CsvRules): Columns | null => {
  const numbers = first.map((_, index) => String(index + 1))
  const chosen = [...choices.values()].filter(choice => choice !== '').flatMap(choice => choice.split('+'))
  if (rules.layout === 'wide' || chosen.length === 0 || !chosen.every(choice => numbers.includes(choice.trim())))
    return null
  const columns = findColumns(numbers, choices, isReadingField)
  if ('problem' in columns || columnsProblem(columns, rules) !== null) return null
  return isLongRow(columns, rules, first) ? columns : null
}

/**
 * Open a reader for a file with this first row. Returns a problem if the columns do not give readings.
 * Law: rows leave in file order, so the last row taken is the last one that is complete.
 * Source: docs/rules/imports.md #csv.
 */
export const openCsvReadings = (
  firstRow: readonly string[],
  choices: ColumnChoices,
  rules: CsvRules,
): CsvReadings | ColumnsProblem => {
  const withoutHeader = columnsWithoutHeader(firstRow, choices, rules)
  const hasHeader = withoutHeader === null
  const header = hasHeader ? firstRow : firstRow.map((_, index) => String(index + 1))
  const columns = withoutHeader ?? findColumns(header, choices, isReadingField)
  if ('problem' in columns) return columns
  const problem = columnsProblem(columns, rules)
  if (problem !== null) return { problem: `${problem.problem} The file has the columns ${listHeadings(header)}.` }
  const times = rules.zone === null ? instantsOnly() : localTimes(rules.zone, rules.ambiguous)
  const selection = rowSelection(header, rules)
  if ('problem' in selection) return selection
  const sumIndex = rules.sum === null ? -1 : indexOfChoice(header, rules.sum)
  if (typeof sumIndex !== 'number') return sumIndex
  const sums = rules.sum === null ? null : rowSums()
  const label = labelOfInterval(columns, rules)
  const steps = label === null ? null : intervalSteps(label)
  const selecting = new Set([...selection.indexes, sumIndex])
  const open = (readRow: RowReader, usedOthers: ReadonlySet<number>): CsvReadings => {
    const others = columns.others
      .filter(index => !usedOthers.has(index) && !selecting.has(index))
      .map((index): OtherColumn => ({ name: header[index] ?? '', index }))
    const findOtherQuantity = otherQuantityReader(others, rules, choices)
    return {
      otherHeadings: others.map(({ name }) => name),
      otherUnits: findOtherUnits(header, columns, rules),
      leftOut: selection.leftOut,
      hasHeader,
      label,
      addRefused: row => times.add(row),
      addRow: (cells, line) => {
        if (!selection.has(cells)) return 'unselected'
        const isShortDay = rules.layout === 'wide' && cells.length < header.length
        const hasColumns = isShortDay || hasColumnsOf(header, cells)
        const other = hasColumns ? findOtherQuantity(cells) : null
        if (hasColumns && other === null) return readRow(cells, line) ? 'read' : 'blank'
        const message = `The row has ${cells.length} columns, and the header has ${header.length}.`
        times.add(
          other === null
            ? refusedRow(line, null, 'wrong_columns', message)
            : refusedRow(line, other.heading, 'other_quantity', other.message),
        )
        return 'read'
      },
      take: () => {
        sums?.add(times.take())
        const rows = (sums ?? times).take()
        if (steps === null) return rows
        steps.add(rows)
        return steps.take()
      },
      end: () => {
        times.end()
        sums?.end()
        steps?.end()
      },
    }
  }
  if (rules.layout === 'long' || rules.zone === null)
    return open(longRowReader(header, columns, rules, times), new Set())
  const dayColumns = findDayColumns(header, columns, rules.interval)
  if ('problem' in dayColumns) return dayColumns
  const used = new Set(dayColumns.columns.map(({ index }) => index))
  return open(wideRowReader(header, columns, dayColumns, rules, rules.zone, times), used)
}
