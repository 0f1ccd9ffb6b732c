import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { runFolderVariable, sharedFolderVariable } from '../stores/postgres.ts'
import { unmountWithin } from '../stores/small-disk.ts'
import { stopSharedSystems } from '../system/shared-system.ts'
import { chooseRunSeed } from './run-seed.ts'

/**
 * Create one folder for all temporary files of a test run. It also has the folders of the PostgreSQL server and of the
 * systems that files share: the first file that needs one starts it. After the run a reaper ends every process that names the folder, also after Ctrl-C or kill -9.
 */
export const setup = (): (() => Promise<void>) => {
  const folder = mkdtempSync('/var/tmp/wattledger-run-')
  // PostgreSQL runs as another user and must be able to pass.
  chmodSync(folder, 0o755)
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  chmodSync(temporary, 0o1777)
  const shared = join(folder, 'postgres')
  mkdirSync(shared)
  const reaper = spawn(process.execPath, [join(import.meta.dirname, 'reaper.ts'), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  reaper.unref()
  const seed = chooseRunSeed()
  process.stdout.write(`Random choices of this run: RUN_SEED=${seed} repeats them.\n`)
  process.env['TMPDIR'] = temporary
  process.env[runFolderVariable] = folder
  process.env[sharedFolderVariable] = shared
  return async () => {
    await stopSharedSystems(folder)
    // The process that started it is gone: take it over, and end it.
    if (existsSync(join(shared, 'postgres', 'postmaster.pid'))) {
      const server = await startEmbeddedServer({ dataFolder: shared })
      await server[Symbol.asyncDispose]()
    }
    unmountWithin(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
