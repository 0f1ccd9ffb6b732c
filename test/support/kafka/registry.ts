import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { artefacts, ensureArtefact } from './artefacts.ts'
import { freePorts, javaFlags, makeReapedFolder, removeReapedFolder, startJava } from './java-process.ts'

const run = promisify(execFile)

export type Registry = AsyncDisposable & { readonly url: string; readonly kill: (signal: NodeJS.Signals) => void }

const unpack = async (folder: string): Promise<void> => {
  const archive = readdirSync(join(folder, 'lib')).find(name => name.endsWith('.tar.gz'))
  if (archive === undefined) throw new Error('The download contains no archive of the registry.')
  await run('tar', ['-xzf', join(folder, 'lib', archive), '-C', folder])
}

/** Start a Confluent-compatible schema registry in memory, on a free port of the loopback interface. */
export const startRegistry = async ({ owner = process.pid }: { readonly owner?: number } = {}): Promise<Registry> => {
  const registry = await ensureArtefact(artefacts.registry, unpack)
  const folder = makeReapedFolder(owner)
  const [port] = await freePorts(1)
  const program = readdirSync(registry).find(name => name.endsWith('-runner.jar'))
  const args = ['-Xmx512m', ...javaFlags, '-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`]
  const java = await startJava(folder, 'registry', [...args, '-jar', join(registry, program ?? '')], 'Listening on')
  return {
    url: `http://127.0.0.1:${port}/apis/ccompat/v7`,
    kill: java.kill,
    [Symbol.asyncDispose]: () => removeReapedFolder(folder, [java]),
  }
}
