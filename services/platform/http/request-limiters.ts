import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Admission, admission } from './admission.ts'
import type { Limits } from './binding.ts'
import { type PeerOf, peerFinder } from './peer.ts'
import { createRateLimit, type RateDecision, type RateLimit } from './rate-limit.ts'
import { type CountWrongKey, wrongKeyThrottle } from './wrong-keys.ts'

/** Limiters of the requests of a process. */
export type RequestLimiters = {
  readonly requests: RateLimit
  readonly wrongKeys: CountWrongKey
  readonly peerOf: PeerOf
  readonly admission: Admission
}

export const createLimiters = (limits: Limits): RequestLimiters => ({
  requests: createRateLimit(limits.requestsPerSecond),
  wrongKeys: wrongKeyThrottle(limits.wrongKeysPerMinute),
  peerOf: peerFinder(limits.trustedProxies),
  admission: admission(limits.admission),
})

/** Add the rate headers of a decision. Refuse with `rate_limited` if the request is not allowed. */
export const checkRate = (headers: Record<string, string>, decision: RateDecision, advice: string): Result<null> => {
  Object.assign(headers, decision.headers)
  return decision.isAllowed ? accepted(null) : refused('rate_limited', advice)
}
