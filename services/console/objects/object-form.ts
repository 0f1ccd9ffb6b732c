import type { FormBody } from '../../contract/call.ts'
import { parseExactJson } from '../../contract/json/exact-json.ts'
import type { MemberTable } from '../../contract/object-member.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { enteredValue } from '../kit/object-text.ts'
import { choice, field } from '../page-parts.ts'
import { readText, type TextFormat, writeText } from './line-formats.ts'
import type { FormMember } from './object-kind.ts'

/** Mark members that the inputs of a form made as the body of a request. */
export const formBody = (members: Readonly<Record<string, unknown>>): FormBody => members as object as FormBody

export type FormResult = { readonly ok: true; readonly body: FormBody } | { readonly ok: false; readonly fault: Fault }

const invalid = ({ name, label, format }: FormMember): FormResult => ({
  ok: false,
  fault: {
    code: 'field_invalid',
    message: `${label} ${format === undefined ? 'must be a JSON object' : format.mustBe}.`,
    field: name,
  },
})

/** Name of the input of an error's field: `add` for `add[0].date`. */
export const inputOf = ({ field: name }: Fault): string | null => name?.split(/[.[]/)[0] ?? null

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Read JSON with exact numbers; undefined if the text is not JSON. */
const readJson = (text: string): unknown => {
  const parsed = parseExactJson(text)
  return parsed.ok ? parsed.value : undefined
}

/** Set the value at a path with dots. */
const setAt = (body: Record<string, unknown>, name: string, value: unknown): void => {
  const [first = '', ...rest] = name.split('.')
  if (rest.length === 0) {
    body[first] = value
    return
  }
  const inner = isObject(body[first]) ? body[first] : {}
  body[first] = inner
  setAt(inner, rest.join('.'), value)
}

const valueAt = (object: unknown, name: string): unknown =>
  name.split('.').reduce<unknown>((value, part) => (isObject(value) ? value[part] : undefined), object)

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0

/** Return the inputs of the members of an object that have a label, and their values. `formats`: by names in the API. */
export const membersOf = (table: MemberTable, formats: Readonly<Record<string, TextFormat>> = {}) => {
  const members = Object.values(table).flatMap(({ wire: name, form, isRequired }): readonly FormMember[] => {
    const { [name]: format } = formats
    if (form === undefined) return []
    return [{ name, isRequired: isRequired === true, ...form, ...(format === undefined ? {} : { format }) }]
  })
  const editable = (object: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(members.map(({ name }) => [name, isEmpty(object[name]) ? null : object[name]]))
  return { members, editable }
}

/** Text of a value in a form. */
export const formText = (object: Readonly<Record<string, unknown>>, { name, type, format }: FormMember): string => {
  const value = type === 'whole' ? object : valueAt(object, name)
  if (value === null || value === undefined) return ''
  if (format !== undefined) return writeText(format, value)
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/**
 * Read the body of a request from a form. Empty members are left out of a creation. In a change, an empty member that
 * had a value becomes null.
 */
export const readBody = (
  form: URLSearchParams,
  members: readonly FormMember[],
  before: Readonly<Record<string, unknown>> | null,
): FormResult => {
  const body: Record<string, unknown> = {}
  for (const member of members) {
    const { name, type = 'text', format } = member
    const text = form.get(name)?.trim() ?? ''
    if (text === '') {
      const hadValue = before !== null && formText(before, member) !== ''
      if (hadValue && type !== 'whole' && !name.includes('.')) body[name] = format?.isList === true ? [] : null
      continue
    }
    const value = format !== undefined ? readText(format, text) : type === 'text' ? text : readJson(text)
    if (format === undefined ? type !== 'text' && !isObject(value) : value === undefined) return invalid(member)
    if (type === 'whole') Object.assign(body, value)
    else setAt(body, name, value)
  }
  return { ok: true, body: formBody(body) }
}

/** Create an input of several lines. */
export const area = (
  { name, label, hint }: Pick<FormMember, 'name' | 'label' | 'hint'>,
  value: string,
  fault: Fault | null,
): Html => {
  const isWrong = fault !== null && inputOf(fault) === name
  const about = [...(hint === undefined ? [] : [`${name}-hint`]), ...(isWrong ? [`${name}-fault`] : [])].join(' ')
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="${Math.min(30, value.split('\n').length + 2)}" spellcheck="false" aria-describedby="${about}">${enteredValue(name, value)}</textarea>
${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
${isWrong ? html`<p class="fault" id="${name}-fault">${fault.message}</p>` : null}</div>`
}

/** Create the inputs of members with their values. */
export const formFields = (
  members: readonly FormMember[],
  textOf: (member: FormMember) => string,
  fault: Fault | null,
): readonly Html[] =>
  members.map(member => {
    const { name, label, hint, type = 'text', format, options, isRequired = false } = member
    if (options !== undefined) return choice(name, label, options, textOf(member))
    if (type !== 'text' || format?.isList === true) return area(member, textOf(member), fault)
    const more = hint === undefined ? {} : { hint }
    return field(name, label, { value: textOf(member), required: isRequired, fault, ...more })
  })
