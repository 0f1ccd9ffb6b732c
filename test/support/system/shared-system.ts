import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { createOtherAccount, openRecords } from '../registry/accounts.ts'
import { runFolderVariable } from '../stores/postgres.ts'
import { fillDataFolder } from './prepared-folder.ts'
import { loopbackWebhooks, readSandbox, systemCommand } from './running-system.ts'
import { until } from './until.ts'

/** The system that the test files of one worker share: its process, and its data folder. */
export type SharedSystem = { readonly pid: number; readonly folder: string }

const sharedFolder = (runFolder: string): string => join(runFolder, 'shared-systems')

/** Start a process that outlives the test file. `test-run.ts` stops it, or the reaper if the run is interrupted. */
const startShared = async (parent: string): Promise<SharedSystem> => {
  mkdirSync(parent, { recursive: true, mode: 0o755 })
  const [folder, log] = [join(parent, 'data'), join(parent, 'output.log')]
  await fillDataFolder(folder)
  const output = openSync(log, 'w')
  const { program, args, options } = systemCommand(folder, loopbackWebhooks)
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', output, output] })
  child.unref()
  const read = (): string => readFileSync(log, 'utf8')
  await until(read, text => text.includes('"msg":"Service ready"') || child.exitCode !== null)
  if (child.pid === undefined || child.exitCode !== null) throw new Error(`The shared system did not start:\n${read()}`)
  return { pid: child.pid, folder }
}

/** Return the system of this worker of the test run. The first file of the worker starts it. */
const openShared = async (runFolder: string): Promise<SharedSystem> => {
  const parent = join(sharedFolder(runFolder), process.env['VITEST_POOL_ID'] ?? '0')
  const note = join(parent, 'system.json')
  if (!existsSync(note)) {
    const started = await startShared(parent)
    writeFileSync(`${note}.part`, JSON.stringify(started))
    renameSync(`${note}.part`, note)
  }
  return JSON.parse(readFileSync(note, 'utf8')) as SharedSystem
}

const sandboxFile = 'sandbox.json'

/**
 * Create an account of its own on the shared system. Tests of several files see nothing of each other. The given folder becomes a
 * data folder of the account: links to the files of the system, and a `sandbox.json` of its own.
 */
export const openSharedAccount = async (ownFolder: string): Promise<Sandbox> => {
  const runFolder = process.env[runFolderVariable]
  if (runFolder === undefined) throw new Error('There is no test run.')
  const { folder } = await openShared(runFolder)
  await using records = await openRecords(folder)
  const account = await createOtherAccount(records, folder, readSandbox(folder))
  mkdirSync(ownFolder)
  for (const name of readdirSync(folder).filter(name => name !== sandboxFile))
    symlinkSync(join(folder, name), join(ownFolder, name))
  writeFileSync(join(ownFolder, sandboxFile), JSON.stringify(account))
  return account
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Stop the shared systems of a test run, and wait until they have ended. */
export const stopSharedSystems = async (runFolder: string): Promise<void> => {
  const parent = sharedFolder(runFolder)
  if (!existsSync(parent)) return
  const notes = readdirSync(parent).map(name => join(parent, name, 'system.json'))
  const pids = notes.filter(existsSync).map(note => (JSON.parse(readFileSync(note, 'utf8')) as SharedSystem).pid)
  for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGTERM')
  for (const deadline = performance.now() + 20_000; pids.some(isRunning) && performance.now() < deadline; )
    await sleep(50)
}
