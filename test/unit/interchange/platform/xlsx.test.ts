import { deflateRawSync } from 'node:zlib'
import { strToU8 } from 'fflate'
import { describe, expect, it } from 'vitest'
import { dateCellText, dateFormatOf, numberCellText } from '../../../../services/interchange/domain/spreadsheet-cell.ts'
import { isWorkbook, openArchive } from '../../../../services/interchange/platform/archive.ts'
import { readSheetRows, type SheetForm } from '../../../../services/interchange/platform/xlsx/sheet-rows.ts'
import { openWorkbook, xlsxLimits } from '../../../../services/interchange/platform/xlsx/workbook.ts'
import { inflatePart } from '../../../../services/interchange/platform/xlsx/zip-parts.ts'
import { openWorksheet } from '../../../../services/interchange/reading-import/read-worksheet.ts'
import { makeWorkbook, type TestCell, type TestWorkbook } from '../../../support/interchange/make-workbook.ts'

const form: SheetForm = { sheet: null, skipLines: 0, decimal: '.' }

const read = async (bytes: Uint8Array, options: Partial<SheetForm> = {}) =>
  (await Array.fromAsync(readSheetRows(await openWorkbook(bytes), { ...form, ...options }))).flat()

const rowsOf = (rows: readonly (readonly TestCell[])[], options: Partial<TestWorkbook> = {}) =>
  read(makeWorkbook({ sheets: { One: rows }, ...options }))

describe('a cell of a worksheet', () => {
  it.each([
    ['0.30000000000000004', '0.3'],
    ['0.348', '0.348'],
    ['123456789.123456', '123456789.123456'],
    ['1234567890.1234567', '1234567890.12346'],
    ['100', '100'],
    ['1234567890123456xyz', '1234567890123456xyz'],
    ['1.2E-3', '1.2E-3'],
    ['-5.0000000000000001E-2', '-0.05'],
  ])('with the number %s is read as %s: at most 15 digits', (text, expected) => {
    expect(numberCellText(text, '.')).toBe(expected)
    expect(numberCellText(text, ',')).toBe(expected.replace('.', ','))
  })

  it.each([
    ['46110', 'date', 1900, '2026-03-29'],
    ['46110.010416666664', 'date', 1900, '2026-03-29 00:15'],
    ['46110.999988425923', 'date_time', 1900, '2026-03-29 23:59:59'],
    ['46109.9999999999', 'date_time', 1900, '2026-03-29 00:00'],
    ['44648', 'date', 1904, '2026-03-29'],
    ['0.0104166666666667', 'time', 1900, '00:15'],
    ['1', 'elapsed', 1900, '24:00'],
    ['1', 'date', 1900, '1900-01-01'],
    ['-1', 'date', 1900, '-1'],
    ['x', 'date', 1900, 'x'],
  ] as const)('with the date %s as %s since %i is %s', (text, format, system, expected) => {
    expect(dateCellText(text, format, system)).toBe(expected)
  })

  it.each([
    ['General', null],
    ['0.00', null],
    ['#,##0.00" days"', null],
    ['[Red]0.0', null],
    ['dd/mm/yyyy', 'date'],
    ['[$-409]d\\-mmm\\-yy', 'date'],
    ['h:mm AM/PM', 'time'],
    ['yyyy-mm-dd hh:mm:ss', 'date_time'],
    ['[h]:mm', 'elapsed'],
  ])('with the format %s shows %s', (text, expected) => {
    expect(dateFormatOf(text)).toBe(expected)
  })
})

