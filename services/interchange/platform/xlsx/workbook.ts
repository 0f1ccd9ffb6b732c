import { Failure } from '../../../platform/failure.ts'
import { builtInDateFormat, type DateFormat, dateFormatOf } from '../../domain/spreadsheet-cell.ts'
import { type ElementReader, readElements } from './xml-elements.ts'
import { inflatePart, type PartLimits, readZipParts, type ZipParts } from './zip-parts.ts'

/** Limits of a workbook: bytes of the file, of an inflated part, and texts that its cells share. */
export const xlsxLimits = {
  fileBytes: 64 * 2 ** 20,
  partBytes: 2 ** 30,
  ratio: 200,
  sharedTexts: 1_000_000,
  sharedCharacters: 32 * 2 ** 20,
  sheets: 1_000,
  formats: 100_000,
} as const

export const partLimits: PartLimits = { bytes: xlsxLimits.partBytes, ratio: xlsxLimits.ratio }

/** Workbook without the cells of its worksheets. */
export type Workbook = {
  readonly parts: ZipParts
  /** Account in whose time slices the parts are read. */
  readonly account: string | undefined
  /** Names of the worksheets in their order, with the names of their parts. */
  readonly sheets: readonly { readonly name: string; readonly part: string }[]
  /** First year of the serial dates. */
  readonly system: 1900 | 1904
  readonly sharedTexts: readonly string[]
  /** Date formats by the number of a cell style. */
  readonly styles: readonly (DateFormat | null)[]
}

const refuse = (message: string): Failure => new Failure('file_unreadable', message)

const ignore = (): void => undefined

type PartsOfAccount = Pick<Workbook, 'parts' | 'account'>

/** Read a part of a workbook, if it is there. */
const readPart = async (
  { parts, account }: PartsOfAccount,
  name: string,
  reader: Partial<ElementReader>,
): Promise<boolean> => {
  const part = parts.get(name)
  if (part === undefined) return false
  const whole: ElementReader = { open: ignore, close: ignore, text: ignore, ...reader }
  for await (const _ of readElements(inflatePart(part, partLimits), whole, account));
  return true
}

/** Characters that a text has as `_x000D_`. */
const escapedCharacter = /_x([0-9A-Fa-f]{4})_/g

/** Return a text of a workbook with its escaped characters. */
export const unescapeText = (text: string): string =>
  text.includes('_x')
    ? text.replace(escapedCharacter, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text

const readSharedTexts = async (parts: PartsOfAccount): Promise<readonly string[]> => {
  const texts: string[] = []
  let [text, isText, isPhonetic, characters] = ['', false, false, 0]
  await readPart(parts, 'xl/sharedStrings.xml', {
    open: name => {
      if (name === 'si') text = ''
      if (name === 'rPh') isPhonetic = true
      isText = name === 't' && !isPhonetic
    },
    text: part => {
      if (!isText) return
      text += part
      characters += part.length
      if (characters > xlsxLimits.sharedCharacters)
        throw refuse('The texts of the workbook have more than 32 Mi characters. Save the worksheet as CSV.')
    },
    close: name => {
      isText = false
      if (name === 'rPh') isPhonetic = false
      if (name !== 'si') return
      texts.push(unescapeText(text))
      if (texts.length > xlsxLimits.sharedTexts)
        throw refuse('The workbook has more than 1,000,000 different texts. Save the worksheet as CSV.')
    },
  })
  return texts
}

const readStyles = async (parts: PartsOfAccount): Promise<readonly (DateFormat | null)[]> => {
  const formats = new Map<number, DateFormat | null>()
  const styles: (DateFormat | null)[] = []
  let isCellStyle = false
  await readPart(parts, 'xl/styles.xml', {
    open: (name, attribute) => {
      const id = Number(attribute('numFmtId'))
      if (name === 'cellXfs') isCellStyle = true
      if (name === 'numFmt') formats.set(id, dateFormatOf(attribute('formatCode') ?? ''))
      if (name === 'xf' && isCellStyle) styles.push(formats.has(id) ? (formats.get(id) ?? null) : builtInDateFormat(id))
      if (styles.length + formats.size > xlsxLimits.formats)
        throw refuse('The workbook has more than 100,000 formats of cells. Save the worksheet as CSV.')
    },
    close: name => {
      if (name === 'cellXfs') isCellStyle = false
    },
  })
  return styles
}

/** Return the name of a part from its path in a relation of `xl/workbook.xml`. */
const partOf = (target: string): string => (target.startsWith('/') ? target.slice(1) : `xl/${target}`)

const readSheets = async (parts: PartsOfAccount): Promise<Pick<Workbook, 'sheets' | 'system'>> => {
  const targets = new Map<string, string>()
  const found: { name: string; relation: string }[] = []
  let system: Workbook['system'] = 1900
  await readPart(parts, 'xl/_rels/workbook.xml.rels', {
    open: (name, attribute) => {
      if (
        name === 'Relationship' &&
        attribute('Type')?.endsWith('/worksheet') === true &&
        targets.size < xlsxLimits.sheets
      )
        targets.set(attribute('Id') ?? '', partOf(attribute('Target') ?? ''))
    },
  })
  const isWorkbook = await readPart(parts, 'xl/workbook.xml', {
    open: (name, attribute) => {
      if (name === 'workbookPr' && ['1', 'true'].includes(attribute('date1904') ?? '')) system = 1904
      if (name === 'sheet' && found.length < xlsxLimits.sheets)
        found.push({ name: attribute('name') ?? '', relation: attribute('r:id') ?? attribute('id') ?? '' })
    },
  })
  if (!isWorkbook) throw refuse('The file is no XLSX workbook. Save the worksheet as XLSX or CSV.')
  const sheets = found.flatMap(({ name, relation }) => {
    const part = targets.get(relation)
    return part === undefined ? [] : [{ name, part }]
  })
  return { sheets, system }
}

/**
 * Open a workbook. Throws `Failure` `file_unreadable` for damaged files, files of another format, and files above
 * `xlsxLimits`.
 * Source: docs/rules/imports.md #worksheets.
 */
export const openWorkbook = async (file: Uint8Array, account?: string): Promise<Workbook> => {
  const parts = { parts: readZipParts(file), account }
  const { sheets, system } = await readSheets(parts)
  return { ...parts, sheets, system, sharedTexts: await readSharedTexts(parts), styles: await readStyles(parts) }
}
