import type { EnergyUnits } from '../../../domain/quantity.ts'
import {
  type Directions,
  directionsOf,
  directionWords,
  type ObjectName,
  type RefusedRow,
  refusedRow,
} from '../reading.ts'
import { type Columns, hasExportedTexts, indexOfChoice, unguardText } from './columns.ts'
import { type CsvRules, unitOf } from './csv-rules.ts'
import { numberTextOf, sumNumberTexts } from './number-text.ts'

/** Members of a reading that are neither a time nor a value. */
export type RowMembers = {
  readonly location: ObjectName
  readonly device: ObjectName | null
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
  readonly directions: Directions | null
  readonly units: EnergyUnits
  readonly confidence: string | null
  readonly isRestart: boolean
  /** Register of the meter, in a file whose registers are added. */
  readonly part?: string
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ['FALSE', false],
  ['0', false],
  ['TRUE', true],
  ['1', true],
])

/** Return the meaning of a word of the file. Words without a meaning stay. */
const meaningOf = (word: string, { words }: CsvRules): string =>
  words.size === 0 ? word : (words.get(word.toUpperCase()) ?? word)

/** Reads the text of a field in the cells of a row. */
export type CellReader = (cells: readonly string[]) => string

const noText: CellReader = () => ''

/**
 * Return a reader of a field: its trimmed text, empty if the column or the cell is absent. Joined columns have a space
 * between their texts.
 */
export const cellReader = ({ indexes }: Columns, field: string): CellReader => {
  const textOf = (cells: readonly string[], index: number): string => unguardText(cells[index] ?? '').trim()
  const columns = indexes.get(field) ?? []
  const [first] = columns
  if (first === undefined) return noText
  if (columns.length === 1) return cells => textOf(cells, first)
  const join = (cells: readonly string[]) => columns.map(column => textOf(cells, column)).join(' ')
  return cells => join(cells).trim()
}

/** Return a reader of a text of the caller. An exported column keeps all its bytes, without the apostrophe of a guard. */
const textReader = (
  header: readonly string[],
  { indexes }: Columns,
  { isRaw }: CsvRules,
  field: string,
): CellReader => {
  const index = indexes.get(field)?.[0]
  if (index === undefined) return noText
  if (!hasExportedTexts(header[index] ?? '')) return cells => (cells[index] ?? '').trim()
  return isRaw ? cells => cells[index] ?? '' : cells => unguardText(cells[index] ?? '')
}

/** Names that the rows of a file share, and the length of such a name. */
const [maxSharedNames, maxSharedLength] = [100_000, 256]

/** Return a function that returns the same name for equal texts. */
const sharedNames = (nameOf: (text: string) => ObjectName) => {
  const known = new Map<string, ObjectName>()
  return (text: string): ObjectName => {
    const earlier = known.get(text)
    if (earlier !== undefined) return earlier
    if (text.length > maxSharedLength) return nameOf(text)
    if (known.size >= maxSharedNames) known.clear()
    // A part of a text keeps the whole text in memory. A copy does not.
    const copy = [...text].join('')
    const name = nameOf(copy)
    known.set(copy, name)
    return name
  }
}

/** Return a reader of the name of an object: its id, else its reference, else the constant for all rows. */
const nameReader = (
  { id, reference }: { readonly id: CellReader; readonly reference: CellReader },
  constant: ObjectName | null,
) => {
  if (id === noText && reference === noText) return () => constant
  const [ids, references] = [sharedNames(text => ({ id: text })), sharedNames(text => ({ reference: text }))]
  return (cells: readonly string[]): ObjectName | null => {
    const idText = id(cells)
    if (idText !== '') return ids(idText)
    const referenceText = reference(cells)
    return referenceText === '' ? constant : references(referenceText)
  }
}

const textOrNull = (text: string): string | null => (text === '' ? null : text)

/**
 * Return a reader of the members of a row. Cells win over the values for all rows.
 * The reader refuses rows without location, and words that are no unit, direction, number or truth.
 */
