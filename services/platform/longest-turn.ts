/** How often the event loop is looked at, in ms: a shorter turn than this is not seen. */
const everyMs = 10
const steps = 12
const usualWindowMs = 60_000

/**
 * Watch the turns of this process's event loop. `longestMs` returns the longest turn of the last `windowMs`, or up to a twelfth more, in ms.
 * The process serves nothing else during a turn, which may have taken up to 10 ms longer than that. Reading changes nothing, so that several
 * readers see the same turn.
 */
export const watchTurns = (windowMs = usualWindowMs): Disposable & { readonly longestMs: () => number } => {
  /** The longest turn of each step of the window; the last step goes on. */
  const longest = [0]
  let lookedAt = performance.now()
  let stepAt = lookedAt
  // The engine's own histogram of delays does not count the turn in which it is reset, and that may be the longest one.
  const looking = setInterval(() => {
    const now = performance.now()
    // A busy machine may pass several steps between two looks.
    for (; now - stepAt >= windowMs / steps; stepAt += windowMs / steps) {
      longest.push(0)
      if (longest.length > steps + 1) longest.shift()
    }
    longest.push(Math.max(longest.pop() ?? 0, now - lookedAt - everyMs))
    lookedAt = now
  }, everyMs)
  looking.unref()
  return { longestMs: () => Math.max(...longest), [Symbol.dispose]: () => clearInterval(looking) }
}
