import { errorFaults } from '../http/error-object.ts'
import type { RawReply } from '../http/raw-http.ts'
import { violationsOf } from '../openapi/json-schema.ts'
import type { PlannedRequest } from './plan-request.ts'

/** Return true if a path with `..` resolves to another path. */
const leadsElsewhere = (path: string): boolean => new URL(path, 'http://wattledger').pathname !== path.split('?', 1)[0]

/** List the faults of a CSV table. The first line has the names; each further line has as many values. */
const csvFaults = (text: string): readonly string[] => {
  const [names = 0, ...rows] = text
    .replace(/"[^"]*"/g, '')
    .split('\r\n')
    .slice(0, -1)
    .map(line => line.split(',').length)
  if (names === 0) return ['the table has no names']
  return rows.every(row => row === names) ? [] : ['the lines of the table have different lengths']
}

const successFaults = (
  { operation, request }: PlannedRequest,
  { status, headers, text }: RawReply,
  version: string,
): readonly string[] => {
  if (request.method === 'HEAD') return text === '' ? [] : ['HEAD has a body']
  // A request with another path or method belongs to another operation, which has its own plan.
  if (leadsElsewhere(request.path)) return []
  if (request.method !== operation.method) return []
  // A request may name the other API version. Without a header, the service uses the default version of the account.
  if (headers['api-version'] !== version)
    return request.headers['api-version'] === version ? ['its API version differs'] : []
  const success = [operation.success, ...operation.otherSuccesses].find(one => one.status === status)
  if (success === undefined) return [`succeeds with ${status}, not ${operation.success.status}`]
  const mediaType = headers['content-type']?.split(';')[0] ?? 'none'
  if (!success.mediaTypes.includes(mediaType)) return [`its media type is ${mediaType}`]
  if (mediaType === 'text/csv') return csvFaults(text)
  const values = mediaType === 'application/x-ndjson' ? text.split('\n').filter(line => line !== '') : [text]
  return values.flatMap(value => violationsOf(JSON.parse(value), success.schema))
}

/** List the differences between an answer and the OpenAPI document: status, media type, body, API version. */
export const answerFaults = (planned: PlannedRequest, reply: RawReply, version: string): readonly string[] => {
  const { operation, request } = planned
  const { status, headers, text } = reply
  const faults: string[] = []
  if (headers['x-request-id'] === undefined) faults.push('X-Request-Id is missing')
  if (headers['api-version'] === undefined) faults.push('Api-Version is missing')
  if (status >= 500) faults.push(`${status} ${text.slice(0, 200)}`)
  if (status < 300) return [...faults, ...successFaults(planned, reply, version)]
  if (request.method === 'HEAD') return text === '' ? faults : [...faults, 'HEAD has a body']
  faults.push(...errorFaults(reply))
  const [, code] = /"code":"(\w+)"/.exec(text) ?? []
  const [, context] = /"context":"api\.(\w+)"/.exec(text) ?? []
  // The document of the operation covers only its own answers in its own API version.
  const isOperations = context !== undefined && operation.id.startsWith(context) && headers['api-version'] === version
  if (isOperations && !operation.refusals.has(status)) faults.push(`${status} ${code} is not documented`)
  return faults
}