export const memberReader = (header: readonly string[], columns: Columns, rules: CsvRules) => {
  const cell = (field: string) => cellReader(columns, field)
  const text = (field: string) => textReader(header, columns, rules, field)
  const [unitOfRow, directionOfRow, confidenceOfRow] = [cell('unit'), cell('direction'), cell('confidence')]
  const [restartOfRow, sessionOfRow, recordOfRow] = [cell('restart'), text('session'), text('record')]
  const partColumn = rules.sum === null ? null : indexOfChoice(header, rules.sum)
  const readersOf = (field: string) => ({ id: cell(field), reference: text(`${field}_reference`) })
  const readLocation = nameReader(readersOf('location'), rules.location)
  const readDevice = nameReader(readersOf('device'), rules.device)
  return (cells: readonly string[], line: number): RowMembers | RefusedRow => {
    const location = readLocation(cells)
    if (location === null) return refusedRow(line, 'location', 'location_not_found', 'The row names no location.')
    const unitText = meaningOf(unitOfRow(cells), rules)
    const units = unitText === '' ? rules.unit : unitOf(unitText)
    if (units === undefined || units === null)
      return refusedRow(line, 'unit', 'field_invalid', `"${unitText}" is no unit. Units are WH, KWH, W and KW.`)
    const word = meaningOf(directionOfRow(cells), rules)
    const directions = word === '' ? rules.directions : directionsOf(word)
    if (directions === undefined) {
      const message = `"${word}" is no direction. Directions are ${directionWords.join(', ')}.`
      return refusedRow(line, 'direction', 'field_invalid', message)
    }
    const confidenceText = confidenceOfRow(cells)
    const confidence = confidenceText === '' ? null : confidenceOf(confidenceText, rules)
    if (confidence === undefined)
      return refusedRow(line, 'confidence', 'not_a_number', confidenceMessage(confidenceText))
    const restart = meaningOf(restartOfRow(cells), rules)
    const isRestart = restart === '' ? false : truths.get(restart.toUpperCase())
    if (isRestart === undefined) {
      const message = `"${restart}" is neither true nor false. Give its meaning, such as --map ${restart}=true.`
      return refusedRow(line, 'restart', 'field_invalid', message)
    }
    const members: RowMembers = {
      location,
      device: readDevice(cells),
      sessionReferenceId: textOrNull(sessionOfRow(cells)),
      recordReferenceId: textOrNull(recordOfRow(cells)),
      directions,
      units,
      confidence,
      isRestart,
    }
    return typeof partColumn === 'number' ? { ...members, part: (cells[partColumn] ?? '').trim() } : members
  }
}

/** Return the confidence of a text: a number with the marks of the file, or a word with its number; undefined for others. */
const confidenceOf = (text: string, { words, marks }: CsvRules): string | undefined => {
  const meaning = words.get(text.toUpperCase())
  return meaning === undefined ? numberTextOf(text, marks) : numberTextOf(meaning, { decimal: '.', thousands: '' })
}

const confidenceMessage = (text: string): string =>
  `"${text.slice(0, 60)}" is not a number. Give the word a confidence from 0 to 1: --map "${text.slice(0, 60)}=1".`

/** Columns with the value of a reading. */
export type ValueField = 'value' | 'value_export' | 'register' | 'register_export'

/**
 * Return a reader of the value of a row: its text as a number of JSON, or `null` for a withdrawn register; null if it is blank. Joined columns are added exactly. Of
 * intervals, a blank column adds nothing; of registers, all columns or none must have a value.
 */
export const valueReader = (
  { indexes }: Columns,
  rules: CsvRules,
  field: ValueField,
): ((cells: readonly string[], line: number) => string | null | RefusedRow) => {
  const columns = indexes.get(field) ?? []
  const read = (cells: readonly string[], column: number, line: number) =>
    readValueText(unguardText(cells[column] ?? '').trim(), rules, line, field)
  const [only = -1] = columns
  if (columns.length === 1) return (cells: readonly string[], line: number) => read(cells, only, line)
  return (cells: readonly string[], line: number): string | null | RefusedRow => {
    const numbers: string[] = []
    for (const column of columns) {
      const value = read(cells, column, line)
      if (value !== null && typeof value !== 'string') return value
      if (value !== null) numbers.push(value)
    }
    if (numbers.length === 0) return null
    if (numbers.includes(withdrawnValue)) {
      if (numbers.length === columns.length && numbers.every(value => value === withdrawnValue)) return withdrawnValue
      return refusedRow(line, field, 'not_a_number', 'All registers of the sum must be withdrawn, or none.')
    }
    if (numbers.length === columns.length || field.startsWith('value')) return sumNumberTexts(numbers)
    return refusedRow(line, field, 'not_a_number', 'Each register of the sum must have a value.')
  }
}

/** Value of a row that withdraws the reading of its time, and the word for it. */
const [withdrawnValue, withdrawnWord] = ['null', 'WITHDRAWN']

/** Return whether a word withdraws a reading. The length of most values differs, and is compared first. */
const isWithdrawn = (word: string): boolean =>
  word.length === withdrawnWord.length && word.toUpperCase() === withdrawnWord

/** Read the text of a value; null if it is blank. Refuses texts that are not numbers. A register can be withdrawn. */
export const readValueText = (
  text: string,
  rules: CsvRules,
  line: number,
  field: string,
): string | null | RefusedRow => {
  if (text === '') return null
  if (field.startsWith('register') && isWithdrawn(meaningOf(text, rules))) return withdrawnValue
  const value = numberTextOf(text, rules.marks)
  if (value !== undefined) return value
  const hint = /^[\d.,\s'’+-]+$/.test(text) ? ' Set --decimal and --thousands to the marks of the file.' : ''
  return refusedRow(line, field, 'not_a_number', `"${text.slice(0, 60)}" is not a number.${hint}`)
}

const nameOf = (object: ObjectName | null): string =>
  object === null ? '' : 'id' in object ? object.id : object.reference

/** Name of a series of readings: one meter. */
export const seriesOf = ({ location, device, directions, part = '' }: RowMembers): string => {
  const directionsText = directions === null ? '\n' : `${directions.energyFlowDirection}\n${directions.tariffDirection}`
  return `${nameOf(location)}\n${nameOf(device)}\n${directionsText}\n${part}`
}
