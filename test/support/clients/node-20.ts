import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { ensureFolder } from '../kafka/artefacts.ts'
import { runProgram } from './run-program.ts'

/** Oldest Node that users of the product can have. */
const packaged = `node-linux-${process.arch}@20.20.2`

const versionOf = (node: string): string | null => {
  try {
    return execFileSync(node, ['--version'], { encoding: 'utf8', timeout: 20_000 }).trim()
  } catch {
    return null
  }
}

/**
 * Return the path of Node 20: that of this machine, or one from npm, which each machine downloads once.
 * Null, with a printed reason, if there is neither.
 */
export const findNode20 = async (): Promise<string | null> => {
  const own = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'node'))
    .find(path => existsSync(path) && versionOf(path)?.startsWith('v20.') === true)
  if (own !== undefined) return own
  try {
    const args = ['install', '--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', packaged]
    const fill = async (folder: string): Promise<void> => {
      await runProgram({ program: 'npm', args, folder })
    }
    return join(await ensureFolder('node-20', fill), 'node_modules', `node-linux-${process.arch}`, 'bin/node')
  } catch (error) {
    process.stderr.write(`skipped: tests on Node 20: this machine has none, and npm has failed: ${error}\n`)
    return null
  }
}

/** Return an environment in which `node` is Node 20, if there is one. */
export const node20First = async (): Promise<{ readonly PATH: string }> => {
  const [node, path = ''] = [await findNode20(), process.env['PATH']]
  return { PATH: node === null ? path : `${dirname(node)}${delimiter}${path}` }
}
