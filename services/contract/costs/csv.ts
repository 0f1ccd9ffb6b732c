import { type ExactNumber, isExactNumber, numberText } from '../json/exact-number.ts'

/** Cell of a table; absent values are empty cells. */
export type Cell = string | number | boolean | ExactNumber | null | undefined

const needsQuotes = /[",\r\n]/
/**
 * Spreadsheets read such a text as a formula. A leading apostrophe prevents this. Texts that have apostrophes before it get
 * one more, so that an import that removes one restores every text.
 */
const looksLikeFormula = /^'*[=+\-@\t\r]/

const cellText = (cell: Cell): string => {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'number' || isExactNumber(cell)) return numberText(cell)
  if (typeof cell === 'boolean') return String(cell)
  const safe = looksLikeFormula.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/**
 * Write a table as RFC 4180 text: first the column names, lines with CR LF, numbers with all digits.
 * With `names` null, write further rows of a table.
 */
export const csvText = (names: readonly string[] | null, rows: readonly (readonly Cell[])[]): string =>
  [...(names === null ? [] : [names]), ...rows].map(row => `${row.map(cellText).join(',')}\r\n`).join('')
