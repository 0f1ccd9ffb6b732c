/** Do work that says by `yield` where it can be interrupted, without an interruption. */
export const runToEnd = <T>(work: Generator<unknown, T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
