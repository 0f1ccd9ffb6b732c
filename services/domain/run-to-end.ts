/** Run a generator without a pause and return its value. Each `yield` marks a point where the work could pause. */
export const runToEnd = <T>(work: Generator<unknown, T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
