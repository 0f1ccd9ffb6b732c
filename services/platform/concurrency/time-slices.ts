/** Time that all long work of a process may take of one turn of the event loop, in ms: other requests wait no longer than for one slice. */
const sliceMs = 3

/** Start of the present turn of the event loop, as far as it has long work; null if none has run in it yet. */
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

/** Works that wait for a slice: accounts in the order in which they get one. */
const waitingByAccount = new Map<string, (() => void)[]>()
let isGranting = false

const grantSlice = (): void => {
  const [next] = waitingByAccount
  if (next !== undefined) {
    const [account, resumes] = next
    const resume = resumes.shift()
    // Behind the other accounts.
    waitingByAccount.delete(account)
    if (resumes.length > 0) waitingByAccount.set(account, resumes)
    noteTurnStart()
    resume?.()
  }
  isGranting = waitingByAccount.size > 0
  if (isGranting) setImmediate(grantSlice)
}

/**
 * Wait for the next slice. Each turn of the event loop gives one slice to one work, so that the turn stays short however many works wait.
 * Accounts take turns; works without an account share one. Source: docs/promises.md #i8, #s6.
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

/** The slices of some work. `isOver`: the present slice is over; `pause`: let other work run until the next slice. */
export type TimeSlices = { readonly isOver: () => boolean; readonly pause: () => Promise<void> }

/** Start the first slice of some work now. `account`: the account that the work is done for; absent for work of the service itself. */
export const startTimeSlices = (account?: string): TimeSlices => {
  if (turnStartedAt === null) noteTurnStart()
  return { isOver: isTurnOver, pause: () => nextSlice(account) }
}

/** Run a generator to its end and return its result. It may be interrupted at each `yield`; other work runs between slices. */
export const runInTimeSlices = async <T>(work: Generator<unknown, T, undefined>, account?: string): Promise<T> => {
  const slices = startTimeSlices(account)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    if (slices.isOver()) await slices.pause()
  }
}
