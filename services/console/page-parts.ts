import { asMarkup, type Content, type Html, html } from '../web/ui-kit/html.ts'
import type { ApiResult, Fault, ListOf } from './api.ts'
import { enteredValue } from './kit/object-text.ts'
import type { PageView } from './page-frame.ts'

/** Create a page with an error text. `more`: markup after the text, such as a link to another page. */
export const problemPage = (title: string, text: string, status: number, more: Content = null): PageView => ({
  title,
  status,
  body: html`<h1>${title}</h1><p class="lead">${text}</p>${more}`,
})

/** Link of pages for visitors who are not signed in. */
export const signInLink = html`<p><a href="/console/sign-in">Go to the sign-in page</a></p>`

export const foreignFormPage = problemPage(
  'Form refused',
  'This form is from another site, or from before you signed in. Load the page again.',
  403,
)

/** Show an error as a sentence. */
export const errorNotice = (fault: Fault): Html =>
  html`<p class="notice bad" role="alert">${fault.message}${/[.!?]$/.test(fault.message) ? '' : '.'}</p>`

export const successNotice = (text: string): Html => html`<p class="notice good" role="status">${text}</p>`

/** Show the value of a result, or its error. */
export const showResult = <T>(result: ApiResult<T>, show: (value: T) => Content): Content =>
  result.ok ? show(result.value) : errorNotice(result.fault)

/** Smallest unit of a shown instant. */
type Precision = 'second' | 'minute' | 'day'

const formatCache = new Map<string, Intl.DateTimeFormat>()
const twoDigits = '2-digit'
const formatParts: Readonly<Record<Precision, Intl.DateTimeFormatOptions>> = {
  second: { hour: twoDigits, minute: twoDigits, second: twoDigits },
  minute: { hour: twoDigits, minute: twoDigits },
  day: { weekday: 'short' },
}

const formatOf = (timeZone: string, precision: Precision): Intl.DateTimeFormat => {
  const key = `${precision} ${timeZone}`
  const known = formatCache.get(key)
  if (known !== undefined) return known
  const created = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: twoDigits,
    month: 'short',
    year: 'numeric',
    ...formatParts[precision],
  })
  formatCache.set(key, created)
  return created
}

/** Show an instant in a time zone. */
export const instant = (iso: string, timeZone = 'UTC', precision: Precision = 'second'): Html => {
  const text = formatOf(timeZone, precision).format(Date.parse(iso))
  return html`<time datetime="${iso}">${text}${timeZone === 'UTC' ? ' UTC' : ''}</time>`
}

/** Create a table row for the given column names. */
type Row = (names: readonly string[]) => Html

/** Create a table that scrolls horizontally. On phones each row is a list of names and values. */
export const table = (label: string, names: readonly string[], rows: readonly Row[], emptyText: string): Html =>
  rows.length === 0
    ? html`<p class="empty">${emptyText}</p>`
    : html`<div class="scroll" role="group" tabindex="0" aria-label="${label}"><table class="lines">
<thead><tr>${names.map(name => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(tableRow => tableRow(names))}</tbody></table></div>`

/** Create the cells of a row with the names of their columns. */
const cells = (names: readonly string[], contents: readonly Content[]): readonly Html[] =>
  contents.map((content, index) => html`<td data-name="${names[index] ?? ''}">${content}</td>`)

export const row =
  (...contents: readonly Content[]): Row =>
  names =>
    html`<tr>${cells(names, contents)}</tr>`

/** Create a list of names and values. */
export const facts = (...pairs: readonly (readonly [string, Content])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

type FieldOptions = {
  readonly value?: string
  readonly hint?: string
  readonly type?: string
  readonly required?: boolean
  /** Id of a list of suggestions. */
  readonly list?: string
  readonly fault?: Fault | null
}

/** Create an input with label, hint and error. */
export const field = (name: string, label: string, options: FieldOptions = {}): Html => {
  const { value = '', hint, type = 'text', required = false, list, fault = null } = options
  const isWrong = fault !== null && fault.field !== null && fault.field.split(/[.[]/)[0] === name
  const descriptionIds = [...(hint === undefined ? [] : [`${name}-hint`]), ...(isWrong ? [`${name}-fault`] : [])]
  const attributes = [
    required ? asMarkup(' required') : null,
    list === undefined ? null : html` list="${list}"`,
    isWrong ? asMarkup(' aria-invalid="true"') : null,
    descriptionIds.length === 0 ? null : html` aria-describedby="${descriptionIds.join(' ')}"`,
  ]
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${enteredValue(name, value)}" autocomplete="off" spellcheck="false"${attributes}>
${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
${isWrong ? html`<p class="fault" id="${name}-fault">${fault.message}</p>` : null}</div>`
}

/** Create a selection with a label. */
export const choice = (
  name: string,
  label: string,
  options: readonly (readonly [string, string])[],
  chosen: string,
): Html =>
  html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${options.map(
    ([value, text]) =>
      html`<option value="${value}"${value === chosen ? asMarkup(' selected') : null}>${text}</option>`,
  )}</select></div>`

/** Return the non-empty parameters with these names. */
const parametersOf = (query: URLSearchParams, names: readonly string[]): [string, string][] =>
  names.flatMap(name => (query.get(name) ? [[name, query.get(name) ?? '']] : []))

/** Return whether rows exist after the page of a list. A page before a cursor always has such rows. */
export const hasOlderRows = (
  query: URLSearchParams,
  { has_more: hasMore }: Pick<ListOf<unknown>, 'has_more'>,
): boolean => query.has('ending_before') || hasMore

/** Create the links to the newer and older page of a list. The links retain the given parameters. */
export const pageLinks = <T extends { readonly id: string }>(
  path: string,
  query: URLSearchParams,
  retainedNames: readonly string[],
  list: ListOf<T>,
): Html | null => {
  const retained = parametersOf(query, retainedNames)
  const isBackwards = query.has('ending_before')
  const isFirst = !query.has('starting_after') && !(isBackwards && list.has_more)
  const [first, last] = [list.data[0]?.id, list.data.at(-1)?.id]
  const linkTo = (name: string, id: string) => `${path}?${new URLSearchParams([...retained, [name, id]])}`
  const newer =
    isFirst || first === undefined ? null : html`<a rel="prev" href="${linkTo('ending_before', first)}">Newer</a>`
  const older =
    !hasOlderRows(query, list) || last === undefined
      ? null
      : html`<a rel="next" href="${linkTo('starting_after', last)}">Older</a>`
  return newer === null && older === null ? null : html`<nav class="pager" aria-label="Pages">${newer}${older}</nav>`
}

type ListParameters<Name extends string> = {
  readonly [N in Name | 'starting_after' | 'ending_before' | 'limit']?: string
}

/** Return the parameters of an API list: limit, cursor and filters. */
export const listParameters = <Name extends string = never>(
  query: URLSearchParams,
  names: readonly Name[] = [],
  limit = 30,
): ListParameters<Name> => {
  const parameters = parametersOf(query, ['starting_after', 'ending_before', ...names])
  return Object.fromEntries([['limit', String(limit)], ...parameters]) as ListParameters<Name>
}
