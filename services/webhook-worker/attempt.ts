import { apiVersionDates } from '../contract/api-version.ts'
import { eventRetrieve, eventToWireInSteps } from '../contract/events/event.ts'
import { answerInApiVersion } from '../contract/exchange.ts'
import { type AttemptDecision, decideAttempt } from '../domain/webhook/retry-delay.ts'
import { signingSecrets } from '../domain/webhook/secret-rotation.ts'
import type { Seal } from '../platform/access/seal.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { DeliveryStatus } from '../platform/postgres/webhooks/webhook-deliveries.ts'
import type { AttemptOutcome } from '../platform/postgres/webhooks/webhook-outcomes.ts'
import type { DeliveryClaim } from '../platform/postgres/webhooks/webhook-queue.ts'
import type { Post, PostOutcome, WebhookHttpClient } from '../platform/webhook-client/webhook-http-client.ts'
import { jsonPieces } from '../platform/write-json.ts'
import { signatureHeader } from './signature-header.ts'

export type AttemptOptions = {
  readonly webhookClient: Pick<WebhookHttpClient, 'post'>
  readonly seal: Pick<Seal, 'open'>
  readonly at: () => number
  /** A number of 0 … 1 that nobody foresees. */
  readonly random: () => number
}

/** What an attempt brought, and what it means for the endpoint of it. */
export type Attempt = {
  readonly claim: DeliveryClaim
  readonly outcome: AttemptOutcome
  readonly decision: AttemptDecision['kind']
  readonly isCut: boolean
}

/** Data of so many characters is written in some ms. */
const maxInlineDataLength = 65_536
const emptyData = '"data":{}'
/** Characters that are encoded between two points where the work can be interrupted. */
const charactersAtOnce = 2 ** 18

/**
 * Write the body of an event in the layout that the endpoint is pinned to, in steps; the same bytes at each attempt. Data of a long plan is put in as the
 * text that it is stored as: to parse and write 20 MB takes 400 ms.
 */
export function* eventBody(claim: DeliveryClaim, data: string, createdAt: number): Generator<void, Buffer> {
  if (data.length <= maxInlineDataLength || claim.apiVersion !== 'current')
    return yield* writtenEvent(claim, data, createdAt)
  const empty = (yield* writtenEvent(claim, '{}', createdAt)).toString()
  const index = empty.indexOf(emptyData)
  const parts = [Buffer.from(`${empty.slice(0, index)}"data":`)]
  for (let from = 0; from < data.length; ) {
    const end = from + charactersAtOnce
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

/** Lay out and sign the POST of a delivery at `at` (ms), in steps. */
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

/** Events may be of megabytes: they are written and signed in slices of their account's turn. */
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

/** Make one attempt of a delivery. Never rejects for what the subscriber does; throws for a secret that cannot be opened. */
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
