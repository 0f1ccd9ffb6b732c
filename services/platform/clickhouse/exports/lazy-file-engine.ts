import type { ChdbFileEngine } from './chdb-file-engine.ts'

/** Return the local file engine, which opens at its first use: its package takes 145 MB. */
export const lazyFileEngine = (failureOf: (error: unknown) => unknown): ChdbFileEngine => {
  let opened: Promise<ChdbFileEngine> | null = null
  const open = (): Promise<ChdbFileEngine> => {
    opened ??= import('./chdb-file-engine.ts').then(({ openLocalFileEngine }) => openLocalFileEngine(failureOf))
    return opened
  }
  return {
    write: async (select, file, signal) => (await open()).write(select, file, signal),
    rows: async (select, signal) => (await open()).rows(select, signal),
    close: async () => {
      if (opened !== null) await (await opened).close()
    },
  }
}
