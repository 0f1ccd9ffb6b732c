import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureFolder } from '../kafka/artefacts.ts'
import { node20First } from './node-20.ts'
import { onceInRun } from './once-in-run.ts'
import { runProgram } from './run-program.ts'

const folder = join(import.meta.dirname, '../../../clients/python')
const lock = join(folder, 'requirements.txt')

const hasVenv = spawnSync('python3', ['-c', 'import ensurepip, sys; assert sys.version_info >= (3, 11)']).status === 0

if (!hasVenv) console.warn('There is no Python 3.11 with venv. Tests of the Python client are skipped.')

/** True if this machine can create an environment of Python. Tests of the Python client are skipped without it. */
export const hasPython = hasVenv

/** Return the environment with the locked packages. Each machine creates it once for a lock file and a version of Python. */
const environmentFolder = (): Promise<string> => {
  const { stdout: version } = spawnSync('python3', ['-c', 'import sys; print(sys.version)'], { encoding: 'utf8' })
  const hash = createHash('sha256').update(readFileSync(lock)).update(version).digest('hex').slice(0, 16)
  return ensureFolder(`python-client-${hash}`, async created => {
    await runProgram({ program: 'python3', args: ['-m', 'venv', created], folder })
    const flags = [
      ...['--quiet', '--disable-pip-version-check', '--no-cache-dir', '--no-compile'],
      ...['--require-hashes', '--only-binary=:all:'],
    ]
    await runProgram({ program: pythonOf(created), args: ['-m', 'pip', 'install', ...flags, '-r', lock], folder })
  })
}

const pythonOf = (environment: string): string => join(environment, 'bin/python')

/** Build the client with the locked packages: once in a test run, on Node 20. */
export const buildPythonClient = (): Promise<void> =>
  onceInRun('python-client', async () => {
    const environment = { ...(await node20First()), PYTHON: pythonOf(await environmentFolder()) }
    await runProgram({ program: 'sh', args: ['build.sh'], folder, environment })
  })

/** Run a program of the client with a text as standard input. Return its output. Rejects if the program fails. */
export const runPython = async (
  args: readonly string[],
  input = '',
  environment: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const installed = await environmentFolder()
  return runProgram({
    program: pythonOf(installed),
    args,
    folder,
    input,
    // Caches of the packages stay in the environment.
    environment: { PYTHONPATH: folder, HOME: installed, ...environment },
  })
}
