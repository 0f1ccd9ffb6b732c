import { type Content, type Html, html } from '../ui-kit/html.ts'
import { markCode } from './code-markup.ts'
import type { LimitName, Schema } from './document.ts'

/** Return a schema without null, and true if it allowed null. */
const withoutNull = (schema: Schema): { readonly schema: Schema; readonly isNullable: boolean } => {
  const { anyOf, ...own } = schema
  if (anyOf !== undefined && schema.type === undefined) {
    const [first = {}] = anyOf.filter(one => one.type !== 'null')
    return { schema: { ...first, ...own }, isNullable: anyOf.some(one => one.type === 'null') }
  }
  if (typeof schema.type === 'object') {
    const [type = 'null'] = schema.type.filter(one => one !== 'null')
    return { schema: { ...own, type }, isNullable: schema.type.includes('null') }
  }
  return { schema: own, isNullable: false }
}

const plural = (word: string): string => (word.startsWith('one of') || word === 'any' ? `values` : `${word}s`)

const typeText = (schema: Schema): string => {
  if (schema.const !== undefined) return 'constant'
  if (schema.items !== undefined) return `list of ${plural(typeText(withoutNull(schema.items).schema))}`
  if (schema.format === 'date-time') return 'date-time'
  if (typeof schema.type === 'string') return schema.type
  return schema.enum === undefined ? 'any' : 'string'
}

const rangeText = (schema: Schema, low: LimitName, high: LimitName, unit: string): string | null => {
  const [min, max] = [schema[low], schema[high]]
  const shown = (value: number): string =>
    Math.abs(value) >= 1e15 ? String(value) : value.toLocaleString('en-US', { maximumFractionDigits: 9 })
  if (max === undefined) return min === undefined || (min === 0 && unit !== '') ? null : `at least ${shown(min)}${unit}`
  if (min === undefined || (min === 0 && unit !== '')) return `at most ${shown(max)}${unit}`
  return min === max ? `${shown(min)}${unit}` : `${shown(min)} to ${shown(max)}${unit}`
}

const limitsOf = (schema: Schema): readonly string[] =>
  [
    rangeText(schema, 'minLength', 'maxLength', ' characters'),
    rangeText(schema, 'minItems', 'maxItems', ' elements'),
    rangeText(schema, 'minimum', 'maximum', ''),
    schema.exclusiveMinimum === undefined ? null : `above ${schema.exclusiveMinimum}`,
    schema.exclusiveMaximum === undefined ? null : `below ${schema.exclusiveMaximum}`,
    schema.maxProperties === undefined ? null : `at most ${schema.maxProperties} members`,
  ].filter(limit => limit !== null)

const codeWords = (values: readonly unknown[]): Html =>
  html`${values.map(value => html`<code>${String(value)}</code> `)}`

const maxInlineValues = 12

/** List the allowed values of a field. A list with more than 12 values is collapsed. */
const allowedValues = (schema: Schema): Html | null => {
  const values = schema.const === undefined ? (schema.enum ?? schema.items?.enum) : [schema.const]
  if (values === undefined) return null
  const lead = schema.const !== undefined ? 'Always ' : values.length === 1 ? 'Only ' : 'One of '
  if (values.length <= maxInlineValues) return html`<p class="words">${lead}${codeWords(values)}</p>`
  return html`<details><summary>${values.length} values</summary><p class="words">${codeWords(values)}</p></details>`
}

const objectSchema = (schema: Schema): Schema | null => {
  const innerSchema = schema.items === undefined ? schema : withoutNull(schema.items).schema
  return innerSchema.properties === undefined || Object.keys(innerSchema.properties).length === 0 ? null : innerSchema
}

/** Requests mark required fields, responses mark fields that may be absent. */
type FieldSide = 'request' | 'answer'

type Field = {
  readonly name: string
  readonly required: boolean
  readonly description?: string | undefined
  readonly example?: unknown
  readonly schema: Schema
}

const presenceMarks = ({ required, schema }: Field, side: FieldSide): Html => {
  const mark = required ? html` <span class="required">required</span>` : null
  const absence = required ? null : html` <span class="absent">may be absent</span>`
  const deprecation = schema.deprecated === true ? html` <span class="absent">deprecated</span>` : null
  return html`${side === 'request' ? mark : absence}${deprecation}`
}

const notesOf = (schema: Schema, example: unknown): readonly Content[] => {
  const element = schema.items === undefined ? null : withoutNull(schema.items).schema
  return [
    ...limitsOf(schema),
    ...(element === null ? [] : limitsOf(element).map(limit => `each ${limit}`)),
    ...(schema.default === undefined ? [] : [html`default <code>${String(schema.default)}</code>`]),
    ...(typeof example === 'string' ? [html`such as <code>${example}</code>`] : []),
  ]
}

/** Show a field: name, type, presence, description and limits. Nested fields are collapsed. */
const fieldOf = (field: Field, side: FieldSide): Html => {
  const { schema, isNullable } = withoutNull(field.schema)
  const {
    name,
    description = schema.description,
    example = schema.format === undefined ? schema.examples?.[0] : undefined,
  } = field
  const notes = notesOf(schema, example)
  const innerSchema = objectSchema(schema)
  const count = Object.keys(innerSchema?.properties ?? {}).length
  const type = html`<span class="type">${typeText(schema)}${isNullable ? ' or null' : null}</span>`
  const noteList = notes.map((note, index) => html`${index > 0 ? ' · ' : null}${note}`)
  const countText = count === 1 ? '1 field' : `${count} fields`
  return html`<li>
<p class="field"><code class="name">${name}</code> ${type}${presenceMarks(field, side)}</p>
${description === undefined ? null : html`<p>${markCode(description)}</p>`}${allowedValues(schema)}
${notes.length === 0 ? null : html`<p class="limits">${noteList}</p>`}
${
  innerSchema === null
    ? null
    : html`<details><summary>${countText} of <code>${name}</code></summary>${schemaFields(innerSchema, side)}</details>`
}
</li>`
}

/** List fields. */
export const fieldList = (fields: readonly Field[], side: FieldSide): Html =>
  html`<ul class="fields">${fields.map(field => fieldOf(field, side))}</ul>`

/** List the fields of an object or of list elements; null if there are none. Refused fields are omitted. */
export const schemaFields = (schema: Schema, side: FieldSide): Html | null => {
  const innerSchema = objectSchema(schema)
  if (innerSchema === null) return null
  const fields = Object.entries(innerSchema.properties ?? {})
    .filter(([, one]) => one.readOnly !== true)
    .map(([name, one]) => ({ name, required: innerSchema.required?.includes(name) === true, schema: one }))
  return fieldList(fields, side)
}
