import { setImmediate as nextTurn } from 'node:timers/promises'

/** Time of one slice of work, in ms: others wait no longer than for one. */
const sliceMs = 8

/** Work that is done in slices: `isOver` says when one is over, `rest` lets others have the next turn. */
export type Slices = { readonly isOver: () => boolean; readonly rest: () => Promise<void> }

/** Begin work in slices of some milliseconds each. */
export const beginSlices = (): Slices => {
  let startedAt = performance.now()
  return {
    isOver: () => performance.now() - startedAt >= sliceMs,
    rest: async () => {
      await nextTurn()
      startedAt = performance.now()
    },
  }
}

/** Do work that says by `yield` where it can be interrupted, in slices; gives what it returns. */
export const inSlices = async <T>(work: Generator<void, T>, slices: Slices = beginSlices()): Promise<T> => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    if (slices.isOver()) await slices.rest()
  }
}

/** Do the same work at once. */
export const atOnce = <T>(work: Generator<void, T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
