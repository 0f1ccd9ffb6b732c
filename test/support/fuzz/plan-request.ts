import type { RawRequest } from '../http/raw-http.ts'
import type { DocumentedOperation, DocumentedParameter } from '../openapi/openapi.ts'
import type { Random } from '../random.ts'
import { corruptBody, corruptValue, unusualParts, writeJson } from './corrupt.ts'
import { generateValue, type KnownIds, withKnownIds } from './generate-value.ts'

/** Settings of all requests of a run. */
export type FuzzSetting = {
  readonly version: string
  readonly token: string
  readonly operatorKey: string
  readonly known: KnownIds
  readonly random: Random
}

/** A request, its operation, and true if the request is corrupted. */
export type PlannedRequest = {
  readonly operation: DocumentedOperation
  readonly request: RawRequest
  readonly isCorrupted: boolean
}

type Draft = { method: string; path: string; headers: Record<string, string>; body?: string | Uint8Array }

const encoded = (value: unknown): string => {
  const text = typeof value === 'string' ? value : String(value)
  return encodeURIComponent(text.toWellFormed())
}

const parameterValue = (parameter: DocumentedParameter, { known, random }: FuzzSetting): string => {
  const example = parameter.example
  const isId = typeof example === 'string' && /^[a-z]{3}_[0-9a-f]{24}$/.test(example)
  if (example !== undefined && (isId || !random.oneIn(4))) return encoded(withKnownIds(example, known, random))
  return encoded(generateValue(parameter.schema, known, random))
}

const queryOf = (operation: DocumentedOperation, setting: FuzzSetting): readonly string[] =>
  operation.parameters
    .filter(one => one.in === 'query' && (one.required || setting.random.oneIn(4)))
    .map(one => `${one.name}=${parameterValue(one, setting)}`)

const pathOf = (operation: DocumentedOperation, setting: FuzzSetting): string =>
  operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters.find(one => one.in === 'path' && one.name === name)
    return parameter === undefined ? name : parameterValue(parameter, setting)
  })

const validBody = (operation: DocumentedOperation, { known, random }: FuzzSetting): unknown => {
  const { body } = operation
  if (body === null) return undefined
  if (body.example !== undefined && random.oneIn(2)) return withKnownIds(body.example, known, random)
  return generateValue(body.schema, known, random)
}

const withQuery = (path: string, query: readonly string[]): string =>
  query.length === 0 ? path : `${path}?${query.join('&')}`

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE'] as const

const unusualHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'api-version': '2030-01-01' },
  { 'api-version': '' },
  { 'api-version': '2024-08-24, 2025-09-14' },
  { 'api-version': '2024-08-24' },
  { 'api-version': '2025-09-14' },
  { accept: 'text/csv' },
  { accept: 'image/png' },
  { 'accept-encoding': 'gzip' },
  { 'x-request-id': 'a caller\u00fcs own id <b>' },
  { 'x-request-id': 'x'.repeat(129) },
  { 'x-request-id': 'trace-17' },
  { 'idempotency-key': '' },
  { 'idempotency-key': 'x'.repeat(256) },
  { 'idempotency-key': '\u00fc' },
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: 'Bearer a.b.c' },
  { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
  { authorization: 'Basic eDp5' },
  { authorization: 'Basic !!!' },
  { 'x-operator-key': 'wrong' },
  { expect: '200-maybe' },
  { range: 'bytes=0-1' },
  { 'if-none-match': '*' },
  { 'x-http-method-override': 'DELETE' },
  { host: 'evil.example' },
  { cookie: 'a=b' },
]

const corrupt = (
  draft: Draft,
  operation: DocumentedOperation,
  value: unknown,
  query: readonly string[],
  setting: FuzzSetting,
): void => {
  const { random, version } = setting
  const choice = random.below(20)
  if (choice < 9 && value !== undefined) {
    draft.body = writeJson(corruptValue(value, random))
    return
  }
  if (choice < 12 && value !== undefined) {
    const { body, headers } = corruptBody(writeJson(value), random)
    const { 'content-type': _, ...others } = draft.headers
    draft.body = body
    draft.headers = { ...others, ...headers }
    return
  }
  if (choice < 14 && operation.path.includes('{'))
    draft.path = withQuery(operation.path.replace(/\{\w+\}/g, random.pick(unusualParts)), query)
  else if (choice < 16) Object.assign(draft.headers, random.pick(unusualHeaders))
  else if (choice < 17) draft.method = random.pick(methods)
  else if (choice < 18) {
    const name = random.pick([
      'limit',
      'unknown',
      '__proto__',
      'starting_after',
      'ending_before',
      ...operation.parameters.map(one => one.name),
    ])
    draft.path = withQuery(pathOf(operation, setting), [...query, `${name}=${random.pick(unusualParts)}`])
  } else if (choice < 19) draft.headers['api-version'] = version === '2025-09-14' ? '2024-08-24' : '2025-09-14'
  else draft.path = `${draft.path.split('?', 1)[0]}${random.pick(['/', '//', '/x', '%2f', ';x'])}`
}

const linesMediaType = 'application/x-ndjson'

/** Plan one request of an operation. Half of the requests match the document; the others have one corrupted part. */
export const planRequest = (operation: DocumentedOperation, setting: FuzzSetting): PlannedRequest => {
  const { random, token, operatorKey, version } = setting
  const value = validBody(operation, setting)
  const query = queryOf(operation, setting)
  const draft: Draft = {
    method: operation.method,
    path: withQuery(pathOf(operation, setting), query),
    headers: { authorization: `Bearer ${token}`, 'api-version': version },
  }
  if (operation.isOperators && random.oneIn(4)) draft.headers['x-operator-key'] = operatorKey
  if (operation.takesIdempotencyKey && random.oneIn(4)) draft.headers['idempotency-key'] = `key-${random.below(40)}`
  if (value !== undefined) {
    draft.body = writeJson(value)
    draft.headers['content-type'] = 'application/json'
  }
  if (Array.isArray(value) && operation.body?.mediaTypes.includes(linesMediaType) === true && random.oneIn(4)) {
    draft.body = value.map(writeJson).join('\n')
    draft.headers['content-type'] = linesMediaType
  }
  if (operation.success.mediaTypes.includes('text/csv') && random.oneIn(4)) draft.headers['accept'] = 'text/csv'
  const isCorrupted = random.oneIn(2)
  if (isCorrupted) corrupt(draft, operation, value, query, setting)
  return { operation, request: draft, isCorrupted }
}
