import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedServer } from '../../services/platform/postgres/embedded-server.ts'
import { makeTestFolder, sharedFolderVariable } from './postgres.ts'

/** Give the test files of a run a folder for the server that they share. The first file that needs one starts it; it ends with the run. */
export const setup = (): (() => Promise<void>) => {
  const folder = makeTestFolder()
  process.env[sharedFolderVariable] = folder
  return async () => {
    // The process that started it is gone: take it over, and end it.
    if (existsSync(join(folder, 'postgres', 'postmaster.pid'))) {
      const server = await startEmbeddedServer({ dataFolder: folder })
      await server[Symbol.asyncDispose]()
    }
    rmSync(folder, { recursive: true })
  }
}
