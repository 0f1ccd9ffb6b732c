import { Failure } from '../../../platform/failure.ts'
import { dateCellText, numberCellText } from '../../domain/spreadsheet-cell.ts'
import { type CsvRow, csvLimits } from '../csv.ts'
import { partLimits, unescapeText, type Workbook } from './workbook.ts'
import { type ElementReader, readElements } from './xml-elements.ts'
import { inflatePart } from './zip-parts.ts'

/** Form of a worksheet: its name (null: the first one), the rows before the header, and the decimal mark of numbers. */
export type SheetForm = { readonly sheet: string | null; readonly skipLines: number; readonly decimal: '.' | ',' }

type SheetCell = { readonly column: number; readonly type: string; readonly style: number; text: string }

type SheetRow = { readonly line: number; cells: string[]; characters: number }

const refuse = (message: string): Failure => new Failure('file_unreadable', message)

/** Return the column of a reference such as `AB12`, from 0; undefined for other texts. */
const columnOf = (reference: string | undefined): number | undefined => {
  const [letters] = /^[A-Z]{1,3}(?=\d)/.exec(reference ?? '') ?? []
  if (letters === undefined) return undefined
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1
}

const cellText = ({ sharedTexts, styles, system }: Workbook, cell: SheetCell, decimal: '.' | ','): string => {
  const { type, text } = cell
  if (type === 's') return sharedTexts[Number(text)] ?? ''
  if (type === 'b') return text === '1' ? 'TRUE' : text === '0' ? 'FALSE' : text
  if (type !== 'n') return unescapeText(text)
  const format = styles[cell.style] ?? null
  return format === null ? numberCellText(text, decimal) : dateCellText(text, format, system)
}

/** Return a reader of the elements of a worksheet. Rows are complete at their end; `add` receives rows with a text. */
const sheetReader = (workbook: Workbook, decimal: '.' | ',', add: (row: CsvRow) => void): ElementReader => {
  let row: SheetRow = { line: 0, cells: [], characters: 0 }
  let cell: SheetCell | null = null
  let [isText, isPhonetic, nextColumn] = [false, false, 0]
  const addCell = ({ column }: SheetCell, text: string): void => {
    if (text === '') return
    if (column >= csvLimits.columns)
      throw refuse(
        `Row ${row.line}: the row has ${column + 1} columns. At most ${csvLimits.columns} are allowed. Remove the others.`,
      )
    row.characters += text.length
    if (row.characters > csvLimits.rowBytes)
      throw refuse(`Row ${row.line}: the row is longer than ${csvLimits.rowBytes / 1024} KiB.`)
    while (row.cells.length < column) row.cells.push('')
    row.cells[column] = text
  }
  return {
    open: (name, attribute) => {
      if (name === 'row') {
        const line = Number(attribute('r') ?? row.line + 1)
        if (!Number.isSafeInteger(line) || line <= row.line)
          throw refuse(`The rows of the worksheet are not in order after row ${row.line}. Save the workbook again.`)
        row = { line, cells: [], characters: 0 }
        nextColumn = 0
      } else if (name === 'c') {
        const column = columnOf(attribute('r')) ?? nextColumn
        nextColumn = column + 1
        cell = { column, type: attribute('t') ?? 'n', style: Number(attribute('s') ?? 0), text: '' }
      } else if (name === 'rPh') isPhonetic = true
      isText = name === 'v' || (name === 't' && !isPhonetic)
    },
    text: text => {
      if (isText && cell !== null) cell.text += text
    },
    close: name => {
      isText = false
      if (name === 'rPh') isPhonetic = false
      if (name === 'c' && cell !== null) {
        addCell(cell, cellText(workbook, cell, decimal))
        cell = null
      }
      if (name === 'row' && row.cells.some(text => text.trim() !== '')) add({ cells: row.cells, line: row.line })
    },
  }
}

const findSheet = ({ sheets }: Workbook, name: string | null): string => {
  const found = name === null ? sheets[0] : sheets.find(sheet => sheet.name.toLowerCase() === name.toLowerCase())
  if (found !== undefined) return found.part
  const names = sheets.slice(0, 20).map(sheet => `"${sheet.name}"`)
  throw refuse(
    names.length === 0
      ? 'The workbook has no worksheet.'
      : `The workbook has no worksheet "${name}". Its worksheets are ${names.join(', ')}.`,
  )
}

/**
 * Read the rows of a worksheet as those of a CSV file: the header is the first row with a text after `skipLines`, and rows
 * have at least the columns of the header. Lines are the numbers of the rows. Rows without a text are left out.
 * Throws `Failure` `file_unreadable` for an unknown worksheet, rows above 64 KiB, and more than 200 columns.
 * Source: docs/rules/imports.md #worksheets.
 */
export async function* readSheetRows(
  workbook: Workbook,
  { sheet, skipLines, decimal }: SheetForm,
): AsyncGenerator<readonly CsvRow[]> {
  const part = workbook.parts.get(findSheet(workbook, sheet))
  if (part === undefined) throw refuse('The workbook is damaged: the part of its worksheet is missing.')
  let rows: CsvRow[] = []
  let width = 0
  const add = ({ cells, line }: CsvRow): void => {
    if (line <= skipLines) return
    if (width === 0) width = cells.length
    const missing = Math.max(0, width - cells.length)
    rows.push({ cells: missing === 0 ? cells : [...cells, ...new Array<string>(missing).fill('')], line })
  }
  for await (const _ of readElements(
    inflatePart(part, partLimits),
    sheetReader(workbook, decimal, add),
    workbook.account,
  )) {
    yield rows
    rows = []
  }
  yield rows
}
