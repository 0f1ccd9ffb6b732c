import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { apiVersionDates } from '../contract/api-version.ts'
import { eventRetrieve, eventToWireInSteps } from '../contract/events/event.ts'
import { answerInApiVersion } from '../contract/exchange.ts'
import { type AttemptDecision, decideAttempt } from '../domain/webhook/delivery-attempt.ts'
import { signingSecrets } from '../domain/webhook/secret-rotation.ts'
import type { DeliveryStatus } from '../domain/webhook/webhook-object.ts'
import type { Seal } from '../platform/access/seal.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { AttemptOutcome } from '../platform/postgres/webhooks/webhook-outcomes.ts'
import type { DeliveryClaim } from '../platform/postgres/webhooks/webhook-queue.ts'
import type { Post, PostOutcome, WebhookHttpClient } from '../platform/webhook-client/webhook-http-client.ts'
import { jsonPieces } from '../platform/write-json.ts'

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

/** Bytes that are signed between two pauses. */
const bytesPerPause = 2 ** 20

/**
 * Return the signature header of a message: one `v1` signature for each secret, separated by spaces. `timestamp` is in
 * whole seconds.
 * Yields so that other work can run.
 * Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.
 */
function* signatureHeader(
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: Uint8Array,
): Generator<void, string> {
  const signatures: string[] = []
  for (const secret of secrets) {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`)
    for (let from = 0; from < body.length; from += bytesPerPause) {
      hmac.update(body.subarray(from, from + bytesPerPause))
      yield
    }
    signatures.push(`v1,${hmac.digest('base64')}`)
  }
  return signatures.join(' ')
}

export type AttemptOptions = {
  readonly webhookClient: Pick<WebhookHttpClient, 'post'>
  readonly seal: Pick<Seal, 'open'>
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

/** Data up to this length, in characters, is parsed and written in a few ms. */
const maxInlineDataLength = 65_536
const emptyData = '"data":{}'
/** Characters that are encoded between two pauses. */
const charactersPerPause = 2 ** 18

/**
 * Write the body of an event in the API version of the endpoint. Yields so that other work can run.
 * The data of a long plan is copied as the stored text: to parse and write 20 MB takes 400 ms.
 * Law: each attempt of a delivery has the same bytes.
 */
export function* eventBody(claim: DeliveryClaim, data: string, createdAt: number): Generator<void, Buffer> {
  if (data.length <= maxInlineDataLength || claim.apiVersion !== 'current')
    return yield* writtenEvent(claim, data, createdAt)
  const empty = (yield* writtenEvent(claim, '{}', createdAt)).toString()
  const index = empty.indexOf(emptyData)
  const parts = [Buffer.from(`${empty.slice(0, index)}"data":`)]
  for (let from = 0; from < data.length; ) {
    const end = from + charactersPerPause
    // Both halves of a surrogate pair are encoded together.
    const to = isHighSurrogate(data.charCodeAt(end - 1)) ? end - 1 : end
    parts.push(Buffer.from(data.slice(from, to)))
    from = to
    yield
  }
  parts.push(Buffer.from(empty.slice(index + emptyData.length)))
  return Buffer.concat(parts)
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00

function* writtenEvent(claim: DeliveryClaim, data: string, createdAt: number): Generator<void, Buffer> {
  const { eventId, accountId, liveMode, eventType, apiVersion } = claim
  const event = yield* eventToWireInSteps(
    { id: eventId, accountId, liveMode, type: eventType, data, createdAt },
    apiVersion,
  )
  const parts: Buffer[] = []
  for (const piece of jsonPieces(answerInApiVersion(eventRetrieve, event, apiVersion))) {
    if (piece !== '') parts.push(Buffer.from(piece))
    yield
  }
  return Buffer.concat(parts)
}

/** Create and sign the POST request of a delivery at `at` (ms). Yields so that other work can run. */
export function* signedPost(
  claim: DeliveryClaim,
  body: Buffer,
  { seal }: Pick<AttemptOptions, 'seal'>,
  at: number,
): Generator<void, Post> {
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
      'webhook-signature': yield* signatureHeader(secrets, claim.eventId, timestamp, body),
    },
  }
}

/** Write and sign the request in the time slices of its account: an event can have megabytes. */
const postOf = async (
  claim: DeliveryClaim,
  data: string,
  createdAt: number,
  options: AttemptOptions,
): Promise<Post> => {
  const body = await runInTimeSlices(eventBody(claim, data, createdAt), claim.accountId)
  return runInTimeSlices(signedPost(claim, body, options, options.at()), claim.accountId)
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
