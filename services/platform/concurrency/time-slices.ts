/**
 * Time in ms that all long work of a process can use in one turn of the event loop.
 * Other requests wait at most this time.
 */
const sliceMs = 3

/** Start of long work in the current turn of the event loop. Null if no long work has run in this turn. */
let turnStartedAt: number | null = null

const noteTurnStart = (): number => {
  const now = performance.now()
  turnStartedAt = now
  // Runs in the next turn, before the next slice.
  setImmediate(() => {
    turnStartedAt = null
  })
  return now
}

const isTurnOver = (): boolean => performance.now() - (turnStartedAt ?? noteTurnStart()) >= sliceMs

/** Work that waits for a slice, by account, in the order in which accounts get slices. */
const waitingByAccount = new Map<string, (() => void)[]>()
let isGranting = false

const grantSlice = (): void => {
  const [next] = waitingByAccount
  if (next !== undefined) {
    const [account, resumes] = next
    const resume = resumes.shift()
    // Move the account to the end of the queue.
    waitingByAccount.delete(account)
    if (resumes.length > 0) waitingByAccount.set(account, resumes)
    noteTurnStart()
    resume?.()
  }
  isGranting = waitingByAccount.size > 0
  if (isGranting) setImmediate(grantSlice)
}

/**
 * Wait for the next slice. Each turn of the event loop gives one slice to one task, so that turns stay short.
 * Accounts take turns. All tasks without an account count as one account. Source: docs/promises.md #i8, #s6.
 */
export const nextSlice = (account = ''): Promise<void> =>
  new Promise(resolve => {
    const resumes = waitingByAccount.get(account)
    if (resumes === undefined) waitingByAccount.set(account, [resolve])
    else resumes.push(resolve)
    if (isGranting) return
    isGranting = true
    setImmediate(grantSlice)
  })

/** Slices of a task. `isOver` returns whether the current slice is over. `pause` waits for the next slice. */
export type TimeSlices = { readonly isOver: () => boolean; readonly pause: () => Promise<void> }

/** Start the first slice of a task now. `account` is undefined for tasks of the service itself. */
export const startTimeSlices = (account?: string): TimeSlices => {
  if (turnStartedAt === null) noteTurnStart()
  return { isOver: isTurnOver, pause: () => nextSlice(account) }
}

/** Start the first slice of a task now, and return a function that waits for the next slice if the current one is over. */
export const startTurns = (account?: string): (() => Promise<void>) => {
  const slices = startTimeSlices(account)
  return async () => {
    if (slices.isOver()) await slices.pause()
  }
}

/** Map items in order. Other work runs between two items. */
export const mapInTimeSlices = async <T, Mapped>(
  items: readonly T[],
  map: (item: T) => Mapped,
  account?: string,
): Promise<readonly Mapped[]> => {
  const slices = startTimeSlices(account)
  const mapped: Mapped[] = []
  for (const item of items) {
    mapped.push(map(item))
    if (slices.isOver()) await slices.pause()
  }
  return mapped
}

/** Run a generator to its end and return its result. It can pause at each `yield`. Other work runs between slices. */
export const runInTimeSlices = async <T>(work: Generator<unknown, T, undefined>, account?: string): Promise<T> => {
  const slices = startTimeSlices(account)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    if (slices.isOver()) await slices.pause()
  }
}
