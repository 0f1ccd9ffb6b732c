import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { ApiVersion } from './api-version.ts'

type ErrorType = 'invalid_request' | 'rate_limit' | 'api_error' | 'connect_error'

/** Body of every response that is not a success, in both API versions. */
export type ErrorObject = {
  readonly object: 'error'
  readonly type: ErrorType
  readonly code: RefusalCode
  readonly message: string
  readonly field?: string
  readonly live_mode?: boolean
  /** `api.<resource>_<verb>`, or `connect.<route>` on the Connect flow. */
  readonly context: string
  readonly request_id: string
  readonly time_created: string
  readonly connect_token?: string
}

/** Data of the request in an error object; `at` in ms. */
type ErrorTrace = {
  readonly context: string
  readonly requestId: string
  readonly at: number
  readonly apiVersion: ApiVersion
  readonly liveMode?: boolean | undefined
  readonly connectToken?: string | undefined
}

/**
 * HTTP status of each code that is not a validation error. Validation errors are absent: they have status 400 in the
 * current API version and 409 in the earlier one.
 */
const statuses: { readonly [Code in RefusalCode]?: number } = {
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
  statement_changed: 409,
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
  statement_incomplete: 422,
  batch_not_done: 422,
  import_too_old: 422,
  export_not_done: 422,
  export_folder_missing: 422,
  idempotency_mismatch: 422,
  rate_limited: 429,
  too_many_exports: 429,
  headers_too_large: 431,
  internal_error: 500,
  batch_pending: 503,
  unavailable: 503,
}

const validationStatus = { current: 400, earlier: 409 } as const satisfies Record<ApiVersion, number>

/** Return the HTTP status of a refusal. Source: docs/rules/errors.md #status-codes. */
export const statusOf = (code: RefusalCode, apiVersion: ApiVersion): number =>
  statuses[code] ?? validationStatus[apiVersion]

/** Return the seconds after which the caller can retry. Undefined if a retry cannot succeed. */
export const retryAfterSeconds = (code: RefusalCode): number | undefined =>
  code === 'batch_pending' || code === 'idempotency_in_progress' ? 1 : code === 'unavailable' ? 5 : undefined

const maxMessageLength = 2_000

/** Make a sentence of a message: add the full stop and cut the text after 2,000 characters. */
export const toSentence = (message: string): string => {
  if (message.length > maxMessageLength) return `${message.slice(0, maxMessageLength)}…`
  return /[.?!…]$/.test(message) ? message : `${message}.`
}

const errorTypeOf = (status: number, context: string): ErrorType => {
  if (status === 429) return 'rate_limit'
  if (status < 500) return 'invalid_request'
  return context.startsWith('connect.') ? 'connect_error' : 'api_error'
}

/**
 * Write a refusal as an error object. Absent members are omitted. The message is cut, so that the object stays below 8
 * KiB.
 * Source: docs/rules/errors.md #error-object.
 */
export const errorObject = (refusal: Refusal, trace: ErrorTrace): ErrorObject => ({
  object: 'error',
  type: errorTypeOf(statusOf(refusal.code, trace.apiVersion), trace.context),
  code: refusal.code,
  message: toSentence(refusal.message),
  ...(refusal.field === undefined || refusal.field === '' ? {} : { field: refusal.field.slice(0, 512).toWellFormed() }),
  ...(trace.liveMode === undefined ? {} : { live_mode: trace.liveMode }),
  context: trace.context,
  request_id: trace.requestId,
  time_created: new Date(trace.at).toISOString(),
  ...(trace.connectToken === undefined ? {} : { connect_token: trace.connectToken }),
})
