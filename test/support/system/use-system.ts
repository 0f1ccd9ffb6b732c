import { afterAll, beforeAll } from 'vitest'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { type ApiVersion, type Client, login } from './client.ts'
import { fillDataFolder } from './prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from './running-system.ts'
import { openSharedAccount } from './shared-system.ts'

/** An account of a running system for the tests of one file. */
export type AccountInUse = {
  /** Data folder of the system, for commands and for reads of its stores. */
  readonly folder: string
  /** Return the keys of the account and the address of the system. Throws before the first test. */
  readonly sandbox: () => Sandbox
  /** Log in to the running system. A client stays valid until the system is started again. */
  readonly login: (mode?: 'live' | 'test', apiVersion?: ApiVersion) => Promise<Client>
}

/** A running system for the tests of one file. */
export type SystemInUse = AccountInUse & {
  /** Return the running system. Throws before the first test and after the last one. */
  readonly running: () => RunningSystem
  /** End the process with SIGKILL, and start a new one on the same data. */
  readonly killAndStart: () => Promise<void>
}

const assertOpen = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('The system is not running.')
  return value
}

/** Start a system before the tests of the calling file, and stop it after them. */
export const useSystem = (environment: Readonly<Record<string, string>> = {}): SystemInUse => {
  const folder = dataFolder()
  let system: RunningSystem | undefined
  beforeAll(async () => {
    await fillDataFolder(folder)
    system = await startSystem(folder, environment)
  })
  afterAll(async () => {
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })
  const running = (): RunningSystem => assertOpen(system)
  const sandbox = (): Sandbox => running().sandbox
  return {
    folder,
    running,
    sandbox,
    login: (mode, apiVersion) => login(sandbox(), mode, apiVersion),
    killAndStart: async () => {
      await running().kill()
      system = await startSystem(folder, environment)
    },
  }
}

/**
 * Create an account for the tests of the calling file, on a system that several files share. The system accepts webhook
 * endpoints of this machine. Files that stop the system, read its output or metrics, or change its settings need `useSystem`.
 */
export const useSharedSystem = (): AccountInUse => {
  const folder = dataFolder()
  let account: Sandbox | undefined
  beforeAll(async () => {
    account = await openSharedAccount(folder)
  })
  // Only links are removed.
  afterAll(() => removeData(folder))
  const sandbox = (): Sandbox => assertOpen(account)
  return { folder, sandbox, login: (mode, apiVersion) => login(sandbox(), mode, apiVersion) }
}
