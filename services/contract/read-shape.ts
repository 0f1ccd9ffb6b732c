import type { z } from 'zod'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import { formatPath } from './json/json-path.ts'
import { printable, quote, unknownMemberMessage } from './nearest-name.ts'

/** Whether a shape reads the members of a body or the parameters of a query. */
export type ShapePart = 'body' | 'query'

const fieldPath = (path: readonly PropertyKey[]): string =>
  formatPath(path.map(step => (typeof step === 'symbol' ? String(step) : step)))

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
}

const explainType = (issue: z.core.$ZodIssueInvalidType): string =>
  `must be ${typeNames[issue.expected] ?? issue.expected}`

const explainValue = (issue: z.core.$ZodIssueInvalidValue): string => {
  const words = issue.values.map(String)
  return words.length === 1 ? `must be ${words[0]}` : `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

type ShapeFault = { readonly code: RefusalCode; readonly message: string; readonly path: readonly PropertyKey[] }

const isRefusalCode = (value: unknown): value is RefusalCode => typeof value === 'string'

/** Characters of an unknown name that the field of a refusal shows. */
const maxNameLength = 255

const faultOf = (issue: z.core.$ZodIssue, part: ShapePart): ShapeFault => {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys
    const code = part === 'query' ? 'unknown_parameter' : 'unknown_field'
    return { code, message: unknownMemberMessage(unknown, message), path: [...path, unknown.slice(0, maxNameLength)] }
  }
  if (issue.code === 'custom' && isRefusalCode(issue.params?.['code']))
    return { code: issue.params['code'], message, path }
  if (issue.code === 'invalid_union') {
    const branch = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0]
    if (branch !== undefined) return faultOf({ ...branch, path: [...path, ...branch.path] }, part)
  }
  if (issue.input === undefined && path.length > 0) return { code: 'field_required', message: 'is required', path }
  if (issue.code === 'invalid_type') return { code: 'field_invalid', message: explainType(issue), path }
  if (issue.code === 'invalid_value') return { code: 'field_invalid', message: explainValue(issue), path }
  return {
    code: issue.code === 'too_big' || issue.code === 'too_small' ? 'value_out_of_range' : 'field_invalid',
    message,
    path,
  }
}

const subjectOf = (path: readonly PropertyKey[], part: ShapePart): string => {
  const last = path.at(-1)
  if (last === undefined) return part === 'query' ? 'The query' : 'The body'
  return typeof last === 'number' ? `${fieldPath(path.slice(-2))}` : printable(String(last))
}

/** Turn the first thing that a shape finds wrong into a refusal: unknown members first, for they explain missing ones. */
export const refusalOf = (issues: readonly z.core.$ZodIssue[], part: ShapePart): Refusal => {
  const issue = issues.find(one => one.code === 'unrecognized_keys') ?? issues[0]
  if (issue === undefined) return { code: 'body_invalid', message: 'The body cannot be read' }
  const { code, message, path } = faultOf(issue, part)
  const sentence = /^(?:must|is) /.test(message) ? `${subjectOf(path, part)} ${message}` : message
  return path.length === 0 ? { code, message: sentence } : { code, message: sentence, field: fieldPath(path) }
}

/**
 * Read a value by a shape.
 * Refuses with the field's path and one sentence that says what to change.
 * Source: docs/rules/versions-and-transport.md #unknown-names; docs/rules/errors.md #messages.
 */
export const readShape = <Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  part: ShapePart,
): Result<z.output<Shape>> => {
  const read = shape.safeParse(value, { reportInput: true })
  return read.success ? accepted(read.data) : { ok: false, refusal: refusalOf(read.error.issues, part) }
}

/**
 * Gather a query into one text per name; an empty value counts as absent.
 * Refuses a parameter that is given twice, because one of the two would be lost.
 * Source: docs/rules/versions-and-transport.md #query-parameters.
 */
export const readQuery = (query: string): Result<Readonly<Record<string, string>>> => {
  const read: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === '') continue
    if (name in read) return refused('field_invalid', `Give the parameter ${quote(name)} once only`, name.slice(0, 255))
    read[name] = value
  }
  return accepted(read)
}
