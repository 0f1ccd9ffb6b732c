/** A running time limit. */
export type Deadline = { readonly at: number; readonly onLate: () => void }

/** Deadlines of tasks that have the same time limit. They share one timer. */
export type Deadlines = {
  /** Start the time limit of a task. After the limit, `onLate` is called once. `onLate` must not throw. */
  readonly start: (onLate: () => void) => Deadline
  /** End the time limit of a task, so that `onLate` is not called any more. */
  readonly end: (deadline: Deadline) => void
}

/** Create a list of deadlines. Deadlines start in the order in which they end, so the timer waits for the first one. */
export const deadlines = (limitMs: number): Deadlines => {
  const running = new Set<Deadline>()
  let timer: NodeJS.Timeout | undefined
  const endLate = (): void => {
    for (const deadline of running) {
      if (deadline.at > performance.now()) break
      running.delete(deadline)
      deadline.onLate()
    }
    clearTimeout(timer)
    const [first] = running
    timer = first === undefined ? undefined : setTimeout(endLate, first.at - performance.now())
  }
  return {
    start: onLate => {
      const deadline = { at: performance.now() + limitMs, onLate }
      running.add(deadline)
      timer ??= setTimeout(endLate, limitMs)
      return deadline
    },
    end: deadline => {
      running.delete(deadline)
      if (running.size > 0) return
      clearTimeout(timer)
      timer = undefined
    },
  }
}
