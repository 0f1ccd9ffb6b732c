import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type Admission, admission } from './admission.ts'
import type { Limits } from './binding.ts'
import { createRateLimit, type RateLimit, type RateVerdict } from './rate-limit.ts'

/** What a process counts of its requests, to bound them. */
export type Gate = { readonly requests: RateLimit; readonly failedLogins: RateLimit; readonly admission: Admission }

export const openGate = (limits: Limits): Gate => ({
  requests: createRateLimit(limits.requestsPerSecond, 1),
  failedLogins: createRateLimit(limits.failedLoginsPerMinute, 60),
  admission: admission(limits.underWay),
})

/** Refuse with `rate_limited` where a limiter says so; where the caller stands is written into `headers` either way. */
export const passRate = (headers: Record<string, string>, verdict: RateVerdict, advice: string): Result<null> => {
  Object.assign(headers, verdict.headers)
  return verdict.allowed ? accepted(null) : refused('rate_limited', advice)
}
