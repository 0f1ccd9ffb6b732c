/** How often the event loop is looked at, in ms: a shorter turn than this is not seen. */
const sampleIntervalMs = 10
const windowSteps = 12
const defaultWindowMs = 60_000

/**
 * Watch the turns of this process's event loop. `longestMs` returns the longest turn of the last `windowMs`, or up to a twelfth more, in ms.
 * The process serves nothing else during a turn, which may have taken up to 10 ms longer than that. Reading changes nothing, so that several
 * readers see the same turn.
 */
export const watchEventLoop = (windowMs = defaultWindowMs): Disposable & { readonly longestTurnMs: () => number } => {
  /** The longest turn of each step of the window; the last step goes on. */
  const longestTurns = [0]
  let sampledAt = performance.now()
  let stepAt = sampledAt
  // The engine's own histogram of delays does not count the turn in which it is reset, and that may be the longest one.
  const timer = setInterval(() => {
    const now = performance.now()
    // A busy machine may pass several steps between two looks.
    for (; now - stepAt >= windowMs / windowSteps; stepAt += windowMs / windowSteps) {
      longestTurns.push(0)
      if (longestTurns.length > windowSteps + 1) longestTurns.shift()
    }
    longestTurns.push(Math.max(longestTurns.pop() ?? 0, now - sampledAt - sampleIntervalMs))
    sampledAt = now
  }, sampleIntervalMs)
  timer.unref()
  return { longestTurnMs: () => Math.max(...longestTurns), [Symbol.dispose]: () => clearInterval(timer) }
}
