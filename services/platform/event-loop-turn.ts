import { beginSlices, inSlices } from '../contract/slices.ts'

/** The turns of the event loop that some long work takes. */
export type Turns = {
  /** Tell whether the work has held the event loop long enough. */
  readonly isOver: () => boolean
  /** Let requests, timers and other work run first. */
  readonly next: () => Promise<void>
}

/** Begin the first turn of some work now. `account`: for which account it is done; the service itself if absent. */
export const openTurns = (account?: string): Turns => {
  const { isOver, rest } = beginSlices(account)
  return { isOver, next: rest }
}

/** Run work to its end that gives `null` wherever it may be interrupted, and let others run meanwhile. */
export const inTurns = <T>(work: Generator<unknown, T, undefined>, account?: string): Promise<T> => inSlices(work, beginSlices(account))
