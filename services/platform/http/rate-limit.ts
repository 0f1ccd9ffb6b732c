import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** What a limiter says of one request; `headers` tell the caller where it stands. */
export type RateVerdict = { readonly allowed: boolean; readonly headers: Readonly<Record<string, string>> }

export type RateLimit = {
  /** Count one request of a key. */
  readonly take: (key: string) => Promise<RateVerdict>
  /** Tell whether a key has any request left, without counting one. */
  readonly peek: (key: string) => Promise<RateVerdict>
}

const free: RateVerdict = { allowed: true, headers: {} }

const verdict = (points: number, state: RateLimiterRes | null, allowed: boolean): RateVerdict => {
  const resetSeconds = String(Math.max(1, Math.ceil((state?.msBeforeNext ?? 0) / 1000)))
  const headers = {
    'RateLimit-Limit': String(points),
    'RateLimit-Remaining': String(Math.max(0, state?.remainingPoints ?? points)),
    'RateLimit-Reset': resetSeconds,
  }
  return { allowed, headers: allowed ? headers : { ...headers, 'Retry-After': resetSeconds } }
}

/** Make a limiter of `points` per `seconds` for each key, kept in memory; null points make one that allows all. */
export const createRateLimit = (points: number | null, seconds: number): RateLimit => {
  if (points === null) return { take: async () => free, peek: async () => free }
  const limiter = new RateLimiterMemory({ points, duration: seconds })
  return {
    take: async key => {
      try {
        return verdict(points, await limiter.consume(key), true)
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return verdict(points, refused, false)
        throw refused
      }
    },
    peek: async key => {
      const state = await limiter.get(key)
      return verdict(points, state, state === null || state.consumedPoints < points)
    },
  }
}
