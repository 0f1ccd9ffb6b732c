import { type ColumnsProblem, indexOfChoice, unguardText } from './columns.ts'
import type { CsvRules } from './csv-rules.ts'

/** Texts of a column whose rows are not selected. */
export type LeftOutTexts = { readonly heading: string; readonly texts: readonly string[] }

/** Selects the rows whose columns have the texts of the rules. */
export type RowSelection = {
  /** Indexes of the columns that select. */
  readonly indexes: readonly number[]
  readonly has: (cells: readonly string[]) => boolean
  /** Texts of the rows that are not selected, by the column that left them out. The first few of each. */
  readonly leftOut: () => readonly LeftOutTexts[]
}

/** Texts of a column that are kept, and the length of a kept text and of a heading. */
const [maxTexts, maxLength] = [10, 40]

/** Return the sentence that names the texts of a column whose rows are not selected. */
export const leftOutText = ({ heading, texts }: LeftOutTexts): string => {
  const more = texts.length > maxTexts ? ', …' : ''
  const named = texts.slice(0, maxTexts).map(text => text || '(empty)')
  return `Rows with another text of "${heading.slice(0, maxLength)}" are left out: ${named.join(', ')}${more}.`
}

/** Open the selection of the rows of a file with this header. Returns a problem if it has no such column. */
export const rowSelection = (
  header: readonly string[],
  { where }: Pick<CsvRules, 'where'>,
): RowSelection | ColumnsProblem => {
  const columns: { index: number; text: string; others: Set<string> }[] = []
  for (const { heading, text } of where) {
    const index = indexOfChoice(header, heading)
    if (typeof index !== 'number') return index
    columns.push({ index, text, others: new Set() })
  }
  return {
    indexes: columns.map(({ index }) => index),
    has: cells => {
      for (const { index, text, others } of columns) {
        const cell = unguardText(cells[index] ?? '').trim()
        if (cell === text) continue
        if (others.size <= maxTexts) others.add(cell.slice(0, maxLength))
        return false
      }
      return true
    },
    leftOut: () =>
      columns.flatMap(({ index, others }) =>
        others.size === 0 ? [] : [{ heading: header[index] ?? '', texts: [...others] }],
      ),
  }
}
