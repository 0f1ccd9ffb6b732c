import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { RateDecision } from './rate-limit.ts'

/** How many wrong keys a minute are answered as such: of one peer, and of one peer for one account. */
export type WrongKeyLimits = { readonly perPeer: number; readonly perAccountAndPeer: number }

/** Count a wrong key, and tell whether its sender may hear that it is wrong; `accountId` is null if none was sent. */
export type CountWrongKey = (peer: string, accountId: string | null) => Promise<RateDecision>

const windowSeconds = 60

/** Peers share counters by chance, so that memory stays bounded whatever addresses come; only senders of wrong keys can notice. */
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

/** Make the throttle of wrong keys. Right keys are never counted and always get in. Source: docs/rules/authentication.md #wrong-keys. */
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
    // The counter that refuses longest speaks; if none refuses, the one with the least left.
    const [strictest] = counted.toSorted(
      (a, b) =>
        Number(b.isOver) - Number(a.isOver) ||
        (a.isOver ? b.state.msBeforeNext - a.state.msBeforeNext : a.state.remainingPoints - b.state.remainingPoints),
    )
    if (strictest === undefined) throw new RangeError('nothing was counted')
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
