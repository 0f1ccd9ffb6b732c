/** Columns of a file with readings. */
export const readingFields = [
  'start',
  'end',
  'time',
  'value',
  'register',
  'unit',
  'location',
  'location_reference',
  'device',
  'device_reference',
  'session',
  'record',
  'direction',
  'confidence',
  'day',
] as const

/** Chosen headings by field: a heading or the number of a column. An empty text ignores the field. */
export type ColumnChoices = ReadonlyMap<string, string>

/** Columns of a header: index by field, and the indexes of the other columns. */
export type Columns = { readonly indexes: ReadonlyMap<string, number>; readonly others: readonly number[] }

/** Problem with columns, as a sentence for the user. */
export type ColumnsProblem = { readonly problem: string }

/**
 * Read a text such as `start=From,value=3,session=`. A heading with a comma is in double quotes.
 * Returns a problem for texts of another form, unknown fields and fields that are given twice.
 */
export const readColumnChoices = (
  text: string,
  isField: (name: string) => boolean,
  names: readonly string[],
): ColumnChoices | ColumnsProblem => {
  const choices = new Map<string, string>()
  for (const part of text.match(/(?:"[^"]*"|[^,"])+/g) ?? []) {
    const equals = part.indexOf('=')
    const field = part.slice(0, Math.max(equals, 0)).trim()
    if (equals < 0 || !isField(field)) {
      return { problem: `"${part}" must be field=heading. Fields: ${names.join(', ')}.` }
    }
    if (choices.has(field)) return { problem: `The column of ${field} is given twice.` }
    choices.set(
      field,
      part
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1'),
    )
  }
  return choices
}

/** Headings that name a field without a choice: the field itself, and its name in the API. */
const namesInApi: Readonly<Record<string, string>> = {
  start_time: 'start',
  end_time: 'end',
  units: 'unit',
  location_id: 'location',
  device_id: 'device',
  location_reference_id: 'location_reference',
  device_reference_id: 'device_reference',
  session_reference_id: 'session',
  record_reference_id: 'record',
}

const indexOfChoice = (header: readonly string[], choice: string): number => {
  const named = header.indexOf(choice)
  if (named >= 0) return named
  const byCase = header.findIndex(heading => heading.toLowerCase() === choice.toLowerCase())
  if (byCase >= 0) return byCase
  return /^[1-9]\d{0,3}$/.test(choice) && Number(choice) <= header.length ? Number(choice) - 1 : -1
}

/**
 * Find the columns of a header. A chosen heading wins; other headings that equal the name of a field are taken too.
 * Returns a problem for a chosen heading that the header does not have.
 */
export const findColumns = (
  header: readonly string[],
  choices: ColumnChoices,
  isField: (name: string) => boolean,
): Columns | ColumnsProblem => {
  const indexes = new Map<string, number>()
  for (const [field, choice] of choices) {
    if (choice === '') continue
    const index = indexOfChoice(header, choice)
    if (index < 0) {
      return { problem: `The file has no column "${choice}". Its columns are ${header.join(', ')}.` }
    }
    indexes.set(field, index)
  }
  const taken = new Set(indexes.values())
  for (const [index, heading] of header.entries()) {
    const name = heading.trim().toLowerCase()
    const field = isField(name) ? name : (namesInApi[name] ?? '')
    if (!isField(field) || choices.has(field) || indexes.has(field) || taken.has(index)) continue
    indexes.set(field, index)
    taken.add(index)
  }
  return { indexes, others: header.map((_, index) => index).filter(index => !taken.has(index)) }
}

const guardedText = /^'[=+\-@\t\r]/

/** Remove the apostrophe that keeps a spreadsheet from reading a text as a formula. */
export const unguardText = (cell: string): string =>
  cell.startsWith("'") && guardedText.test(cell) ? cell.slice(1) : cell
