import { eventRetrieve, eventToWireInSteps } from '../contract/event.ts'
import { answerInLayout } from '../contract/exchange.ts'
import { versionOf } from '../contract/layout.ts'
import { type Judgement, judgeAttempt } from '../domain/webhook/retry.ts'
import { secretsInUse } from '../domain/webhook/secret-rotation.ts'
import { inTurns } from '../platform/event-loop-turn.ts'
import type { DeliveryStatus } from '../platform/postgres/webhook-deliveries.ts'
import type { Outcome } from '../platform/postgres/webhook-outcomes.ts'
import type { Claim } from '../platform/postgres/webhook-queue.ts'
import type { Seal } from '../platform/seal.ts'
import type { Post, PostOutcome, WebhookDialler } from '../platform/webhook-dialler/dialler.ts'
import { jsonPieces } from '../platform/write-json.ts'
import { signatureHeader } from './sign.ts'

export type AttemptOptions = {
  readonly dialler: Pick<WebhookDialler, 'post'>
  readonly seal: Pick<Seal, 'open'>
  readonly at: () => number
  /** A number of 0 … 1 that nobody foresees. */
  readonly chance: () => number
}

/** What an attempt brought, and what it means for the endpoint of it. */
export type Attempt = { readonly claim: Claim; readonly outcome: Outcome; readonly judgement: Judgement['kind']; readonly isCut: boolean }

/** Data of so many characters is written in some ms. */
const shortData = 65_536
const noData = '"data":{}'
/** Characters that are encoded between two points where the work can be interrupted. */
const charactersAtOnce = 2 ** 18

/**
 * Write the body of an event in the layout that the endpoint is pinned to, in steps; the same bytes at each attempt. Data of a long plan is put in as the
 * text that it is stored as: to parse and write 20 MB takes 400 ms.
 */
export function* eventBody(claim: Claim, data: string, createdAt: number): Generator<void, Buffer> {
  if (data.length <= shortData || claim.layout !== 'current') return yield* writtenEvent(claim, data, createdAt)
  const empty = (yield* writtenEvent(claim, '{}', createdAt)).toString()
  const place = empty.indexOf(noData)
  const parts = [Buffer.from(`${empty.slice(0, place)}"data":`)]
  for (let from = 0; from < data.length; ) {
    const end = from + charactersAtOnce
    // Both halves of a surrogate pair are encoded together.
    const to = isHighSurrogate(data.charCodeAt(end - 1)) ? end - 1 : end
    parts.push(Buffer.from(data.slice(from, to)))
    from = to
    yield
  }
  parts.push(Buffer.from(empty.slice(place + noData.length)))
  return Buffer.concat(parts)
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00

function* writtenEvent(claim: Claim, data: string, createdAt: number): Generator<void, Buffer> {
  const { eventId, accountId, liveMode, eventType, layout } = claim
  const event = yield* eventToWireInSteps({ id: eventId, accountId, liveMode, type: eventType, data, createdAt }, layout)
  const parts: Buffer[] = []
  for (const piece of jsonPieces(answerInLayout(eventRetrieve, event, layout))) {
    if (piece !== '') parts.push(Buffer.from(piece))
    yield
  }
  return Buffer.concat(parts)
}

/** Lay out and sign the POST of a delivery at `at` (ms), in steps. */
export function* signedPost(claim: Claim, body: Buffer, { seal }: Pick<AttemptOptions, 'seal'>, at: number): Generator<void, Post> {
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
      'webhook-signature': yield* signatureHeader(secrets, claim.eventId, timestamp, body),
    },
  }
}

/** Events may be of megabytes: they are written and signed in slices of their account's turn. */
const postOf = async (claim: Claim, data: string, createdAt: number, options: AttemptOptions): Promise<Post> => {
  const body = await inTurns(eventBody(claim, data, createdAt), claim.accountId)
  return inTurns(signedPost(claim, body, options, options.at()), claim.accountId)
}

const expired: PostOutcome = { status: null, error: 'event_expired', retryAfter: null, body: '', isCut: false, durationMs: 0 }

const statusOf = { DELIVERED: 'DELIVERED', RETRY: 'PENDING', EXHAUSTED: 'FAILED', GONE: 'FAILED' } as const satisfies Record<
  Judgement['kind'],
  DeliveryStatus
>

/** Make one attempt of a delivery. Never rejects for what the subscriber does; throws for a secret that cannot be opened. */
export const attempt = async (claim: Claim, options: AttemptOptions): Promise<Attempt> => {
  const { data, eventCreatedAt } = claim
  const hasEvent = data !== null && eventCreatedAt !== null
  const posted = hasEvent ? await options.dialler.post(await postOf(claim, data, eventCreatedAt, options)) : expired
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
  return { claim, outcome, judgement: judgement.kind, isCut: posted.isCut }
}
