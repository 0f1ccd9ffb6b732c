import { refusalCodes } from '../../../services/domain/refusal.ts'
import type { RawReply } from './raw-http.ts'

export const versions = { current: '2025-09-14', earlier: '2024-08-24' } as const

/** Statuses of the codes that are not validation errors. */
const statuses: Readonly<Record<string, number>> = {
  bad_credentials: 401,
  token_expired: 401,
  insufficient_scope: 403,
  account_disabled: 403,
  not_found: 404,
  batch_not_found: 404,
  event_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  idempotency_in_progress: 409,
  precondition_failed: 412,
  body_too_large: 413,
  target_too_long: 414,
  media_type_unsupported: 415,
  range_not_satisfiable: 416,
  pending_connect: 422,
  no_tariff_connected: 422,
  no_price_data: 422,
  api_version_not_supported: 422,
  schedule_infeasible: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  batch_pending: 503,
  unavailable: 503,
}

/** Names of all members of the error object. */
export const errorMembers: readonly string[] = [
  'object',
  'type',
  'code',
  'message',
  'field',
  'live_mode',
  'context',
  'request_id',
  'time_created',
  'connect_token',
]
const required = ['object', 'type', 'code', 'message', 'context', 'request_id', 'time_created']

/** Words that would reveal internal details. */
const inside =
  /\bat \/|node:|\.ts\b|\bstack\b|undefined|NaN|\[object|Infinity|TypeError|SyntaxError|ECONN|postgres|clickhouse|\bchdb\b|zod/i

type ErrorMembers = { readonly [name: string]: unknown }

const messageFaults = (message: unknown): readonly string[] => {
  if (typeof message !== 'string' || message.trim().length < 10)
    return [`message is empty or too short: ${JSON.stringify(message)}`]
  const faults: string[] = []
  if (Buffer.byteLength(message) > 8_192) faults.push('message is longer than 8 KiB')
  if (!/[.?!…]$/.test(message)) faults.push('message is not a sentence')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for these characters.
  if (/[\u0000-\u001f\u007f\ud800-\udfff]/u.test(message))
    faults.push('message has control characters or half a surrogate pair')
  // A quotation in a message is the caller's text and may contain any word.
  if (inside.test(message.replace(/"(?:[^"\\]|\\.)*"?/g, '')))
    faults.push(`message reveals internal details: ${message}`)
  return faults
}

const statusFaults = ({ status, headers }: RawReply, code: unknown): readonly string[] => {
  const version = headers['api-version']
  if (version !== versions.current && version !== versions.earlier) return [`Api-Version is ${version}`]
  if (!refusalCodes.some(one => one === code)) return [`code ${code} is not documented`]
  const right = statuses[String(code)] ?? (version === versions.earlier ? 409 : 400)
  return status === right ? [] : [`${code} has status ${status}, not ${right}`]
}

const typeOf = (status: number, context: unknown): string => {
  if (status === 429) return 'rate_limit'
  if (status < 500) return 'invalid_request'
  return String(context).startsWith('connect.') ? 'connect_error' : 'api_error'
}

const headerFaults = ({ status, headers }: RawReply): readonly string[] => {
  const faults: string[] = []
  if (status === 401 && headers['www-authenticate'] === undefined) faults.push('401 without WWW-Authenticate')
  if (status === 405 && headers['allow'] === undefined) faults.push('405 without Allow')
  if ((status === 503 || status === 429) && !/^\d+$/.test(String(headers['retry-after'])))
    faults.push(`${status} without Retry-After`)
  if (!String(headers['content-type']).startsWith('application/json'))
    faults.push(`Content-Type is ${headers['content-type']}`)
  return faults
}

const parsed = (text: string): ErrorMembers | null => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as ErrorMembers) : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/**
 * List the faults of an error answer; empty if it matches the error object.
 * Source: docs/rules/errors.md #error-object.
 */
export const errorFaults = (reply: RawReply): readonly string[] => {
  const error = parsed(reply.text)
  if (error === null) return [`the body is not an object: ${reply.text.slice(0, 80)}`]
  const faults = [...headerFaults(reply), ...statusFaults(reply, error['code']), ...messageFaults(error['message'])]
  for (const name of required) if (!(name in error)) faults.push(`${name} is missing`)
  for (const name of Object.keys(error))
    if (!errorMembers.includes(name)) faults.push(`${name} is not a member of the error object`)
  if (error['object'] !== 'error') faults.push(`object is ${error['object']}`)
  if (error['type'] !== typeOf(reply.status, error['context']))
    faults.push(`type is ${error['type']} at ${reply.status}`)
  if ('field' in error && (typeof error['field'] !== 'string' || error['field'] === ''))
    faults.push('field is empty or not a string')
  if ('live_mode' in error && typeof error['live_mode'] !== 'boolean') faults.push('live_mode is not a boolean')
  if (!/^(?:api\.[a-z]+(?:_[a-z]+)+|connect\.[a-z_]+)$/.test(String(error['context'])))
    faults.push(`context is ${error['context']}`)
  if (error['request_id'] !== reply.headers['x-request-id']) faults.push('request_id is not X-Request-Id')
  if (new Date(String(error['time_created'])).toISOString() !== error['time_created'])
    faults.push(`time_created is ${error['time_created']}`)
  if (Math.abs(Date.parse(String(error['time_created'])) - Date.now()) > 120_000)
    faults.push('time_created differs from the clock by more than 2 minutes')
  return faults
}
