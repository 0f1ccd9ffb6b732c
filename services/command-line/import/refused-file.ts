import { closeSync, createReadStream, existsSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import type { RefusedRow, RowCode } from '../../domain/interchange/reading.ts'
import { readCsv } from '../../platform/interchange/csv.ts'
import { maxListed } from './import-report.ts'

/** File with all refused rows of an import, and the first of them in memory. */
export type RefusedFile = {
  /** Append a row with the cells of its line. */
  readonly add: (row: RefusedRow, cells: readonly string[]) => void
  readonly count: () => number
  readonly listed: () => readonly RefusedRow[]
  /** Size of the file in bytes. */
  readonly bytes: () => number
  /** Path of the file; null if no row is refused. */
  readonly path: () => string | null
  readonly close: () => void
}

const quoted = (cell: string): string => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
const joined = (cells: readonly string[]): string => cells.map(quoted).join(',')
const rowText = (cells: readonly string[]): string => `${joined(cells)}\n`
/** Text of a row with a comma between its cells, or the only cell as it is, such as a line of NDJSON. */
const sourceText = (cells: readonly string[]): string => (cells.length === 1 ? (cells[0] ?? '') : joined(cells))

const header = rowText(['line', 'field', 'code', 'message', 'row'])

const readListed = async (path: string): Promise<RefusedRow[]> => {
  const rows: RefusedRow[] = []
  const form = { delimiter: ',', encoding: null, skipLines: 1 }
  for await (const chunk of readCsv(createReadStream(path), form)) {
    for (const { cells } of chunk) {
      const [line = '', field = '', code = '', message = ''] = cells
      rows.push({ line: Number(line), field: field === '' ? null : field, code: code as RowCode, message })
      if (rows.length === maxListed) return rows
    }
  }
  return rows
}

/**
 * Open the file of refused rows. `kept` are the rows and bytes of an earlier run that continues: the rest of the file is
 * removed. A file of another import is removed.
 */
export const openRefusedFile = async (
  path: string,
  kept: { readonly refused: number; readonly refusedBytes: number } | null,
): Promise<RefusedFile> => {
  const isKept = kept !== null && kept.refused > 0 && existsSync(path)
  if (isKept) truncateSync(path, kept.refusedBytes)
  else rmSync(path, { force: true })
  let count = isKept ? kept.refused : 0
  let bytes = isKept ? kept.refusedBytes : 0
  const listed = isKept ? await readListed(path) : []
  let file: number | null = null
  const append = (text: string): void => {
    file ??= openSync(path, 'a')
    bytes += writeSync(file, text)
  }
  return {
    add: (row, cells) => {
      if (count === 0) append(header)
      append(rowText([String(row.line), row.field ?? '', row.code, row.message, sourceText(cells)]))
      count += 1
      if (listed.length < maxListed) listed.push(row)
    },
    count: () => count,
    listed: () => listed,
    bytes: () => bytes,
    path: () => (count === 0 ? null : path),
    close: () => {
      if (file !== null) closeSync(file)
      file = null
    },
  }
}
