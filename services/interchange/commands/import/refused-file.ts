import { closeSync, createReadStream, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import type { RefusedRow, RowCode } from '../../domain/reading.ts'
import { readCsv } from '../../platform/csv.ts'
import { maxListed } from '../../reading-import/reading-source.ts'
import { type ImportPaths, type ImportState, removeState } from './import-files.ts'

/** File with all refused rows of an import, and the first of them in memory. */
export type RefusedFile = {
  /** Remove the rows and the state of another import. Call it when the first rows are sent. */
  readonly begin: () => void
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

/** Read the first rows in the first bytes of a file. */
const readListed = async (path: string, bytes: number): Promise<RefusedRow[]> => {
  const rows: RefusedRow[] = []
  const form = { delimiter: ',', encoding: null, skipLines: 1 }
  for await (const chunk of readCsv(createReadStream(path, { end: bytes - 1 }), form)) {
    for (const { cells } of chunk) {
      const [line = '', field = '', code = '', message = ''] = cells
      rows.push({ line: Number(line), field: field === '' ? null : field, code: code as RowCode, message })
      if (rows.length === maxListed) return rows
    }
  }
  return rows
}

/** Refused rows of an earlier run that continues. */
type KeptRows = Pick<ImportState, 'refused' | 'refusedBytes'>

const [quote, lineEnd] = [0x22, 0x0a]

/** Count the rows in the first bytes of a file. Null if the last one is not complete. */
const countRows = async (path: string, bytes: number): Promise<number | null> => {
  let [rows, read, last] = [0, 0, lineEnd]
  let isQuoted = false
  for await (const chunk of createReadStream(path, { end: bytes - 1 }) as AsyncIterable<Uint8Array>) {
    read += chunk.length
    for (const byte of chunk) {
      last = byte
      if (byte === quote) isQuoted = !isQuoted
      else if (byte === lineEnd && !isQuoted) rows += 1
    }
  }
  return read === bytes && last === lineEnd && !isQuoted ? rows : null
}

/** Return whether the file has the refused rows of a state. It has not if it is missing, shorter or changed. */
export const hasKeptRows = async (path: string, { refused, refusedBytes }: KeptRows): Promise<boolean> => {
  if (refused === 0) return true
  try {
    const rows = await countRows(path, refusedBytes)
    const listed = await readListed(path, refusedBytes)
    return rows === refused + 1 && listed.length === Math.min(refused, maxListed)
  } catch {
    // The import finds the refused rows of an unreadable file again.
    return false
  }
}

/**
 * Open the file of refused rows. `kept` are the rows and bytes of an earlier run that continues: the rest of the file is
 * removed. A file of another import is removed with its state. Nothing changes before the first rows are sent.
 */
export const openRefusedFile = async (
  { refused: path, state: statePath }: ImportPaths,
  kept: KeptRows | null,
): Promise<RefusedFile> => {
  const isKept = kept !== null && kept.refused > 0
  let count = isKept ? kept.refused : 0
  let bytes = isKept ? kept.refusedBytes : 0
  const listed = isKept ? await readListed(path, bytes) : []
  let hasBegun = false
  let file: number | null = null
  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    // The state goes first, because it must never name refused rows that the file does not have.
    if (kept === null && statePath !== null) removeState(statePath)
    if (isKept) truncateSync(path, bytes)
    else rmSync(path, { force: true })
  }
  const append = (text: string): void => {
    file ??= openSync(path, 'a')
    bytes += writeSync(file, text)
  }
  return {
    begin,
    add: (row, cells) => {
      begin()
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
