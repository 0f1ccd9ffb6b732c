/** Decision about a request. `headers` are the rate headers of its answer. */
export type RateDecision = { readonly isAllowed: boolean; readonly headers: Readonly<Record<string, string>> }

/**
 * Count a request of an account and mode at `now` (ms).
 * `accountLimit` is the limit of the account in requests per second.
 */
export type RateLimit = (name: string, accountLimit: number | null | undefined, now: number) => RateDecision

/**
 * Length of a burst: requests of this many seconds at once, after a pause.
 * Source: docs/rules/authentication.md #rate-limit.
 */
export const burstSeconds = 5

const maxBuckets = 10_000

const unlimited: RateDecision = { isAllowed: true, headers: {} }

type Bucket = { perSecond: number; tokens: number; at: number }

const refill = (bucket: Bucket, now: number): void => {
  bucket.tokens = Math.min(
    bucket.perSecond * burstSeconds,
    bucket.tokens + (Math.max(0, now - bucket.at) * bucket.perSecond) / 1_000,
  )
  bucket.at = now
}

/** Remove full buckets, because they equal new ones. If there are still too many, remove the oldest. */
const evictBuckets = (buckets: Map<string, Bucket>, now: number): void => {
  for (const [name, bucket] of buckets) {
    refill(bucket, now)
    if (bucket.tokens >= bucket.perSecond * burstSeconds) buckets.delete(name)
  }
  for (const oldest of buckets.keys()) {
    if (buckets.size < maxBuckets) break
    buckets.delete(oldest)
  }
}

const secondsUntil = (tokens: number, perSecond: number): string => String(Math.max(1, Math.ceil(tokens / perSecond)))

/**
 * Create a limiter of `defaultLimit` requests per second for each name, with a burst of five times as many.
 * Null allows all requests.
 * A refused request is not counted. `RateLimit-Limit` is the burst.
 * `RateLimit-Reset` is the time in s until the full burst is available.
 */
export const createRateLimit = (defaultLimit: number | null): RateLimit => {
  const buckets = new Map<string, Bucket>()
  return (name, accountLimit, now) => {
    const perSecond = accountLimit ?? defaultLimit
    if (perSecond === null) return unlimited
    const burst = perSecond * burstSeconds
    let bucket = buckets.get(name)
    if (bucket === undefined || bucket.perSecond !== perSecond) {
      if (buckets.size >= maxBuckets) evictBuckets(buckets, now)
      bucket = { perSecond, tokens: burst, at: now }
      buckets.set(name, bucket)
    }
    refill(bucket, now)
    const isAllowed = bucket.tokens >= 1
    if (isAllowed) bucket.tokens -= 1
    const headers = {
      'RateLimit-Limit': String(burst),
      'RateLimit-Remaining': String(Math.floor(bucket.tokens)),
      'RateLimit-Reset': secondsUntil(burst - bucket.tokens, perSecond),
    }
    return {
      isAllowed,
      headers: isAllowed ? headers : { ...headers, 'Retry-After': secondsUntil(1 - bucket.tokens, perSecond) },
    }
  }
}
