import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { EngineFault } from '../../support/stores/clickhouse-front.ts'

/** ClickHouse of an audit: it runs over HTTP in a child process, always on the same port and data. */
export type Engine = AsyncDisposable & {
  readonly url: string
  readonly start: () => Promise<void>
  readonly setFault: (fault: EngineFault) => void
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

const launch = async (
  folder: string,
  port: number,
): Promise<{ readonly child: ChildProcess; readonly url: string }> => {
  const child = fork(join(import.meta.dirname, 'front-process.ts'), [folder, String(port)], { execArgv: [] })
  const url = await Promise.race([
    once(child, 'message').then(([address]) => String(address)),
    once(child, 'exit').then(([code]) => {
      throw new Error(`ClickHouse exited with code ${code} before it was ready.`)
    }),
  ])
  return { child, url }
}

/** Start ClickHouse on a data folder. */
export const openEngine = async (folder: string, port: number): Promise<Engine> => {
  const first = await launch(folder, port)
  let child: ChildProcess | null = first.child
  const end = async (ask: (running: ChildProcess) => void): Promise<void> => {
    const running = child
    child = null
    if (running === null) return
    const ended = once(running, 'exit')
    ask(running)
    await ended
  }
  const stop = (): Promise<void> => end(running => running.disconnect())
  return {
    url: first.url,
    start: async () => {
      child = (await launch(folder, port)).child
    },
    setFault: fault => void child?.send(fault),
    kill: () => end(running => running.kill('SIGKILL')),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
