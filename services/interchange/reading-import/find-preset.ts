import { UsageError } from '../../platform/failure.ts'
import type { ColumnChoices } from '../domain/csv/columns.ts'
import {
  type FoundForm,
  findKnownForm,
  type KnownForm,
  knownForms,
  possibleDateFormats,
} from '../domain/known-files.ts'
import { type CsvRow, csvDelimiters, csvHeadLines } from '../platform/csv.ts'
import { type ReadingOptions, readReadingColumns } from './csv-options.ts'

/** Options of an import with those of a known file, and a sentence for the report. */
export type PresetOptions = {
  readonly options: ReadingOptions
  /** Name of the known file; null: an unknown one. */
  readonly preset: string | null
  readonly choices: ColumnChoices
  readonly remarks: readonly string[]
  readonly reader: KnownForm['reader']
}

/** Options whose texts are added to those of a preset. */
const addedOptions = ['map', 'where'] as const

/** Lines in which the headings of a known file are searched. */
export const maxHeadLines = 100

/** Split a line at a delimiter outside of quotes. Empty cells are left out. */
const splitLine = (line: string, delimiter: string): readonly string[] =>
  (line.match(new RegExp(`(?:"[^"]*"|[^"${delimiter}])+`, 'g')) ?? []).map(cell =>
    cell.trim().replace(/^"(.*)"$/, '$1'),
  )

const withForm = ({ form, delimiter, skipLines }: FoundForm, options: ReadingOptions): PresetOptions => {
  const added = addedOptions.flatMap(name => {
    const texts = [form.options[name], options[name]].filter(text => text !== undefined)
    return texts.length === 0 ? [] : [[name, texts.join('\n')] as const]
  })
  const { columns: _, ...formOptions } = form.options
  return {
    options: {
      'skip-lines': String(skipLines),
      delimiter: delimiter === '\t' ? 'tab' : delimiter,
      ...formOptions,
      ...options,
      ...Object.fromEntries(added),
    },
    reader: form.reader,
    preset: form.preset,
    choices: new Map([...readReadingColumns(form.options), ...readReadingColumns(options)]),
    remarks:
      options['preset'] === undefined
        ? [
            form.reader === undefined
              ? `The headings are known: the file was read as --preset ${form.preset}. --columns reads it in another way.`
              : `The first line is known: the file was read as --preset ${form.preset}.`,
          ]
        : [],
  }
}

const missingForm = (preset: string, line: string): UsageError => {
  const forms = knownForms.filter(form => form.preset === preset)
  const headings = forms.map(form => `"${form.headings.join(', ')}"`).join(' or ')
  return new UsageError(
    `--preset ${preset}: none of the first ${maxHeadLines} lines has the headings ${headings}. The first line is "${line.slice(0, 200)}". Set --columns instead.`,
  )
}

/** First rows of a file: the cells of its lines for each delimiter that it can have. */
type FileHead = {
  readonly rowsOf: (delimiter: string, maxRows?: number) => readonly (readonly string[])[]
  readonly delimiters: readonly string[]
}

/** Return the option --date-format that the times of a file prove. Throws `UsageError` if they can be read in two forms. */
const dateFormatOf = (
  { form, delimiter, skipLines }: FoundForm,
  rowsOf: FileHead['rowsOf'],
  options: ReadingOptions,
): ReadingOptions => {
  if (form.dateFormats === undefined || options['date-format'] !== undefined) return {}
  const times = rowsOf(delimiter)
    .slice(skipLines + 1)
    .map(([time = '']) => time)
  const possible = possibleDateFormats(form.dateFormats, times)
  const [format] = possible
  if (format !== undefined && possible.length === 1) return { 'date-format': format }
  const choices = form.dateFormats.map(one => `--date-format '${one}'`).join(' or ')
  throw new UsageError(
    `--preset ${form.preset}: "${times[0]?.slice(0, 40) ?? ''}" can be a day and a month, or a month and a day, and no day above 12 in the first 256 KiB decides it for all rows. Set ${choices}.`,
  )
}

const findInHead = ({ rowsOf, delimiters }: FileHead, options: ReadingOptions): PresetOptions => {
  const { preset = null } = options
  const hasOwnColumns = options['columns'] !== undefined || options['layout'] !== undefined
  const forms = knownForms.filter(form =>
    preset === null ? !hasOwnColumns || form.reader !== undefined : form.preset === preset,
  )
  const found = findKnownForm(delimiter => rowsOf(delimiter, maxHeadLines), delimiters, forms)
  if (found !== null) return withForm(found, { ...dateFormatOf(found, rowsOf, options), ...options })
  if (preset !== null) throw missingForm(preset, rowsOf(delimiters[0] ?? ',', 1)[0]?.join(',') ?? '')
  return { options, preset: null, choices: readReadingColumns(options), remarks: [], reader: undefined }
}

/**
 * Return the options of an import with those of its preset: of --preset, or of the headings in the first bytes of the file
 * if the columns are not chosen. A form with a reader of its own is found in any case. Options of the user win.
 * Throws `UsageError` if the file is not that of --preset.
 * Source: docs/rules/imports.md #known-files.
 */
export const findPreset = (first: Uint8Array, options: ReadingOptions): PresetOptions => {
  const lines = csvHeadLines(first, options['encoding'] ?? null)
  return findInHead(
    {
      rowsOf: (delimiter, maxRows) => lines.slice(0, maxRows).map(line => splitLine(line, delimiter)),
      delimiters: csvDelimiters,
    },
    options,
  )
}

/** Return the options of an import with those of its preset, by the first rows of a worksheet. */
export const findPresetOfRows = (rows: readonly CsvRow[], options: ReadingOptions): PresetOptions => {
  const cells = new Map(rows.map(row => [row.line, row.cells]))
  const lines = Array.from({ length: maxHeadLines }, (_, index) => cells.get(index + 1) ?? [])
  return findInHead({ rowsOf: () => lines, delimiters: [','] }, options)
}