describe('a worksheet', () => {
  const rows: readonly (readonly TestCell[])[] = [
    ['Preface & more'],
    [],
    ['Date', 'Hour', 'Value', 'Note'],
    [
      { number: '46110', style: 1 },
      { number: '0.0104166666666667', style: 2 },
      { number: '0.1', style: 6 },
    ],
    [null, '00:30', { xml: '<c r="C5" t="b"><v>1</v></c>' }, { xml: '<c t="str"><f>1</f><v>a&amp;b</v></c>' }],
    ['', '', '  '],
    [{ number: '46110.5', style: 4 }],
  ]
  const expected = [
    { line: 1, cells: ['Preface & more'] },
    { line: 3, cells: ['Date', 'Hour', 'Value', 'Note'] },
    { line: 4, cells: ['2026-03-29', '00:15', '0.1'] },
    { line: 5, cells: ['', '00:30', 'TRUE', 'a&b'] },
    { line: 7, cells: ['2026-03-29 12:00'] },
  ]

  it('has the rows of a CSV file, with the numbers of its rows as lines', async () => {
    expect(await rowsOf(rows)).toEqual(expected)
    expect(await rowsOf(rows, { usesSharedTexts: true })).toEqual(expected)
  })

  it('has rows with the columns of the header after the skipped rows', async () => {
    const skipped = await read(makeWorkbook({ sheets: { One: rows } }), { skipLines: 2 })
    expect(skipped.map(({ cells }) => cells.length)).toEqual([4, 4, 4, 4])
  })

  it('is read from a zip64 file, and from one that is damaged not', async () => {
    const bytes = asZip64(makeWorkbook({ sheets: { One: rows } }))
    expect(await read(bytes)).toEqual(expected)
    for (const field of ['locator', 'end', 'size'] as const)
      await expect(read(asZip64(makeWorkbook({ sheets: { One: rows } }), field)), field).rejects.toThrow('damaged')
  })

  it('is the first one, or that with the name', async () => {
    const bytes = makeWorkbook({ sheets: { One: [['a']], Two: [['b']] } })
    expect(await read(bytes)).toEqual([{ line: 1, cells: ['a'] }])
    expect(await read(bytes, { sheet: 'two' })).toEqual([{ line: 1, cells: ['b'] }])
    await expect(read(bytes, { sheet: 'Three' })).rejects.toThrow('Its worksheets are "One", "Two".')
  })
})

