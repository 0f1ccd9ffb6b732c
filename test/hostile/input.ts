import type { Target } from './target.ts'

/** Send an input and wait until its effect has ended. Resolves with the statuses of the answers; 0 is a connection that was cut. */
export type Play = () => Promise<readonly number[]>

/** A request, or some, that a caller may send within its rights or beyond them, at a size. */
export type HostileInput = {
  readonly subject: string
  /** Unique: exceptions and open inputs name it. */
  readonly name: string
  /** Size that is played with the probe beside it: a documented maximum, or beyond one. */
  readonly size: number
  readonly unit: string
  /** Sizes whose CPU time is compared: half of it and all of it. `size` if absent; null if the input has no size of its own. */
  readonly growsTo?: number | null
  /** Every answer has one of these statuses. */
  readonly statuses: readonly number[]
  /** Whether the suite plays it too. */
  readonly isShort?: boolean
  /** Whether it changes something, so that it can be played once only. */
  readonly isOnce?: boolean
  /** Limit of a play in s, its effect included. */
  readonly endsWithinS?: number
  /** Create what the input needs, and the bodies: none of it is measured. */
  readonly open: (target: Target, size: number) => Promise<Play>
}

/** Limit of a play in s where an input names no other. */
export const usualEndS = 30

/** Return a play that sends requests at once, each `copies` times. */
export const sends =
  (...requests: readonly (() => Promise<{ readonly status: number }>)[]): Play =>
  async () =>
    (await Promise.all(requests.map(send => send()))).map(({ status }) => status)

/** Repeat a text. */
export const times = (count: number, text: string): string => text.repeat(count)

/** Number text of a one, zeros and a one: digits that cannot be cut off at the end. */
export const zeros = (count: number): string => `1${'0'.repeat(count)}1`
