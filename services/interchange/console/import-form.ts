import { type LocationNames, locationField } from '../../console/kit/location-names.ts'
import { choice, field } from '../../console/page-parts.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { readingFields } from '../domain/csv/columns.ts'
import { presetNames } from '../domain/known-files.ts'
import { directionWords } from '../domain/reading.ts'
import type { ReadingOptions } from '../reading-import/csv-options.ts'

/** Path of the page. */
export const importPath = '/console/imports'

/** Return the path of the page that undoes an import. `:id` makes a route. */
export const undoPagePath = (importId: string): string => `${importPath}/${importId}/undo`

/** Input of an option of the import. `choices` makes it a menu, `isLines` a text with several lines. */
type OptionInput = {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly choices?: readonly (readonly [string, string])[]
  readonly isLines?: true
}

const words = (empty: string, list: readonly string[]): readonly (readonly [string, string])[] => [
  ['', empty],
  ...list.map((word): readonly [string, string] => [word, word]),
]

/** Inputs that most files need. */
const readingInputs: readonly OptionInput[] = [
  { name: 'device', label: 'Device of all readings', hint: 'An id or an own reference. Empty: none.' },
  { name: 'unit', label: 'Unit of all values', choices: words('from a column', ['KWH', 'WH', 'KW', 'W']) },
  { name: 'direction', label: 'Direction of all readings', choices: words('IMPORT, or from a column', directionWords) },
  {
    name: 'interval',
    label: 'Length of the intervals',
    hint: 'Such as PT15M or PT1H, if the file has one time for each row. P1D: the local day.',
  },
  {
    name: 'label',
    label: 'Meaning of a single time',
    choices: [
      ['', 'start of the interval'],
      ['end', 'end of the interval'],
    ],
  },
]

/** Inputs for files in special forms. */
const formatInputs: readonly OptionInput[] = [
  { name: 'preset', label: 'Known file', choices: words('found by its headings', presetNames) },
  { name: 'zone', label: 'Time zone of the file', hint: 'Such as Europe/Oslo. Empty: the zone of the location.' },
  { name: 'date-format', label: 'Form of the times', hint: 'Such as dd.MM.yyyy HH:mm. Empty: ISO 8601.' },
  {
    name: 'ambiguous',
    label: 'Times of a doubled hour that occur once',
    choices: words('refuse them', ['earlier', 'later']),
  },
  { name: 'delimiter', label: 'Mark between cells', choices: words('from the header', [',', ';', 'tab', '|']) },
  { name: 'decimal', label: 'Decimal mark', choices: words('that of the known file, or a point', ['.', ',']) },
  { name: 'thousands', label: 'Mark between thousands', choices: words('none', [',', '.', ' ', "'"]) },
  { name: 'encoding', label: 'Encoding', hint: 'Such as windows-1252. Empty: UTF-8.' },
  { name: 'skip-lines', label: 'Lines before the header', hint: 'Empty: none.' },
  {
    name: 'layout',
    label: 'Layout',
    choices: [
      ['', 'a row for each reading'],
      ['wide', 'a row for each day'],
    ],
  },
  { name: 'where', label: 'Rows to read', hint: 'COLUMN=TEXT, one for each line. Empty: all.', isLines: true },
  { name: 'map', label: 'Words of the file', hint: 'Such as Afname=IMPORT, one for each line.', isLines: true },
  { name: 'sum', label: 'Column of registers to add', hint: 'Rows that differ in it alone are added.' },
]

export const columnPrefix = 'column-'
/** Fields of the menus of columns, with their labels. */
export const columnFields: readonly (readonly [string, string])[] = [
  ['start', 'Start'],
  ['end', 'End'],
  ['value', 'Value'],
  ['value_export', 'Value of sold energy'],
  ['register', 'Register'],
  ['register_export', 'Register of sold energy'],
  ['restart', 'First reading of a new meter'],
  ['time', 'Time of a register'],
  ['unit', 'Unit'],
  ['direction', 'Direction'],
  ['confidence', 'Confidence'],
  ['location_reference', 'Location'],
  ['device_reference', 'Device'],
  ['session', 'Session'],
  ['record', 'Record reference'],
  ['day', 'Day'],
]

