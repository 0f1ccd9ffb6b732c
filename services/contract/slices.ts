export { atOnce } from '../domain/at-once.ts'

/** Time that all long work of a process may take of one turn of the event loop, in ms: other requests wait no longer than for one slice. */
const sliceMs = 3

/** Start of the present turn of the event loop, as far as it has long work; null if none has run in it yet. */
let turnStartedAt: number | null = null

const startTurn = (): number => {
  const now = performance.now()
  turnStartedAt = now
  // Runs in the next turn, before the next slice.
  setImmediate(() => {
    turnStartedAt = null
  })
  return now
}

const isTurnOver = (): boolean => performance.now() - (turnStartedAt ?? startTurn()) >= sliceMs

/** Works that wait for a slice: accounts in the order in which they get one. */
const waiting = new Map<string, (() => void)[]>()
let isGranting = false

const grantSlice = (): void => {
  const [next] = waiting
  if (next !== undefined) {
    const [account, works] = next
    const resume = works.shift()
    // Behind the other accounts.
    waiting.delete(account)
    if (works.length > 0) waiting.set(account, works)
    startTurn()
    resume?.()
  }
  isGranting = waiting.size > 0
  if (isGranting) setImmediate(grantSlice)
}

/**
 * Wait for the next slice. Each turn of the event loop gives one slice to one work, so that the turn stays short however many works wait.
 * Accounts take turns; works without an account share one. Source: docs/promises.md #i8, #s6.
 */
export const nextSlice = (account = ''): Promise<void> =>
  new Promise(resolve => {
    const works = waiting.get(account)
    if (works === undefined) waiting.set(account, [resolve])
    else works.push(resolve)
    if (isGranting) return
    isGranting = true
    setImmediate(grantSlice)
  })

/** Work that is done in slices: `isOver` tells whether the slice is over, `rest` lets others have the next turns. */
export type Slices = { readonly isOver: () => boolean; readonly rest: () => Promise<void> }

/** Begin work in slices of some milliseconds each, in the turn of an account. */
export const beginSlices = (account?: string): Slices => {
  if (turnStartedAt === null) startTurn()
  return { isOver: isTurnOver, rest: () => nextSlice(account) }
}

/** Do work that says by `yield` where it can be interrupted, in slices; gives what it returns. */
export const inSlices = async <T>(work: Generator<unknown, T, undefined>, slices: Slices = beginSlices()): Promise<T> => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    if (slices.isOver()) await slices.rest()
  }
}
