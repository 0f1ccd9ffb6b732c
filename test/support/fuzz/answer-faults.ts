import { errorFaults } from '../http/error-object.ts'
import type { RawReply } from '../http/raw-http.ts'
import { violationsOf } from '../openapi/json-schema.ts'
import type { PlannedRequest } from './plan-request.ts'

/** Whether a path with `..` in it leads somewhere else. */
const leadsElsewhere = (path: string): boolean => new URL(path, 'http://wattledger').pathname !== path.split('?', 1)[0]

/** A table has a line of names, and as many values in each further line. */
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
  // Another path, method or layout is another operation, judged where it is planned.
  if (leadsElsewhere(request.path)) return []
  if (request.method !== operation.method) return []
  // A request may name the other version; without a name of its own it gets the one that is pinned.
  if (headers['api-version'] !== version)
    return request.headers['api-version'] === version ? ['its API version is another'] : []
  if (status !== operation.success.status) return [`succeeds with ${status}, not ${operation.success.status}`]
  const mediaType = headers['content-type']?.split(';')[0] ?? 'none'
  if (!operation.success.mediaTypes.includes(mediaType)) return [`its media type is ${mediaType}`]
  return mediaType === 'text/csv' ? csvFaults(text) : violationsOf(JSON.parse(text), operation.success.schema)
}

/** List what is wrong with an answer, by what the document says of its operation: status, media type, body, API version. */
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
  // What never reached the operation is not its to document; neither is the other layout's answer.
  const isOperations = context !== undefined && operation.id.startsWith(context) && headers['api-version'] === version
  if (isOperations && !operation.refusals.has(status)) faults.push(`${status} ${code} is not documented`)
  return faults
}
