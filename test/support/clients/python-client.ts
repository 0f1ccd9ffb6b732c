import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { node20First } from './node-20.ts'
import { onceInRun } from './once-in-run.ts'
import { runProgram } from './run-program.ts'

const folder = join(import.meta.dirname, '../../../clients/python')
const environmentFolder = join(folder, '.venv')
const python = join(environmentFolder, 'bin/python')

const hasVenv = spawnSync('python3', ['-c', 'import ensurepip, sys; assert sys.version_info >= (3, 11)']).status === 0

if (!hasVenv) console.warn('There is no Python 3.11 with venv. Tests of the Python client are skipped.')

/** True if this machine can create an environment of Python. Tests of the Python client are skipped without it. */
export const hasPython = hasVenv

const run = async (program: string, args: readonly string[]): Promise<string> => {
  // The packages stay in the folder of the client.
  const environment = { ...(await node20First()), PIP_CACHE_DIR: join(folder, '.pip-cache'), PYTHON: python }
  return runProgram({ program, args, folder, environment })
}

const install = async (): Promise<void> => {
  const lock = join(folder, 'requirements.txt')
  const installed = join(environmentFolder, 'installed')
  const hash = createHash('sha256').update(readFileSync(lock)).digest('hex')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === hash) return
  rmSync(environmentFolder, { recursive: true, force: true })
  await run('python3', ['-m', 'venv', environmentFolder])
  const flags = ['--quiet', '--disable-pip-version-check', '--no-compile', '--require-hashes', '--only-binary=:all:']
  await run(python, ['-m', 'pip', 'install', ...flags, '-r', lock])
  writeFileSync(installed, hash)
}

/** Install the locked packages in an environment of the client, and build the client: once in a test run, on Node 20. */
export const buildPythonClient = (): Promise<void> =>
  onceInRun('python-client', async () => {
    await install()
    await run('sh', ['build.sh'])
  })

/** Run a program of the client with a text as standard input. Return its output. Rejects if the program fails. */
export const runPython = (
  args: readonly string[],
  input = '',
  environment: Readonly<Record<string, string>> = {},
): Promise<string> =>
  runProgram({
    program: python,
    args,
    folder,
    input,
    // Caches of the packages stay in the environment.
    environment: { PYTHONPATH: folder, HOME: environmentFolder, ...environment },
  })
