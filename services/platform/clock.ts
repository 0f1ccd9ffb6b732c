/** Instant that another clock showed when the monotonic time of this process was `elapsed`; both in ms. */
type Reference = { readonly at: number; readonly elapsed: number }

let reference: Reference | null = null

const instantAt = (elapsed: number): number =>
  reference === null ? Date.now() : reference.at + elapsed - reference.elapsed

/**
 * Return the current instant in ms: of the clock that the process follows, else of the machine. No other file reads
 * the clock of the machine.
 */
export const currentInstant = (): number => Math.floor(instantAt(performance.now()))

/** Difference in ms that is not corrected, so that the clock does not move back at every reading. */
const toleranceMs = 5
const readingIntervalMs = 1_000

/** Read the other clock. The reading lies between the start and the end of the request. */
const readReference = async (read: () => Promise<number>): Promise<void> => {
  const startedAt = performance.now()
  const at = await read()
  const endedAt = performance.now()
  const isCorrect =
    reference !== null && instantAt(startedAt) <= at + toleranceMs && at <= instantAt(endedAt) + toleranceMs
  if (!isCorrect) reference = { at, elapsed: (startedAt + endedAt) / 2 }
}

/**
 * Follow another clock, which is read every second. Processes that follow the clock of their database agree on the
 * time, however wrong the clocks of their machines are. Between two readings the process counts the elapsed time, so
 * that a change of the machine's clock has no effect. If the other clock cannot be read, the process counts on.
 * Rejects if the first reading fails.
 */
export const followClock = async (read: () => Promise<number>): Promise<Disposable> => {
  await readReference(read)
  let isReading = false
  const readAgain = async (): Promise<void> => {
    if (isReading) return
    isReading = true
    await readReference(read).catch(() => undefined)
    isReading = false
  }
  const timer = setInterval(() => void readAgain(), readingIntervalMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
