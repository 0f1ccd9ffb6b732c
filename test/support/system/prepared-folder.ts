import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimFolder, runFolderVariable } from '../stores/postgres.ts'
import { type RunningSystem, startSystem } from './running-system.ts'

const waitLimitMs = 120_000

const prepare = async (folder: string): Promise<void> => {
  const system = await startSystem(folder)
  const code = await system.stop()
  if (code !== 0) throw new Error(`The system that prepares ${folder} ended with code ${code}:\n${system.output()}`)
}

/** Return the prepared folder of a test run. The first caller prepares it, and the others wait. */
const preparedFolder = async (runFolder: string): Promise<string> => {
  const [folder, draft] = [join(runFolder, 'prepared'), join(runFolder, 'prepared-draft')]
  if (!existsSync(folder) && claimFolder(draft)) {
    await prepare(join(draft, 'data'))
    renameSync(draft, folder)
  }
  for (const deadline = performance.now() + waitLimitMs; !existsSync(folder); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`No test file has prepared ${folder}.`)
  }
  return join(folder, 'data')
}

/**
 * Fill a data folder with a copy of the folder of a system that was started once and stopped. A start on it is three times as fast as
 * a first start. Outside a test run, the folder stays empty.
 */
export const fillDataFolder = async (folder: string): Promise<void> => {
  const runFolder = process.env[runFolderVariable]
  if (runFolder === undefined) return
  // `cp -a` keeps the owners: the files of PostgreSQL belong to another user.
  const source = await preparedFolder(runFolder)
  rmSync(folder, { recursive: true, force: true })
  execFileSync('cp', ['-a', source, folder])
}

/** Start a system on a prepared data folder, and wait until it is ready. */
export const startPrepared = async (
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningSystem> => {
  await fillDataFolder(folder)
  return startSystem(folder, environment)
}
