import { strToU8, type Zippable, zipSync } from 'fflate'

/** Cell of a test: a text, a number by its text in the file, or the XML of a cell without its reference. */
export type TestCell = string | { readonly number: string; readonly style?: number } | { readonly xml: string } | null

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Letters of a column from 0, up to ZZ. */
const letters = (column: number): string =>
  `${column < 26 ? '' : String.fromCharCode(64 + Math.floor(column / 26))}${String.fromCharCode(65 + (column % 26))}`

export type TestWorkbook = {
  readonly sheets: Readonly<Record<string, readonly (readonly TestCell[])[]>>
  readonly usesSharedTexts?: boolean
  readonly system?: 1900 | 1904
  /** Parts that replace those of the workbook. */
  readonly parts?: Zippable
}

/** Formats of the styles 0 to 6: General, and 1: date, 2: time, 3: both, 4: built-in 22, 5: elapsed, 6: number. */
const formatIds = [0, 164, 165, 166, 22, 167, 168]
const formats = ['dd\\/mm\\/yyyy', 'hh:mm', 'yyyy-mm-dd hh:mm:ss', '[h]:mm', '#,##0.00" kWh";[Red]-0.00']

const styles = `<styleSheet><numFmts>${formats
  .map((code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${code.replaceAll('"', '&quot;')}"/>`)
  .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${formatIds
  .map(id => `<xf numFmtId="${id}"/>`)
  .join('')}</cellXfs></styleSheet>`

/** Make the bytes of a workbook. */
export const makeWorkbook = ({
  sheets,
  usesSharedTexts = false,
  system = 1900,
  parts = {},
}: TestWorkbook): Uint8Array => {
  const texts: string[] = []
  const textCell = (reference: string, text: string): string => {
    if (!usesSharedTexts) return `<c r="${reference}" t="inlineStr"><is><t>${escaped(text)}</t></is></c>`
    texts.push(text)
    return `<c r="${reference}" t="s"><v>${texts.length - 1}</v></c>`
  }
  const cellXml = (cell: TestCell, reference: string): string => {
    if (cell === null) return ''
    if (typeof cell === 'string') return textCell(reference, cell)
    return 'xml' in cell ? cell.xml : `<c r="${reference}" s="${cell.style ?? 0}"><v>${cell.number}</v></c>`
  }
  const rowXml = (cells: readonly TestCell[], line: number): string =>
    `<row r="${line}">${cells.map((cell, column) => cellXml(cell, `${letters(column)}${line}`)).join('')}</row>`
  const sheetParts = Object.values(sheets).map((rows, index): [string, Uint8Array] => [
    `xl/worksheets/sheet${index + 1}.xml`,
    strToU8(`<worksheet><sheetData>${rows.map((row, line) => rowXml(row, line + 1)).join('')}</sheetData></worksheet>`),
  ])
  const names = Object.keys(sheets)
  const relation = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet'
  return zipSync({
    '[Content_Types].xml': strToU8('<Types/>'),
    'xl/workbook.xml': strToU8(
      `<workbook><workbookPr date1904="${system === 1904 ? 1 : 0}"/><sheets>${names
        .map((name, index) => `<sheet name="${escaped(name)}" sheetId="${index + 1}" r:id="r${index + 1}"/>`)
        .join('')}</sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': strToU8(
      `<Relationships>${names
        .map(
          (_, index) =>
            `<Relationship Id="r${index + 1}" Type="${relation}" Target="worksheets/sheet${index + 1}.xml"/>`,
        )
        .join('')}</Relationships>`,
    ),
    'xl/styles.xml': strToU8(styles),
    ...Object.fromEntries(sheetParts),
    'xl/sharedStrings.xml': strToU8(
      `<sst>${texts.map(text => `<si><r><t>${escaped(text)}</t></r><rPh><t>x</t></rPh></si>`).join('')}</sst>`,
    ),
    ...parts,
  })
}
