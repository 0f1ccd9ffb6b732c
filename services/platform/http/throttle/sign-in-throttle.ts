import { createHmac, randomBytes } from 'node:crypto'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** Max failed sign-ins per minute: of a peer, of a user from one peer, and of a user from all peers. */
const limits = { peer: 60, pair: 10, user: 100 } as const
const windowSeconds = 60

/** Number of counters of each kind. Names with the same hash share a counter, so that memory is bounded. */
const counterCount = 2 ** 14

/** An admitted attempt. `succeed` takes it back, so that only failures are counted. */
export type SignInAttempt = { readonly succeed: () => Promise<void> }

export type SignInThrottle = {
  /** Count an attempt before its work. Returns null if the attempt must be refused. */
  readonly begin: (peer: string, user: string) => Promise<SignInAttempt | null>
}

const consume = async (limiter: RateLimiterMemory, counter: number): Promise<boolean> => {
  try {
    await limiter.consume(counter)
    return true
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return false
    throw refused
  }
}

/**
 * Create the throttle of sign-ins with passwords. `user` is the address that the visitor entered, known or not.
 * Source: docs/rules/users.md #sign-in.
 */
export const signInThrottle = (): SignInThrottle => {
  const salt = randomBytes(16)
  const limiterOf = (kind: keyof typeof limits) =>
    new RateLimiterMemory({ points: limits[kind], duration: windowSeconds, keyPrefix: kind })
  const [peers, pairs, users] = [limiterOf('peer'), limiterOf('pair'), limiterOf('user')]
  const counterOf = (name: string): number =>
    createHmac('sha256', salt).update(name).digest().readUInt32BE() % counterCount
  return {
    begin: async (peer, user) => {
      const counted = [
        [peers, counterOf(peer)],
        [pairs, counterOf(`${peer} ${user}`)],
        [users, counterOf(user)],
      ] as const
      for (const [limiter, counter] of counted) if (!(await consume(limiter, counter))) return null
      return {
        succeed: async () => {
          for (const [limiter, counter] of counted) await limiter.reward(counter)
        },
      }
    },
  }
}
