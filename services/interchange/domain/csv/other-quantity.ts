import type { EnergyUnits } from '../../../domain/quantity.ts'
import type { ColumnChoices } from './columns.ts'
import { type CsvRules, unitOf } from './csv-rules.ts'

/** Column whose cell says that the row has another quantity, and the reason to refuse the row. */
export type OtherQuantity = { readonly heading: string; readonly message: string }

const otherCommodities: ReadonlySet<string> = new Set([
  ...['gas', 'natural gas', 'erdgas', 'aardgas', 'gaz', 'gaz naturel', 'gas natural', 'gas naturale', 'gás'],
  ...['water', 'wasser', 'eau', 'agua', 'água', 'acqua', 'heat', 'wärme', 'fernwärme', 'warmte', 'chaleur', 'calore'],
  ...['steam', 'cooling', 'heating oil', 'heizöl'],
])
const otherUnits: ReadonlySet<string> = new Set([
  ...['m³', 'm3', 'nm³', 'nm3', 'gj', 'mj', 'mwh', 'gwh', 'kvarh', 'varh', 'kva', '°c'],
])
const soldWords: ReadonlySet<string> = new Set([
  ...['export', 'exported', 'outbound', 'feed-in', 'feed in', 'sold', 'surplus', 'einspeisung', 'rückspeisung'],
  ...['teruglevering', 'injectie', 'injection', 'inyección', 'injeção', 'vertido', 'excedente', 'immissione'],
])

/** Choices of the user. The user can ignore the column of the unit or of the direction. */
type QuantityRules = { readonly unit: EnergyUnits | null | 'ignored'; readonly directions: 'known' | 'unknown' }

/** Maximum length of a cell that can be one of the words, and of a heading in a message. */
const [maxLength, maxHeadingLength] = [20, 60]

const quoted = (heading: string, text: string): string => `'${heading}=${text}'`

const messageOf = (heading: string, text: string, { unit, directions }: QuantityRules): string | null => {
  const word = text.toLowerCase()
  if (otherCommodities.has(word))
    return `"${heading}" says ${text}. Choose the rows of one commodity by --where, such as --where ${quoted(heading, text)}.`
  if (soldWords.has(word) && directions === 'unknown')
    return `"${heading}" says ${text}. Name the column of the direction: --columns ${quoted('direction', heading)} --map ${quoted(text, 'EXPORT')}. Or set --direction for all rows.`
  const ownUnit = unitOf(text)
  const isOtherUnit = otherUnits.has(word) || (ownUnit?.endsWith('H') === true && ownUnit !== unit)
  return isOtherUnit && unit !== 'ignored'
    ? `"${heading}" says ${text}. Choose the rows of one unit, such as --where ${quoted(heading, text)}, or name the column of the unit: --columns ${quoted('unit', heading)}.`
    : null
}

/** Column without a field. */
export type OtherColumn = { readonly name: string; readonly index: number }

/** Return whether a cell begins as a number does. */
const isNumeric = (cell: string): boolean => {
  const code = cell.charCodeAt(0)
  return code >= 0x2b && code <= 0x39
}

/**
 * Return a function that reads the columns without a field. It finds the first cell of a row that names another
 * commodity than electricity, sold energy, or another unit. Null if there is none.
 * Source: docs/rules/imports.md #csv.
 */
export const otherQuantityReader = (
  columns: readonly OtherColumn[],
  { unit, directions }: CsvRules,
  choices: ColumnChoices,
): ((cells: readonly string[]) => OtherQuantity | null) => {
  const isIgnored = (field: string): boolean => choices.get(field) === ''
  const rules: QuantityRules = {
    unit: isIgnored('unit') ? 'ignored' : unit,
    directions: directions !== null || isIgnored('direction') ? 'known' : 'unknown',
  }
  // A heading can be long, and each refused row repeats it.
  const named = columns.map(({ name, index }) => ({ name: name.slice(0, maxHeadingLength), index }))
  return cells => {
    for (const { name, index } of named) {
      const cell = cells[index] ?? ''
      if (cell === '' || cell.length > maxLength || isNumeric(cell)) continue
      const message = messageOf(name, cell.trim(), rules)
      if (message !== null) return { heading: name, message }
    }
    return null
  }
}
