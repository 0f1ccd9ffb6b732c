import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimFolder, runFolderVariable } from '../stores/postgres.ts'

const waitLimitMs = 400_000

/** Do a work once in a test run. The first caller does the work, and the others wait for it. */
export const onceInRun = async (name: string, work: () => Promise<void>): Promise<void> => {
  const runFolder = process.env[runFolderVariable]
  if (runFolder === undefined) throw new Error('There is no test run.')
  const [done, claim] = [join(runFolder, name), join(runFolder, `${name}-claim`)]
  if (!existsSync(done) && claimFolder(claim)) {
    await work()
    renameSync(claim, done)
  }
  for (const deadline = performance.now() + waitLimitMs; !existsSync(done); await sleep(20)) {
    if (performance.now() > deadline) throw new Error(`No test file has finished ${name}.`)
  }
}
