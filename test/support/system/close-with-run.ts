const open = new Set<AsyncDisposable>()

/** Register something that an interrupted run must close, and return it. A second call to close must have no effect. */
export const closeWithRun = <T extends AsyncDisposable>(one: T): T => {
  open.add(one)
  return one
}

/**
 * Close everything in reverse order after SIGINT, SIGTERM, or if nobody reads the output any more. Servers would
 * continue to run otherwise.
 */
export const closeOnSignals = (): void => {
  const close = async (): Promise<void> => {
    // Running code fails when its servers are closed.
    process.on('uncaughtException', () => process.stderr.write('Interrupted.\n'))
    for (const one of [...open].reverse()) {
      await Promise.resolve(one[Symbol.asyncDispose]()).catch((error: unknown) =>
        process.stderr.write(`${String(error)}\n`),
      )
    }
    process.exit(130)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
  process.stdout.once('error', () => void close())
}
