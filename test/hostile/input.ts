import type { Target } from './target.ts'

/**
 * Send an input and wait until its effect has ended. Returns the statuses of the answers; 0 means a closed connection.
 */
export type Play = () => Promise<readonly number[]>

/** One or more requests of a given size, valid or not. */
export type HostileInput = {
  readonly subject: string
  /** Unique name. Exceptions and known misses refer to it. */
  readonly name: string
  /** Size at which the waits are measured: a documented maximum or more. */
  readonly size: number
  readonly unit: string
  /** CPU time is compared between half of this size and this size. Default: `size`. Null if the input has no size. */
  readonly growsTo?: number | null
  /** Allowed statuses of the answers. */
  readonly statuses: readonly number[]
  /** True if the test suite also plays the input. */
  readonly isShort?: boolean
  /** True if the input changes objects, so that it can be played once only. */
  readonly isOnce?: boolean
  /** Time limit of a play with its effect, in s. */
  readonly endsWithinS?: number
  /** Create the required objects and the bodies. This time is not measured. */
  readonly open: (target: Target, size: number) => Promise<Play>
}

/** Default of `endsWithinS`. */
export const defaultEndsWithinS = 30

/** Return a play that sends requests concurrently. */
export const playOf =
  (...requests: readonly (() => Promise<{ readonly status: number }>)[]): Play =>
  async () =>
    (await Promise.all(requests.map(send => send()))).map(({ status }) => status)

export const repeat = (count: number, text: string): string => text.repeat(count)

/** Return a play that sends `count` requests concurrently. */
export const playCopies = (count: number, send: (index: number) => Promise<{ readonly status: number }>): Play =>
  playOf(...Array.from({ length: count }, (_, index) => () => send(index)))

/** Return the text of a number with a 1, `count` zeros and a 1, so that no digit can be dropped. */
export const zeros = (count: number): string => `1${'0'.repeat(count)}1`
