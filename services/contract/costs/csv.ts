import { type ExactNumber, isExactNumber, numberText } from '../json/exact-number.ts'

/** A cell of a table: absent ones are empty. */
export type Cell = string | number | boolean | ExactNumber | null | undefined

const needsQuotes = /[",\r\n]/
/** Spreadsheets take such a text for a formula; a leading apostrophe keeps it a text. */
const looksLikeFormula = /^[=+\-@\t\r]/

const cellText = (cell: Cell): string => {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'number' || isExactNumber(cell)) return numberText(cell)
  if (typeof cell === 'boolean') return String(cell)
  const safe = looksLikeFormula.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Write a table as RFC 4180 text: names first, lines ended by CR LF, numbers with all their digits. `names` null: a further part of a table. */
export const csvText = (names: readonly string[] | null, rows: readonly (readonly Cell[])[]): string =>
  [...(names === null ? [] : [names]), ...rows].map(row => `${row.map(cellText).join(',')}\r\n`).join('')
