import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** What a limiter says of one request; `headers` tell the caller where it stands. */
export type RateVerdict = { readonly allowed: boolean; readonly headers: Readonly<Record<string, string>> }

export type RateLimit = {
  /** Count one request of a key; `points` where it has its own in place of the usual ones. */
  readonly take: (key: string, points?: number | null) => Promise<RateVerdict>
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

/** Make a limiter of `usual` points per `seconds` for each key, kept in memory; null allows all. */
export const createRateLimit = (usual: number | null, seconds: number): RateLimit => {
  const limiters = new Map<number, RateLimiterMemory>()
  const limiterOf = (points: number): RateLimiterMemory => {
    const limiter = limiters.get(points) ?? new RateLimiterMemory({ points, duration: seconds })
    limiters.set(points, limiter)
    return limiter
  }
  return {
    take: async (key, own) => {
      const points = own ?? usual
      if (points === null) return free
      try {
        return verdict(points, await limiterOf(points).consume(key), true)
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return verdict(points, refused, false)
        throw refused
      }
    },
    peek: async key => {
      if (usual === null) return free
      const state = await limiterOf(usual).get(key)
      return verdict(usual, state, state === null || state.consumedPoints < usual)
    },
  }
}
