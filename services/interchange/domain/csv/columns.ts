/** Columns of a file with readings. */
export const readingFields = [
  'start',
  'end',
  'time',
  'value',
  'value_export',
  'register',
  'register_export',
  'restart',
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

/** Chosen headings by field: a heading or the number of a column. An empty text ignores the field, or the column of this name. */
export type ColumnChoices = ReadonlyMap<string, string>

/** Columns of a header: indexes by field, usually one, and the indexes of the other columns. */
export type Columns = { readonly indexes: ReadonlyMap<string, readonly number[]>; readonly others: readonly number[] }

/** Problem with columns, as a sentence for the user. */
export type ColumnsProblem = { readonly problem: string }

/** Split a list at its commas. A part with a comma is in double quotes. */
export const splitList = (text: string): readonly string[] => text.match(/(?:"[^"]*"|[^,"])+/g) ?? []

const unquoted = (text: string): string => text.trim().replace(/^"(.*)"$/, '$1')

/**
 * Read a text such as `start=From,value=3,Note=`. A heading with a comma is in double quotes. A name without a heading
 * is ignored. Returns a problem for texts of another form, unknown fields and fields that are given twice.
 */
export const readColumnChoices = (
  text: string,
  isField: (name: string) => boolean,
  names: readonly string[],
): ColumnChoices | ColumnsProblem => {
  const choices = new Map<string, string>()
  for (const part of splitList(text)) {
    const equals = part.indexOf('=')
    const field = unquoted(part.slice(0, Math.max(equals, 0)))
    const choice = unquoted(part.slice(equals + 1))
    if (equals < 0 || field === '' || (choice !== '' && !isField(field))) {
      return { problem: `"${part}" must be field=heading, or column= to ignore a column. Fields: ${names.join(', ')}.` }
    }
    if (choices.has(field)) return { problem: `The column of ${field} is given twice.` }
    choices.set(field, choice)
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

/**
 * Read texts such as `Type=Electricity` as pairs. The name ends at the first equals sign. Returns a problem for a text without
 * name or equals sign.
 */
export const readPairs = (texts: readonly string[]): readonly (readonly [string, string])[] | ColumnsProblem => {
  const pairs: [string, string][] = []
  for (const text of texts) {
    const equals = text.indexOf('=')
    if (equals < 1) return { problem: `"${text}" must be NAME=TEXT.` }
    pairs.push([unquoted(text.slice(0, equals)), unquoted(text.slice(equals + 1))])
  }
  return pairs
}

/** Fields whose cells are joined: times with a space, values as a sum. */
const joinedFields: ReadonlySet<string> = new Set([
  'start',
  'end',
  'time',
  'day',
  'value',
  'value_export',
  'register',
  'register_export',
])

const quotedHeadings = (header: readonly string[]): string => header.map(heading => `"${heading}"`).join(', ')

/** Return the column of a heading or of a number from 1. An exact heading wins over another case, and over a number. */
export const indexOfChoice = (header: readonly string[], choice: string): number | ColumnsProblem => {
  const matches = (test: (heading: string) => boolean) =>
    header.flatMap((heading, index) => (test(heading) ? [index] : []))
  const exact = matches(heading => heading === choice)
  const name = choice.trim().toLowerCase()
  const found = exact.length > 0 ? exact : matches(heading => heading.trim().toLowerCase() === name)
  const [index, second] = found
  if (index !== undefined && second !== undefined) {
    const numbers = found.map(other => other + 1).join(' and ')
    return {
      problem: `The columns ${numbers} have the heading "${choice}". Name one by its number, such as ${second + 1}.`,
    }
  }
  if (index !== undefined) return index
  if (/^[1-9]\d{0,3}$/.test(choice) && Number(choice) <= header.length) return Number(choice) - 1
  return { problem: `The file has no column "${choice}". Its columns are ${quotedHeadings(header)}.` }
}

/** Return the columns of a choice. `A+B` joins two columns, unless a heading has this text. */
const indexesOfChoice = (
  header: readonly string[],
  field: string,
  choice: string,
): readonly number[] | ColumnsProblem => {
  const whole = indexOfChoice(header, choice)
  if (typeof whole === 'number') return [whole]
  if (!joinedFields.has(field) || !choice.includes('+')) return whole
  const indexes: number[] = []
  for (const part of choice.split('+')) {
    const index = indexOfChoice(header, part.trim())
    if (typeof index !== 'number') return index
    if (indexes.includes(index)) return { problem: `"${choice}" names the column "${part.trim()}" twice.` }
    indexes.push(index)
  }
  return indexes
}

/**
 * Find the columns of a header. A chosen heading wins; other headings that equal the name of a field are taken too.
 * Returns a problem for a chosen heading that the header does not have, and for a heading that the header has twice.
 */
export const findColumns = (
  header: readonly string[],
  choices: ColumnChoices,
  isField: (name: string) => boolean,
): Columns | ColumnsProblem => {
  const indexes = new Map<string, readonly number[]>()
  const ignored = new Set<number>()
  for (const [field, choice] of choices) {
    if (choice === '') {
      if (isField(field)) continue
      const ignoredIndex = indexOfChoice(header, field)
      if (typeof ignoredIndex !== 'number') return ignoredIndex
      ignored.add(ignoredIndex)
      continue
    }
    const found = indexesOfChoice(header, field, choice)
    if ('problem' in found) return found
    indexes.set(field, found)
  }
  const taken = new Set([...ignored, ...[...indexes.values()].flat()])
  const named = new Map<string, number>()
  for (const [index, heading] of header.entries()) {
    const name = heading.trim().toLowerCase()
    const field = isField(name) ? name : (namesInApi[name] ?? '')
    if (!isField(field) || choices.has(field) || taken.has(index)) continue
    const earlier = named.get(field)
    if (earlier !== undefined) {
      const problem = `The columns ${earlier + 1} and ${index + 1} are both "${field}". Name one: --columns ${field}=${earlier + 1}.`
      return { problem }
    }
    named.set(field, index)
    indexes.set(field, [index])
  }
  for (const index of named.values()) taken.add(index)
  return { indexes, others: header.map((_, index) => index).filter(index => !taken.has(index)) }
}

const guardedText = /^'+[=+\-@\t\r]/

/** Remove the apostrophe that keeps a spreadsheet from reading a text as a formula. */
export const unguardText = (cell: string): string =>
  cell.startsWith("'") && guardedText.test(cell) ? cell.slice(1) : cell

/** Headings of an export whose texts are the stored bytes: spaces count, and guarded texts have an apostrophe. */
const exportedTexts: ReadonlySet<string> = new Set([
  'session_reference_id',
  'record_reference_id',
  'location_reference_id',
  'device_reference_id',
])

/** Return whether a column has texts of an export, which are taken with all their bytes. */
export const hasExportedTexts = (heading: string): boolean => exportedTexts.has(heading)