/** Write a zip file as zip64: all sizes and places of its directory are in extra fields. `damages` one of the numbers. */
function asZip64(zip: Uint8Array, damages?: 'locator' | 'end' | 'size'): Uint8Array {
  const file = Buffer.from(zip)
  const end = file.length - 22
  const [count, directory] = [file.readUInt16LE(end + 10), file.readUInt32LE(end + 16)]
  const entries: Buffer[] = []
  for (let at = directory, index = 0; index < count; index += 1) {
    const length = 46 + file.readUInt16LE(at + 28)
    const entry = Buffer.from(file.subarray(at, at + length))
    const field = Buffer.alloc(4 + 24)
    field.writeUInt16LE(damages === 'size' ? 2 : 1, 0)
    field.writeUInt16LE(24, 2)
    for (const [place, number] of [20, 24, 42].entries()) {
      const value = [24, 20, 42][place] ?? number
      field.writeBigUInt64LE(BigInt(entry.readUInt32LE(value)), 4 + place * 8)
    }
    for (const number of [20, 24, 42]) entry.writeUInt32LE(0xffff_ffff, number)
    entry.writeUInt16LE(field.length, 30)
    entries.push(entry, field)
    at += length + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  const wideEnd = Buffer.alloc(56)
  wideEnd.writeUInt32LE(damages === 'end' ? 0 : 0x06064b50, 0)
  wideEnd.writeBigUInt64LE(44n, 4)
  for (const at of [24, 32]) wideEnd.writeBigUInt64LE(BigInt(count), at)
  wideEnd.writeBigUInt64LE(BigInt(directory), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  const wideAt = directory + entries.reduce((sum, part) => sum + part.length, 0)
  locator.writeBigUInt64LE(BigInt(damages === 'locator' ? 2 ** 40 : wideAt), 8)
  const last = Buffer.from(file.subarray(end))
  last.writeUInt16LE(0xffff, 10)
  last.writeUInt32LE(0xffff_ffff, 16)
  return Buffer.concat([file.subarray(0, directory), ...entries, wideEnd, locator, last])
}

const sheetPart = 'xl/worksheets/sheet1.xml'
const withSheet = (xml: string, level: 0 | 6 = 6): Uint8Array =>
  makeWorkbook({ sheets: { One: [['a']] }, parts: { [sheetPart]: [strToU8(xml), { level }] } })
const rowOf = (cells: string): string => `<worksheet><sheetData><row r="1">${cells}</row></sheetData></worksheet>`

describe('a workbook is refused', () => {
  it.each([
    ['that ends early', makeWorkbook({ sheets: { One: [['a']] } }).subarray(0, 900), 'damaged or incomplete'],
    ['with invalid XML', withSheet('<worksheet><sheetData></row>'), 'not valid XML'],
    ['with a document type', withSheet(`<!DOCTYPE x [<!ENTITY a "b">]>${rowOf('')}`), 'not valid XML'],
    ['with deep elements', withSheet('<a>'.repeat(40)), 'not valid XML'],
    ['with a huge text', withSheet(rowOf(`<c><v>${' '.repeat(3 * 2 ** 20)}`), 0), 'not valid XML'],
    ['with a bomb', withSheet(rowOf('<c/>'.repeat(4 * 2 ** 20))), 'inflates to more than 200 times'],
    ['with 201 columns', withSheet(rowOf('<c r="GS1"><v>1</v></c>')), '201 columns'],
    ['with a long row', withSheet(rowOf(`<c t="str"><v>${'ab'.repeat(40_000)}</v></c>`)), 'longer than 64 KiB'],
    ['with rows in another order', withSheet(rowOf('<row r="1"/>')), 'not in order after row 1'],
  ])('%s', async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toThrow(new RegExp(message))
  })

  const withPart = (name: string, xml: string): Uint8Array =>
    makeWorkbook({ sheets: { One: [['a']] }, parts: { [name]: [strToU8(xml), { level: 0 }] } })
  const textsOf = (count: number): string => `<sst>${'<si/>'.repeat(count)}</sst>`
  /** Texts of 1 Ki characters, and a last one. */
  const charactersOf = (count: number): string =>
    `<sst>${`<si><t>${'x'.repeat(1024)}</t></si>`.repeat(Math.floor(count / 1024))}<si><t>${'x'.repeat(count % 1024)}</t></si></sst>`
  const formatsOf = (count: number): string =>
    `<styleSheet><cellXfs>${'<xf numFmtId="0"/>'.repeat(count)}</cellXfs></styleSheet>`
  const [texts, styles] = ['xl/sharedStrings.xml', 'xl/styles.xml']
  const longCell = (length: number): string => rowOf(`<c t="str"><v>${'x'.repeat(length)}</v></c>`)
  const nest = (depth: number): string => '<a>'.repeat(depth) + '</a>'.repeat(depth)

  it.each([
    ['1,000,000 texts', (more: number) => withPart(texts, textsOf(xlsxLimits.sharedTexts + more))],
    ['32 Mi characters', (more: number) => withPart(texts, charactersOf(xlsxLimits.sharedCharacters + more))],
    ['100,000 formats', (more: number) => withPart(styles, formatsOf(xlsxLimits.formats + more))],
    ['200 columns', (more: number) => withSheet(rowOf(`<c r="${more === 0 ? 'GR' : 'GS'}1"><v>1</v></c>`))],
    ['a row of 64 KiB', (more: number) => withSheet(longCell(65_536 + more), 0)],
    ['32 levels', (more: number) => withSheet(nest(32 + more))],
  ])('above its limit, and read at its limit: %s', async (_, bytesOf) => {
    expect(await read(bytesOf(0))).toBeInstanceOf(Array)
    await expect(read(bytesOf(1))).rejects.toThrow(/Save|Remove|longer than 64 KiB/)
  })

  it('above 64 MiB', async () => {
    const one = async function* (bytes: number) {
      yield Buffer.alloc(bytes)
    }
    // Bytes of no workbook: a file at the limit is read.
    await expect(openWorksheet(one(xlsxLimits.fileBytes), {})).rejects.toThrow('damaged or incomplete')
    await expect(openWorksheet(one(xlsxLimits.fileBytes + 1), {})).rejects.toThrow('larger than 64 MiB')
  })

  it('above the inflated size of a part or its multiple, and read at both', async () => {
    const size = 3 * 2 ** 20
    const part = { method: 8, bytes: deflateRawSync(Buffer.alloc(size), { level: 9 }) }
    const inflate = (bytes: number, ratio: number) => Array.fromAsync(inflatePart(part, { bytes, ratio }))
    const ratio = size / part.bytes.length
    expect(Buffer.concat(await inflate(size, ratio)).length).toBe(size)
    await expect(inflate(size - 1, ratio)).rejects.toThrow('inflates to more than')
    await expect(inflate(size, (size - 1) / part.bytes.length)).rejects.toThrow('inflates to more than')
  })

  it('where only texts are read, and in .xls', async () => {
    const one = async function* (bytes: Uint8Array) {
      yield bytes
    }
    const workbook = makeWorkbook({ sheets: { One: [['a']] } })
    expect(isWorkbook(workbook)).toBe(true)
    await expect(Array.fromAsync(openArchive(one(workbook)))).rejects.toThrow('Save its worksheet as CSV')
    const old = Buffer.from('d0cf11e0a1b11ae1', 'hex')
    await expect(Array.fromAsync(openArchive(one(old), { keepsWorkbook: true }))).rejects.toThrow('.xls')
  })
})
