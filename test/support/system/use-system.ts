import { afterAll, beforeAll } from 'vitest'
import { type ApiVersion, type Client, login } from './client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from './running-system.ts'

/** A running system for the tests of one file. */
export type SystemInUse = {
  readonly folder: string
  /** Return the running system. Throws before the first test and after the last one. */
  readonly running: () => RunningSystem
  /** Log in to the running system. A client stays valid until the system is started again. */
  readonly login: (mode?: 'live' | 'test', apiVersion?: ApiVersion) => Promise<Client>
  /** End the process with SIGKILL, and start a new one on the same data. */
  readonly killAndStart: () => Promise<void>
}

/** Start a system on an empty folder before the tests of the calling file, and stop it after them. */
export const useSystem = (environment: Readonly<Record<string, string>> = {}): SystemInUse => {
  const folder = dataFolder()
  let system: RunningSystem | undefined
  beforeAll(async () => {
    system = await startSystem(folder, environment)
  })
  afterAll(async () => {
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })
  const running = (): RunningSystem => {
    if (system === undefined) throw new Error('The system is not running.')
    return system
  }
  return {
    folder,
    running,
    login: (mode, apiVersion) => login(running().sandbox, mode, apiVersion),
    killAndStart: async () => {
      await running().kill()
      system = await startSystem(folder, environment)
    },
  }
}
