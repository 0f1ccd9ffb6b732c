import type { Error as ErrorBody } from './generated/current/types.gen.js'

/** Codes of refusals, from the OpenAPI document. */
export type ErrorCode = ErrorBody['code']

/** Base of all errors of the client. */
export class WattledgerError extends Error {
  override readonly name: string = 'WattledgerError'
}

/** Answer of the service that is not a success. */
export class ApiError extends WattledgerError {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: ErrorCode
  readonly type: string
  /** Path of the wrong member of the request, or null. */
  readonly field: string | null
  /** Id of the request, for questions to the operator. */
  readonly requestId: string | null
  /** Time in s after which the service can accept the request, or null. */
  readonly retryAfter: number | null
  constructor(status: number, body: Partial<ErrorBody>, requestId: string | null, retryAfter: number | null) {
    super(body.message ?? `The service answered with status ${status}.`)
    this.status = status
    this.code = body.code ?? 'internal_error'
    this.type = body.type ?? 'api_error'
    this.field = body.field ?? null
    this.requestId = body.request_id ?? requestId
    this.retryAfter = retryAfter
  }
}

/** The service did not answer: the network failed, or the time limit passed. The outcome is unknown. */
export class ConnectionError extends WattledgerError {
  override readonly name = 'ConnectionError'
}

/** A webhook delivery is not from the service, or is too old, or the secret is incomplete. */
export class WebhookVerificationError extends WattledgerError {
  override readonly name = 'WebhookVerificationError'
}