const labels: Readonly<Record<string, string>> = {
  location: 'Location',
  sheet: 'Worksheet',
  ...Object.fromEntries([...readingInputs, ...formatInputs].map(({ name, label }) => [name, label])),
}

const columnLabels = new Map(columnFields)

/** Return the labels of the menus for a text such as `'value=Energy'` of the option of columns. */
const menusOf = (text: string): string => {
  const fields = [...columnLabels.keys()].filter(field => new RegExp(`(?:^|[',])${field}=`).test(text))
  return fields.length === 0
    ? '"Columns of the file"'
    : fields.map(field => `"Column of ${columnLabels.get(field)?.toLowerCase()}"`).join(' and ')
}

/** Return whether an option has an input in the form. */
export const isOptionInput = (name: string): boolean =>
  [...readingInputs, ...formatInputs].some(input => input.name === name)

/** Write a message of the import for the page: options have the labels of its inputs, and columns those of the menus. */
export const messageForPage = (message: string): string =>
  message
    .replace(/ was read as --preset (\S+)\./, ' was read as the known file $1.')
    .replaceAll(/--columns ('[^']*'|[a-z_]+=[^\s.]*)/g, (_, text: string) => menusOf(text))
    .replaceAll('--columns', '"Columns of the file"')
    .replaceAll(/--([a-z-]+)/g, (option, name: string) => {
      const label = labels[name]
      return label === undefined ? option : `"${label}"`
    })

/** Read the options of a sent form. Columns are named by their numbers in the header. */
export const optionsOfForm = (form: URLSearchParams): ReadingOptions => {
  const columns = columnFields.flatMap(([name]) => {
    const number = form.get(columnPrefix + name) ?? ''
    return /^\d{1,3}(?:\+\d{1,3}){0,9}$/.test(number) && readingFields.some(field => field === name)
      ? [`${name}=${number}`]
      : []
  })
  const location = form.get('location_id')?.trim() ?? ''
  const entries = [...readingInputs, ...formatInputs].flatMap(({ name, isLines }): [string, string][] => {
    const sent = form.get(name) ?? ''
    const text =
      isLines === true
        ? sent
            .split('\n')
            .map(line => line.trim())
            .filter(Boolean)
            .join('\n')
        : sent
    return text === '' ? [] : [[name, name === 'thousands' ? text : text.trim()]]
  })
  const sheet = form.get('sheet') ?? ''
  return Object.fromEntries([
    ...entries,
    ...(sheet === '' ? [] : [['sheet', sheet]]),
    ...(location === '' ? [] : [['location', location]]),
    ...(columns.length === 0 ? [] : [['columns', columns.join(',')]]),
  ])
}

const optionInput = ({ name, label, hint, choices, isLines }: OptionInput, form: URLSearchParams): Html => {
  const value = form.get(name) ?? ''
  if (choices !== undefined) return choice(name, label, choices, value)
  if (isLines !== true) return field(name, label, { value, ...(hint === undefined ? {} : { hint }) })
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="2" spellcheck="false" aria-describedby="${name}-hint">${value}</textarea>
<p class="hint" id="${name}-hint">${hint}</p></div>`
}

/** Create the inputs of the file and its options, with the values of a sent form. */
export const importInputs = (names: LocationNames, form: URLSearchParams): Html =>
  html`<div class="field"><label for="file">File with readings</label>
<input id="file" name="file" type="file" required aria-describedby="file-hint">
<p class="hint" id="file-hint">CSV, a workbook in XLSX, or a gzip or zip file with one CSV file, of at most 15 MiB. Choose it, or drop it here: then the preview appears.</p></div>
${locationField(names, form.get('location_id') ?? '', false)}
${readingInputs.map(input => optionInput(input, form))}
<details><summary>Form of the file</summary>${formatInputs.map(input => optionInput(input, form))}</details>`
