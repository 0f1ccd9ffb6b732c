import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { apiVersionDates } from '../contract/api-version.ts'
import { type AttemptDecision, decideAttempt } from '../domain/webhook/delivery-attempt.ts'
import { signingSecrets } from '../domain/webhook/secret-rotation.ts'
import type { DeliveryStatus } from '../domain/webhook/webhook-object.ts'
import type { Seal } from '../platform/access/seal.ts'
import type { AttemptOutcome } from '../platform/postgres/webhooks/webhook-outcomes.ts'
import type { DeliveryClaim } from '../platform/postgres/webhooks/webhook-queue.ts'
import type { Post, PostOutcome, WebhookHttpClient } from '../platform/webhook-client/webhook-http-client.ts'
import type { WorkThread } from '../platform/work-thread/work-thread.ts'
import { writeEventBody } from './event-body.ts'

const prefix = 'whsec_'
const maxKeys = 1_000
const keys = new Map<string, KeyObject>()

/** Return the cached key of a secret: to create a key takes four times as long as to sign with it. */
const keyOf = (secret: string): KeyObject => {
  const known = keys.get(secret)
  if (known !== undefined) return known
  if (keys.size >= maxKeys) keys.clear()
  const key = createSecretKey(secret.slice(prefix.length), 'base64')
  keys.set(secret, key)
  return key
}

/**
 * Return the signature header of a message: one `v1` signature for each secret, separated by spaces. `timestamp` is in
 * whole seconds.
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
const signatureHeader = (secrets: readonly string[], id: string, timestamp: number, body: Uint8Array): string =>
  secrets
    .map(secret => createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64'))
    .map(signature => `v1,${signature}`)
    .join(' ')

export type AttemptOptions = {
  readonly webhookClient: Pick<WebhookHttpClient, 'post'>
  readonly seal: Pick<Seal, 'open'>
  /** Thread that writes long events. */
  readonly thread: Pick<WorkThread, 'begin'>
  readonly at: () => number
  /** Random number in [0, 1). */
  readonly random: () => number
}

/** Outcome of an attempt, and the decision about its delivery. `isCut`: the response was truncated. */
export type Attempt = {
  readonly claim: DeliveryClaim
  readonly outcome: AttemptOutcome
  readonly decision: AttemptDecision['kind']
  readonly isCut: boolean
}

/** Create and sign the POST request of a delivery at `at` (ms). */
export const signedPost = (
  claim: DeliveryClaim,
  body: Buffer,
  { seal }: Pick<AttemptOptions, 'seal'>,
  at: number,
): Post => {
  const timestamp = Math.floor(at / 1000)
  const secrets = signingSecrets(claim.secrets, at).map(({ secret }) => seal.open(secret, claim.endpointId))
  return {
    url: claim.url,
    liveMode: claim.liveMode,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Wattledger-Webhooks/1',
      'api-version': apiVersionDates[claim.apiVersion],
      'webhook-id': claim.eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureHeader(secrets, claim.eventId, timestamp, body),
    },
  }
}

/** Write and sign the request of a delivery. */
const postOf = async (
  claim: DeliveryClaim,
  data: string,
  createdAt: number,
  options: AttemptOptions,
): Promise<Post> => {
  const { eventId, accountId, liveMode, eventType, apiVersion } = claim
  const event = { eventId, accountId, liveMode, eventType, apiVersion, data, createdAt }
  return signedPost(claim, await writeEventBody(event, options.thread), options, options.at())
}

const expiredOutcome: PostOutcome = {
  status: null,
  error: 'event_expired',
  retryAfter: null,
  body: '',
  isCut: false,
  durationMs: 0,
}

const statusOf = {
  DELIVERED: 'DELIVERED',
  RETRY: 'PENDING',
  EXHAUSTED: 'FAILED',
  GONE: 'FAILED',
} as const satisfies Record<AttemptDecision['kind'], DeliveryStatus>

/**
 * Attempt a delivery. Any response of the subscriber is an outcome. Throws if the secret of the endpoint cannot be
 * opened.
 */
export const attempt = async (claim: DeliveryClaim, options: AttemptOptions): Promise<Attempt> => {
  const { data, eventCreatedAt } = claim
  const hasEvent = data !== null && eventCreatedAt !== null
  const response = hasEvent
    ? await options.webhookClient.post(await postOf(claim, data, eventCreatedAt, options))
    : expiredOutcome
  const at = options.at()
  const attempts = claim.attempts + 1
  const decision: AttemptDecision = hasEvent
    ? decideAttempt(response, attempts, at, options.random())
    : { kind: 'EXHAUSTED' }
  const outcome: AttemptOutcome = {
    accountId: claim.accountId,
    liveMode: claim.liveMode,
    deliveryId: claim.id,
    endpointId: claim.endpointId,
    round: claim.round,
    attempts,
    status: statusOf[decision.kind],
    dueAt: decision.kind === 'RETRY' ? decision.dueAt : null,
    statusCode: response.status,
    error: response.error,
    durationMs: response.durationMs,
    responseBody: response.body,
    at,
  }
  return { claim, outcome, decision: decision.kind, isCut: response.isCut }
}
