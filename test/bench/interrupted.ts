const open = new Set<AsyncDisposable>()

/** Have something closed with the run, also where the run is interrupted; closing it twice must do nothing more. */
export const closedWithRun = <T extends AsyncDisposable>(one: T): T => {
  open.add(one)
  return one
}

/** End the run in order where it is interrupted: servers that it started outlive it otherwise. */
export const closeOnSignals = (): void => {
  const close = async (): Promise<void> => {
    // What measures is cut off by what is closed here; that is no news.
    process.on('uncaughtException', () => process.stderr.write('interrupted\n'))
    for (const one of [...open].reverse()) {
      await Promise.resolve(one[Symbol.asyncDispose]()).catch((error: unknown) =>
        process.stderr.write(`${String(error)}\n`),
      )
    }
    process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
}
