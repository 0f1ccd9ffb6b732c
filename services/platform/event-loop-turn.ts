import { setImmediate as nextTurn } from 'node:timers/promises'

/** Long work lets others run after so many ms: with what a single slice and the collector add, turns stay below 20 ms. */
const longestTurnMs = 8

/** The turns of the event loop that some long work takes. */
export type Turns = {
  /** Tell whether the work has held the event loop long enough. */
  readonly isOver: () => boolean
  /** Let requests, timers and other work run first. */
  readonly next: () => Promise<void>
}

/** Begin the first turn of some work now. */
export const openTurns = (maxMs = longestTurnMs): Turns => {
  let since = performance.now()
  return {
    isOver: () => performance.now() - since > maxMs,
    next: async () => {
      await nextTurn()
      since = performance.now()
    },
  }
}

/** Run work to its end that gives `null` wherever it may be interrupted, and let others run meanwhile. */
export const inTurns = async <T>(work: Generator<unknown, T, undefined>, turns = openTurns()): Promise<T> => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    if (turns.isOver()) await turns.next()
  }
}
