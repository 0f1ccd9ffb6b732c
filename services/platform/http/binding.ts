import type { ApiVersion } from '../../contract/api-version.ts'
import type { AnswerOf, Caller, IdempotencyClaim, Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import type { FindReferences } from '../../domain/reference.ts'
import type { Refusal, Result } from '../../domain/refusal.ts'
import type { VerifyKey } from '../access/verify-key.ts'
import type { AdmissionLimits } from './admission.ts'
import type { WrongKeyLimits } from './wrong-keys.ts'

/** An operation and what answers it. */
export type Binding = {
  readonly operation: Operation
  readonly run: (request: RequestOf<Operation>) => Promise<Outcome<unknown>>
  readonly csv: ((answer: unknown, apiVersion: ApiVersion) => string) | undefined
}

/**
 * Bind an operation to the function that answers it; `csv` writes the same answer, in the names of the current layout, as text/csv of a
 * layout.
 * The shapes of the operation vouch for the types, which the table of routes does not know.
 */
export const bind = <O extends Operation>(
  operation: O,
  run: (request: RequestOf<O>) => Promise<Outcome<AnswerOf<O>>>,
  csv?: (answer: AnswerOf<O>, apiVersion: ApiVersion) => string,
): Binding => ({ operation, run, csv }) as unknown as Binding

/** Something to fetch that is no operation: a document, a health check, a file of the console. */
export type StaticRoute = {
  readonly path: string
  readonly read: (path: string, query: URLSearchParams) => Promise<StaticContent | null>
}

export type StaticContent = {
  readonly status: number
  readonly mediaType: string
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer that is kept under an Idempotency-Key: body as it was sent. */
export type SavedAnswer = { readonly status: number; readonly apiVersion: ApiVersion; readonly body: string }

/** What is known of a key when a request claims it. */
export type ClaimResult =
  | { readonly state: 'new' }
  | { readonly state: 'running' }
  | { readonly state: 'mismatch' }
  | { readonly state: 'done'; readonly answer: SavedAnswer }

/** Where answers are kept for 24 h. A claim whose process died is free again after the time limit of a request. */
export type IdempotencyStore = {
  /** Claim a key in one step: of two requests at once, one gets `new`. */
  readonly begin: (claim: IdempotencyClaim, at: number) => Promise<ClaimResult>
  /** Keep the answer; repeating it changes nothing. */
  readonly finish: (claim: IdempotencyClaim, answer: SavedAnswer, at: number) => Promise<void>
  /** Free the key, for the request was refused or failed. */
  readonly abandon: (claim: IdempotencyClaim) => Promise<void>
}

/** What one answered request is, for metrics. */
export type Observation = {
  readonly operation: string
  readonly status: number
  readonly apiVersion: ApiVersion
  readonly durationMs: number
}

/** A request that was refused after its caller was known; `body` as far as it could be read. */
export type RefusedRequest = {
  readonly operation: Operation
  readonly refusal: Refusal
  readonly caller: Caller
  readonly id: string
  readonly body: unknown
  readonly requestId: string
  readonly at: number
}

/** What the world hands in; nothing here is ambient. */
export type Ports = {
  /** Find who sends a bearer token at an instant in ms. */
  readonly authenticate: (token: string, now: number) => Promise<Result<Caller>>
  /** Find who sends an API key. */
  readonly verifyKey: VerifyKey
  /** Find the operator by the key of `X-Operator-Key`; null for a wrong one. */
  readonly authenticateOperator: (key: string) => Caller | null
  /** Find the objects that own references name in place of ids. */
  readonly findReferences: FindReferences
  readonly idempotency: IdempotencyStore
  /** The present instant in ms. */
  readonly now: () => number
  /** A monotonic clock in ms. */
  readonly elapsed: () => number
  readonly newRequestId: () => string
  readonly log: {
    readonly warn: (fields: object, message: string) => void
    readonly error: (fields: object, message: string) => void
  }
  readonly observe: (observation: Observation) => void
  /** The page for people whose browser asks for an unknown path; programs get the error object. */
  readonly notFoundPage?: () => StaticContent
  /** Told of each refusal after authentication, before it is answered; what it throws is logged and changes nothing. */
  readonly onRefusal?: (refusal: RefusedRequest) => Promise<void>
}

/** Limits that the operator sets; counts are per process. */
export type Limits = {
  /** Requests a second for each account and mode that has no limit of its own, metering apart; null for none. */
  readonly requestsPerSecond: number | null
  /** Wrong keys a minute that are answered as such; right ones are not counted. */
  readonly wrongKeysPerMinute: WrongKeyLimits
  /** Networks (CIDR) of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** How long one request may take, in ms. */
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
