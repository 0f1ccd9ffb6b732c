import type { z } from 'zod'
import { accepted, type Refusal, type RefusalCode, type Result, refused } from '../domain/refusal.ts'
import { formatPath } from './json/json-path.ts'
import { printable, quote, type RequestPart, unknownMemberMessage, unknownNameCodes } from './message-text.ts'

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

const explainChoice = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${values[0]}` : `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

type ShapeFault = { readonly code: RefusalCode; readonly message: string; readonly path: readonly PropertyKey[] }

const isRefusalCode = (value: unknown): value is RefusalCode => typeof value === 'string'

/** Maximum length of an unknown name in the field of a refusal. */
const maxNameLength = 255

const faultOf = (issue: z.core.$ZodIssue, part: RequestPart): ShapeFault => {
  const { path, message } = issue
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys
    const code = unknownNameCodes[part]
    return { code, message: unknownMemberMessage(unknown, message), path: [...path, unknown.slice(0, maxNameLength)] }
  }
  if (issue.code === 'custom' && isRefusalCode(issue.params?.['code']))
    return { code: issue.params['code'], message, path }
  if (issue.code === 'invalid_union' && 'options' in issue && issue.discriminator !== undefined) {
    const isMissing = isObject(issue.input) && issue.input[issue.discriminator] === undefined
    if (isMissing) return { code: 'field_required', message: 'is required', path }
    return { code: 'field_invalid', message: explainChoice(issue.options ?? []), path }
  }
  if (issue.code === 'invalid_union') {
    const branch = issue.errors.toSorted((a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0))[0]?.[0]
    if (branch !== undefined) return faultOf({ ...branch, path: [...path, ...branch.path] }, part)
  }
  if (issue.input === undefined && path.length > 0) return { code: 'field_required', message: 'is required', path }
  if (issue.code === 'invalid_type') return { code: 'field_invalid', message: explainType(issue), path }
  if (issue.code === 'invalid_value') return { code: 'field_invalid', message: explainChoice(issue.values), path }
  return {
    code: issue.code === 'too_big' || issue.code === 'too_small' ? 'value_out_of_range' : 'field_invalid',
    message,
    path,
  }
}

const subjectOf = (path: readonly PropertyKey[], part: RequestPart): string => {
  const last = path.at(-1)
  if (last === undefined) return part === 'query' ? 'The query' : 'The body'
  return typeof last === 'number' ? `${fieldPath(path.slice(-2))}` : printable(String(last))
}

/** Turn the issues of a shape into one refusal. An unknown member comes first, because it can explain a missing one. */
const refusalOf = (issues: readonly z.core.$ZodIssue[], part: RequestPart): Refusal => {
  const issue = issues.find(one => one.code === 'unrecognized_keys') ?? issues[0]
  if (issue === undefined) return { code: 'body_invalid', message: 'The body is invalid' }
  const { code, message, path } = faultOf(issue, part)
  const sentence = /^(?:must|is) /.test(message) ? `${subjectOf(path, part)} ${message}` : message
  return path.length === 0 ? { code, message: sentence } : { code, message: sentence, field: fieldPath(path) }
}

/**
 * Validate a value by a shape.
 * Refuses with the path of the field and one sentence that says what to change.
 * Source: docs/rules/versions-and-transport.md #unknown-names; docs/rules/errors.md #messages.
 */
export const readShape = <Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  part: RequestPart,
): Result<z.output<Shape>> => {
  const read = shape.safeParse(value, { reportInput: true })
  return read.success ? accepted(read.data) : { ok: false, refusal: refusalOf(read.error.issues, part) }
}

/**
 * Parse a query into one text for each name. An empty value counts as absent.
 * Refuses a duplicate parameter, because one of its values would be lost.
 * Source: docs/rules/versions-and-transport.md #query-parameters.
 */
export const readQuery = (query: string): Result<Readonly<Record<string, string>>> => {
  const read: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    if (value === '') continue
    if (name in read) return refused('field_invalid', `Send the parameter ${quote(name)} only once`, name.slice(0, 255))
    read[name] = value
  }
  return accepted(read)
}
