import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Admission, admission } from './admission.ts'
import type { Limits } from './binding.ts'
import { type PeerOf, peerFinder } from './peer.ts'
import { createRateLimit, type RateLimit, type RateVerdict } from './rate-limit.ts'
import { type NoteWrongKey, wrongKeyThrottle } from './wrong-keys.ts'

/** What a process counts of its requests, to bound them. */
export type Gate = {
  readonly requests: RateLimit
  readonly wrongKeys: NoteWrongKey
  readonly peerOf: PeerOf
  readonly admission: Admission
}

export const openGate = (limits: Limits): Gate => ({
  requests: createRateLimit(limits.requestsPerSecond),
  wrongKeys: wrongKeyThrottle(limits.wrongKeysPerMinute),
  peerOf: peerFinder(limits.trustedProxies),
  admission: admission(limits.underWay),
})

/** Refuse with `rate_limited` where a limiter says so; where the caller stands is written into `headers` either way. */
export const passRate = (headers: Record<string, string>, verdict: RateVerdict, advice: string): Result<null> => {
  Object.assign(headers, verdict.headers)
  return verdict.allowed ? accepted(null) : refused('rate_limited', advice)
}
