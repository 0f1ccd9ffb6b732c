import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateDecision } from './rate-limit.ts'

/** Max wrong keys per minute before 429: for each peer, and for each pair of account and peer. */
export type WrongKeyLimits = { readonly perPeer: number; readonly perAccountAndPeer: number }

/** Count a wrong key. The decision is whether to answer 401 or 429. `accountId` is null if the request has none. */
export type CountWrongKey = (peer: string, accountId: string | null) => Promise<RateDecision>

const windowSeconds = 60

/**
 * Number of counters. Peers with the same hash share a counter, so that memory is bounded. Only wrong keys are counted.
 */
const counterCount = 2 ** 14

const consume = async (
  limiter: RateLimiterMemory,
  counter: number,
): Promise<{ readonly state: RateLimiterRes; readonly isOver: boolean }> => {
  try {
    return { state: await limiter.consume(counter), isOver: false }
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { state: refused, isOver: true }
    throw refused
  }
}

/**
 * Create the throttle of wrong keys. Correct keys are never counted.
 * Source: docs/rules/authentication.md #wrong-keys.
 */
export const wrongKeyThrottle = ({ perPeer, perAccountAndPeer }: WrongKeyLimits): CountWrongKey => {
  const salt = randomBytes(16)
  const peers = new RateLimiterMemory({ points: perPeer, duration: windowSeconds, keyPrefix: 'peer' })
  const pairs = new RateLimiterMemory({ points: perAccountAndPeer, duration: windowSeconds, keyPrefix: 'pair' })
  const counterOf = (name: string): number =>
    createHmac('sha256', salt).update(name).digest().readUInt32BE() % counterCount
  return async (peer, accountId) => {
    const counted = [{ points: perPeer, ...(await consume(peers, counterOf(peer))) }]
    if (accountId !== null)
      counted.push({ points: perAccountAndPeer, ...(await consume(pairs, counterOf(`${peer} ${accountId}`))) })
    // Report the counter that refuses for the longest time, or the one with the fewest remaining keys.
    const [strictest] = counted.toSorted(
      (a, b) =>
        Number(b.isOver) - Number(a.isOver) ||
        (a.isOver ? b.state.msBeforeNext - a.state.msBeforeNext : a.state.remainingPoints - b.state.remainingPoints),
    )
    if (strictest === undefined) throw new RangeError('No counter was consumed')
    const seconds = String(Math.max(1, Math.ceil(strictest.state.msBeforeNext / 1_000)))
    const headers = {
      'RateLimit-Limit': String(strictest.points),
      'RateLimit-Remaining': String(Math.max(0, strictest.state.remainingPoints)),
      'RateLimit-Reset': seconds,
    }
    return {
      isAllowed: !strictest.isOver,
      headers: strictest.isOver ? { ...headers, 'Retry-After': seconds } : headers,
    }
  }
}
