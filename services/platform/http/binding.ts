import type { ApiVersion } from '../../contract/api-version.ts'
import type { AnswerOf, Caller, IdempotencyClaim, Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import type { FindReferences } from '../../domain/reference.ts'
import type { Refusal, Result } from '../../domain/refusal.ts'
import type { SignInFailure } from '../access/sign-in-failures.ts'
import type { VerifyKey } from '../access/verify-key.ts'
import type { AdmissionLimits } from './admission.ts'
import type { WrongKeyLimits } from './wrong-keys.ts'

/** An operation and the function that answers it. */
export type Binding = {
  readonly operation: Operation
  readonly run: (request: RequestOf<Operation>) => Promise<Outcome<unknown>>
  readonly csv: ((answer: unknown, apiVersion: ApiVersion) => string) | undefined
}

/**
 * Bind an operation to the function that answers it.
 * `csv` writes an answer in current names as text/csv of an API version.
 * The schemas of the operation guarantee the types, because the route table does not know them.
 */
export const bind = <O extends Operation>(
  operation: O,
  run: (request: RequestOf<O>) => Promise<Outcome<AnswerOf<O>>>,
  csv?: (answer: AnswerOf<O>, apiVersion: ApiVersion) => string,
): Binding => ({ operation, run, csv }) as unknown as Binding

/** A route without an operation: a document, a health check or a file of the console. */
export type StaticRoute = {
  readonly path: string
  /** `acceptLanguage` is the header `Accept-Language`; null without it. */
  readonly read: (path: string, query: URLSearchParams, acceptLanguage?: string | null) => Promise<StaticContent | null>
}

export type StaticContent = {
  readonly status: number
  readonly mediaType: string
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

/** Answer saved under an Idempotency-Key. The body has the bytes that were sent. */
export type SavedAnswer = { readonly status: number; readonly apiVersion: ApiVersion; readonly body: string }

/** State of an Idempotency-Key at the claim of a request. */
export type ClaimResult =
  | { readonly state: 'new' }
  | { readonly state: 'running' }
  | { readonly state: 'mismatch' }
  | { readonly state: 'done'; readonly answer: SavedAnswer }

/** Store of answers for 24 h. If the process of a claim dies, the claim expires after the time limit of a request. */
export type IdempotencyStore = {
  /** Claim a key atomically. Only one of two concurrent requests gets `new`. */
  readonly begin: (claim: IdempotencyClaim, at: number) => Promise<ClaimResult>
  /** Save the answer. Repeated calls change nothing. */
  readonly finish: (claim: IdempotencyClaim, answer: SavedAnswer, at: number) => Promise<void>
  /** Free the key of a refused or failed request. */
  readonly abandon: (claim: IdempotencyClaim) => Promise<void>
}

/** Metrics of an answered request. */
export type Observation = {
  readonly operation: string
  readonly status: number
  readonly apiVersion: ApiVersion
  readonly durationMs: number
}

/** A request that was refused after authentication. `readBody` parses the part of its body that can be read. */
export type RefusedRequest = {
  readonly operation: Operation
  readonly refusal: Refusal
  readonly caller: Caller
  readonly id: string
  readonly readBody: () => Promise<unknown>
  readonly requestId: string
  readonly at: number
}

/** Dependencies of the HTTP layer: stores, clocks, ids and logger. */
export type Ports = {
  /** Return the caller of a bearer token at an instant in ms. */
  readonly authenticate: (token: string, now: number) => Promise<Result<Caller>>
  /** Return the caller of an API key. */
  readonly verifyKey: VerifyKey
  /** Return the operator for the key of `X-Operator-Key`. Null for a wrong key. */
  readonly authenticateOperator: (key: string) => Caller | null
  /** Find the objects of own references. */
  readonly findReferences: FindReferences
  readonly idempotency: IdempotencyStore
  /** Return the current instant in ms. */
  readonly now: () => number
  /** Return the time of a monotonic clock in ms. */
  readonly elapsed: () => number
  readonly newRequestId: () => string
  readonly log: {
    readonly warn: (fields: object, message: string) => void
    readonly error: (fields: object, message: string) => void
  }
  readonly observe: (observation: Observation) => void
  /** Page for browsers that request an unknown path. Other clients get the error object. */
  readonly notFoundPage?: () => StaticContent
  /** Called for each refusal after authentication, before the answer. Errors that are not retriable are logged only. */
  readonly onRefusal?: (refusal: RefusedRequest) => Promise<void>
  /** Called for each wrong key that names an account or is known to the key store. */
  readonly onSignInFailure?: (failure: SignInFailure) => void
}

/** Limits of a process. */
export type Limits = {
  /** Requests per second for each account and mode without a limit of its own. Excludes metering. Null: no limit. */
  readonly requestsPerSecond: number | null
  /** Wrong keys per minute before the client gets 429. Correct keys are not counted. */
  readonly wrongKeysPerMinute: WrongKeyLimits
  /** Networks (CIDR) of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** Time limit of a request in ms. */
  readonly requestTimeoutMs: number
  readonly admission: AdmissionLimits
}

export const defaultLimits: Limits = {
  requestsPerSecond: null,
  wrongKeysPerMinute: { perPeer: 60, perAccountAndPeer: 10 },
  trustedProxies: [],
  requestTimeoutMs: 30_000,
  admission: { maxSubmissionBytes: 128 * 2 ** 20, maxConcurrentReads: 128 },
}
