import { eventRetrieve, eventToWire } from '../contract/event.ts'
import { answerInLayout } from '../contract/exchange.ts'
import { versionOf } from '../contract/layout.ts'
import { type Judgement, judgeAttempt } from '../domain/webhook/retry.ts'
import { secretsInUse } from '../domain/webhook/secret-rotation.ts'
import type { DeliveryStatus } from '../platform/postgres/webhook-deliveries.ts'
import type { Outcome } from '../platform/postgres/webhook-outcomes.ts'
import type { Claim } from '../platform/postgres/webhook-queue.ts'
import type { Seal } from '../platform/seal.ts'
import type { Post, PostOutcome, WebhookDialler } from '../platform/webhook-dialler/dialler.ts'
import { signatureHeader } from './sign.ts'

export type AttemptOptions = {
  readonly dialler: Pick<WebhookDialler, 'post'>
  readonly seal: Pick<Seal, 'open'>
  readonly at: () => number
  /** A number of 0 … 1 that nobody foresees. */
  readonly chance: () => number
}

/** What an attempt brought, and what it means for the endpoint of it. */
export type Attempt = { readonly claim: Claim; readonly outcome: Outcome; readonly judgement: Judgement['kind'] }

/** Data of so many characters is written in some ms. */
const shortData = 65_536
const noData = '"data":{}'

/**
 * Write the body of an event in the layout that the endpoint is pinned to; the same bytes at each attempt. Data of a long plan is put in as the
 * text that it is stored as: to parse and write 20 MB takes 400 ms.
 */
export const eventBody = (claim: Claim, data: string, createdAt: number): string => {
  const { eventId, accountId, liveMode, eventType, layout } = claim
  if (data.length > shortData && layout === 'current') {
    const empty = eventBody(claim, '{}', createdAt)
    const place = empty.indexOf(noData)
    return `${empty.slice(0, place)}"data":${data}${empty.slice(place + noData.length)}`
  }
  const event = eventToWire({ id: eventId, accountId, liveMode, type: eventType, data, createdAt }, layout)
  return JSON.stringify(answerInLayout(eventRetrieve, event, layout))
}

/** Lay out and sign the POST of a delivery at `at` (ms). */
export const signedPost = (claim: Claim, body: string, { seal }: Pick<AttemptOptions, 'seal'>, at: number): Post => {
  const timestamp = Math.floor(at / 1000)
  const secrets = secretsInUse(claim.secrets, at).map(({ secret }) => seal.open(secret, claim.endpointId))
  return {
    url: claim.url,
    liveMode: claim.liveMode,
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Wattledger-Webhooks/1',
      'api-version': versionOf[claim.layout],
      'webhook-id': claim.eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureHeader(secrets, claim.eventId, timestamp, body),
    },
  }
}

const expired: PostOutcome = { status: null, error: 'event_expired', retryAfter: null, body: '', durationMs: 0 }

const statusOf = { DELIVERED: 'DELIVERED', RETRY: 'PENDING', EXHAUSTED: 'FAILED', GONE: 'FAILED' } as const satisfies Record<
  Judgement['kind'],
  DeliveryStatus
>

/** Make one attempt of a delivery. Never rejects for what the subscriber does; throws for a secret that cannot be opened. */
export const attempt = async (claim: Claim, options: AttemptOptions): Promise<Attempt> => {
  const { data, eventCreatedAt } = claim
  const hasEvent = data !== null && eventCreatedAt !== null
  const posted = hasEvent
    ? await options.dialler.post(signedPost(claim, eventBody(claim, data, eventCreatedAt), options, options.at()))
    : expired
  const at = options.at()
  const attempts = claim.attempts + 1
  const judgement: Judgement = hasEvent ? judgeAttempt(posted, attempts, at, options.chance()) : { kind: 'EXHAUSTED' }
  const outcome: Outcome = {
    accountId: claim.accountId,
    liveMode: claim.liveMode,
    deliveryId: claim.id,
    endpointId: claim.endpointId,
    round: claim.round,
    attempts,
    status: statusOf[judgement.kind],
    dueAt: judgement.kind === 'RETRY' ? judgement.dueAt : null,
    statusCode: posted.status,
    error: posted.error,
    durationMs: posted.durationMs,
    responseBody: posted.body,
    at,
  }
  return { claim, outcome, judgement: judgement.kind }
}
