import { choice } from '../../console/page-parts.ts'
import type { UploadedFile } from '../../platform/http/multipart-form.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ReadingOptions } from '../reading-import/csv-options.ts'
import { columnFields, columnPrefix, isOptionInput } from './import-form.ts'
import type { UploadMenus } from './open-upload.ts'

/** Hidden fields of a preview: the file and the worksheet that it read, and the inputs that it filled. */
const [fileField, sheetField, filledField] = ['preview-file', 'preview-sheet', 'preview-filled']

const keyOf = ({ name, size }: Pick<UploadedFile, 'name' | 'size'>): string => `${size} ${name}`

/**
 * Return a sent form without the choices that belong to another file or worksheet than the sent one: columns, and inputs that
 * still have the text of the last preview.
 */
export const formOfFile = (form: URLSearchParams, file: Pick<UploadedFile, 'name' | 'size'>): URLSearchParams => {
  const own = new URLSearchParams(form)
  const isOtherFile = form.has(fileField) && form.get(fileField) !== keyOf(file)
  if (isOtherFile) own.delete('sheet')
  if (!isOtherFile && (form.get(sheetField) ?? '') === (form.get('sheet') ?? '')) return own
  for (const [field] of columnFields) own.delete(columnPrefix + field)
  for (const [name, value] of new URLSearchParams(form.get(filledField) ?? ''))
    if (own.get(name) === value) own.delete(name)
  own.delete(filledField)
  return own
}

/** Options of the inputs that differ from those of a form. */
const changedInputs = (form: URLSearchParams, options: ReadingOptions): readonly (readonly [string, string])[] =>
  Object.entries(options).flatMap(([name, value = '']) =>
    isOptionInput(name) && (form.get(name) ?? '') !== value ? [[name, value] as const] : [],
  )

/** Return a form whose inputs have the options and columns of the menus. */
export const filledForm = (form: URLSearchParams, { options, columns }: UploadMenus): URLSearchParams => {
  const filled = new URLSearchParams(form)
  const changed = changedInputs(form, options)
  for (const [name, value] of changed) filled.set(name, value)
  for (const [field, numbers] of columns) filled.set(columnPrefix + field, numbers)
  const earlier = new URLSearchParams(form.get(filledField) ?? '')
  for (const [name, value] of changed) earlier.set(name, value)
  filled.set(filledField, earlier.toString())
  return filled
}

const headingOf = (headings: readonly string[], numbers: string): string => {
  const names = numbers.split('+').map(number => headings[Number(number) - 1] ?? '')
  return `${numbers}: ${names.join(' + ').slice(0, 80)}`
}

const columnMenu = (headings: readonly string[], form: URLSearchParams, [field, label]: readonly [string, string]) => {
  const name = columnPrefix + field
  const chosen = form.get(name) ?? ''
  const numbers = [...headings.map((_, index) => String(index + 1)), ...(chosen.includes('+') ? [chosen] : [])]
  const options = numbers.map((one): readonly [string, string] => [one, headingOf(headings, one)])
  return choice(name, `Column of ${label.toLowerCase()}`, [['', 'as found'], ...options], chosen)
}

/**
 * Create the menus of a file: its worksheets and columns. Marks say what the script of the page writes into the inputs of the
 * form: `form` is the filled form, `sent` the form as it was sent.
 */
export const fileMenus = (
  { sheets, headings }: UploadMenus,
  form: URLSearchParams,
  sent: URLSearchParams,
  file: Pick<UploadedFile, 'name' | 'size'>,
): Html => {
  const names = new Set([...sent.keys(), ...form.keys()])
  const marks = [...names].filter(name => isOptionInput(name) && sent.get(name) !== form.get(name))
  return html`${[...marks].map(name => html`<data hidden data-fill="${name}" value="${form.get(name) ?? ''}"></data>`)}
<input type="hidden" name="${fileField}" value="${keyOf(file)}">
<input type="hidden" name="${sheetField}" value="${form.get('sheet') ?? ''}">
<input type="hidden" name="${filledField}" value="${form.get(filledField) ?? ''}">
${
  sheets.length < 2
    ? null
    : choice(
        'sheet',
        'Worksheet',
        [
          ['', `the first one: ${sheets[0] ?? ''}`],
          ...sheets.slice(1).map((name): readonly [string, string] => [name, name]),
        ],
        form.get('sheet') ?? '',
      )
}${
  headings.length === 0
    ? null
    : html`<details><summary>Columns of the file</summary>
<p class="hint">Choose columns here if the preview is wrong. Then make a new preview.</p>${columnFields.map(field =>
        columnMenu(headings, form, field),
      )}</details>`
}`
}
