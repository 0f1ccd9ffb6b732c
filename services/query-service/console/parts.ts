import { asMarkup, type Content, type Html, html } from '../reference/html.ts'
import type { Answered, Fault, ListOf } from './api.ts'
import type { View } from './frame.ts'

/** A page that says why there is no other. */
export const problem = (title: string, text: string, status: number): View => ({
  title,
  status,
  body: html`<h1>${title}</h1><p class="lead">${text}</p>`,
})

export const foreignForm = problem(
  'Form refused',
  'This form is not from this console, or is from before you signed in. Load the page again.',
  403,
)

/** Say what went wrong, where it did. */
export const faultNotice = (fault: Fault): Html =>
  html`<p class="notice bad" role="alert">${fault.message}${/[.!?]$/.test(fault.message) ? '' : '.'}</p>`

export const goodNotice = (text: string): Html => html`<p class="notice good" role="status">${text}</p>`

/** Show what was answered, or why there is nothing to show. */
export const shown = <T>(answered: Answered<T>, show: (value: T) => Content): Content =>
  answered.ok ? show(answered.value) : faultNotice(answered.fault)

/** How fine an instant is shown. */
type Fineness = 'second' | 'minute' | 'day'

const formats = new Map<string, Intl.DateTimeFormat>()
const twoDigits = '2-digit'
const shownParts: Readonly<Record<Fineness, Intl.DateTimeFormatOptions>> = {
  second: { hour: twoDigits, minute: twoDigits, second: twoDigits },
  minute: { hour: twoDigits, minute: twoDigits },
  day: { weekday: 'short' },
}

const formatOf = (timeZone: string, fineness: Fineness): Intl.DateTimeFormat => {
  const key = `${fineness} ${timeZone}`
  const known = formats.get(key)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-GB', { timeZone, day: twoDigits, month: 'short', year: 'numeric', ...shownParts[fineness] })
  formats.set(key, made)
  return made
}

/** Show an instant in a zone; UTC where none is given. */
export const instant = (iso: string | null, timeZone = 'UTC', fineness: Fineness = 'second'): Html =>
  iso === null
    ? html`<span class="none">never</span>`
    : html`<time datetime="${iso}">${formatOf(timeZone, fineness).format(Date.parse(iso))}${timeZone === 'UTC' ? ' UTC' : ''}</time>`

/** A line of a table, once the names of its columns are known. */
export type Row = (names: readonly string[]) => Html

/** A table that scrolls by itself where it is wider than its place; on a phone each line stands as a list of names and values. */
export const table = (label: string, head: readonly string[], rows: readonly Row[], empty: string): Html =>
  rows.length === 0
    ? html`<p class="empty">${empty}</p>`
    : html`<div class="scroll" role="region" tabindex="0" aria-label="${label}"><table class="lines"><thead><tr>${head.map(name => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows.map(one => one(head))}</tbody></table></div>`

/** The cells of a line, each under the name of its column. */
export const cells = (names: readonly string[], contents: readonly Content[]): readonly Html[] =>
  contents.map((content, place) => html`<td data-name="${names[place] ?? ''}">${content}</td>`)

export const row =
  (...contents: readonly Content[]): Row =>
  names =>
    html`<tr>${cells(names, contents)}</tr>`

/** Names and values. */
export const facts = (...pairs: readonly (readonly [string, Content])[]): Html =>
  html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

type FieldOptions = {
  readonly value?: string
  readonly hint?: string
  readonly type?: string
  readonly required?: boolean
  readonly fault?: Fault | null
}

/** A field with its label, its hint, and what is wrong with it beside it. */
export const field = (name: string, label: string, options: FieldOptions = {}): Html => {
  const { value = '', hint, type = 'text', required = false, fault = null } = options
  const isWrong = fault !== null && fault.field !== null && fault.field.split(/[.[]/)[0] === name
  const described = [...(hint === undefined ? [] : [`${name}-hint`]), ...(isWrong ? [`${name}-fault`] : [])]
  return html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="off" spellcheck="false"${required ? asMarkup(' required') : null}${isWrong ? asMarkup(' aria-invalid="true"') : null}${described.length === 0 ? null : html` aria-describedby="${described.join(' ')}"`}>${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}${isWrong ? html`<p class="fault" id="${name}-fault">${fault.message}</p>` : null}</div>`
}

/** A choice of a few words. */
export const choice = (name: string, label: string, options: readonly (readonly [string, string])[], chosen: string): Html =>
  html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? asMarkup(' selected') : null}>${text}</option>`,
  )}</select></div>`

/** The parameters of these names that are given and not empty. */
const givenOf = (query: URLSearchParams, names: readonly string[]): [string, string][] =>
  names.flatMap(name => (query.get(name) ? [[name, query.get(name) ?? '']] : []))

/** Lead to the newer and the older page of a list; `path` is that of the list, `keep` what of its query stays. */
export const pager = <T extends { readonly id: string }>(
  path: string,
  query: URLSearchParams,
  keep: readonly string[],
  list: ListOf<T>,
): Html | null => {
  const kept = givenOf(query, keep)
  const goesBack = query.has('ending_before')
  const isFirst = !query.has('starting_after') && !(goesBack && list.has_more)
  const [first, last] = [list.data[0]?.id, list.data.at(-1)?.id]
  const linkTo = (name: string, id: string) => `${path}?${new URLSearchParams([...kept, [name, id]])}`
  const newer = isFirst || first === undefined ? null : html`<a rel="prev" href="${linkTo('ending_before', first)}">Newer</a>`
  const hasOlder = goesBack || list.has_more
  const older = !hasOlder || last === undefined ? null : html`<a rel="next" href="${linkTo('starting_after', last)}">Older</a>`
  return newer === null && older === null ? null : html`<nav class="pager" aria-label="Pages">${newer}${older}</nav>`
}

/** The part of a list's address that the interface reads: filters and cursor. */
export const listQuery = (query: URLSearchParams, names: readonly string[], limit = 30): string => {
  const given = givenOf(query, ['starting_after', 'ending_before', ...names])
  return `?${new URLSearchParams([['limit', String(limit)], ...given])}`
}
