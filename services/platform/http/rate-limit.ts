/** What a limiter says of one request; `headers` tell the caller where it stands. */
export type RateVerdict = { readonly allowed: boolean; readonly headers: Readonly<Record<string, string>> }

/** Count one request of an account and mode at `now` (ms); `own` is the account's own limit in requests per second. */
export type RateLimit = (name: string, own: number | null | undefined, now: number) => RateVerdict

/** A caller that has rested may send this many seconds' worth of requests at once. Source: docs/rules/authentication.md #rate-limit. */
export const burstSeconds = 5

const maxBuckets = 10_000

const free: RateVerdict = { allowed: true, headers: {} }

type Bucket = { perSecond: number; tokens: number; at: number }

const fill = (bucket: Bucket, now: number): void => {
  bucket.tokens = Math.min(bucket.perSecond * burstSeconds, bucket.tokens + (Math.max(0, now - bucket.at) * bucket.perSecond) / 1_000)
  bucket.at = now
}

/** Drop buckets that are full, which are as good as new ones; if none is, the oldest. */
const makePlace = (buckets: Map<string, Bucket>, now: number): void => {
  for (const [name, bucket] of buckets) {
    fill(bucket, now)
    if (bucket.tokens >= bucket.perSecond * burstSeconds) buckets.delete(name)
  }
  for (const oldest of buckets.keys()) {
    if (buckets.size < maxBuckets) break
    buckets.delete(oldest)
  }
}

const secondsUntil = (tokens: number, perSecond: number): string => String(Math.max(1, Math.ceil(tokens / perSecond)))

/**
 * Make a limiter of `usual` requests per second for each name, with a burst of five times as many; null allows all.
 * A refused request costs nothing. `RateLimit-Limit` is the burst, `RateLimit-Reset` the seconds until the whole burst is there again.
 */
export const createRateLimit = (usual: number | null): RateLimit => {
  const buckets = new Map<string, Bucket>()
  return (name, own, now) => {
    const perSecond = own ?? usual
    if (perSecond === null) return free
    const burst = perSecond * burstSeconds
    let bucket = buckets.get(name)
    if (bucket === undefined || bucket.perSecond !== perSecond) {
      if (buckets.size >= maxBuckets) makePlace(buckets, now)
      bucket = { perSecond, tokens: burst, at: now }
      buckets.set(name, bucket)
    }
    fill(bucket, now)
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    const headers = {
      'RateLimit-Limit': String(burst),
      'RateLimit-Remaining': String(Math.floor(bucket.tokens)),
      'RateLimit-Reset': secondsUntil(burst - bucket.tokens, perSecond),
    }
    return { allowed, headers: allowed ? headers : { ...headers, 'Retry-After': secondsUntil(1 - bucket.tokens, perSecond) } }
  }
}
