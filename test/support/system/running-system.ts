import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { makeTestFolder } from '../stores/postgres.ts'

const root = new URL('../../../', import.meta.url).pathname
const startLimitMs = 60_000

/** The whole system as a process on a temporary folder, started like `npm start` starts it. */
export type RunningSystem = AsyncDisposable & {
  readonly sandbox: Sandbox
  readonly process: ChildProcess
  readonly output: () => string
  /** Text on standard error. */
  readonly errors: () => string
  readonly metricsUrl: string
  /** End the process with SIGKILL, and wait until it has ended. */
  readonly kill: () => Promise<void>
  /** Stop the process, and return its exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/** Settings of a system that accepts webhook endpoints of this machine. */
export const loopbackWebhooks = { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }

/** Return the path of a new data folder. The folder does not exist yet. */
export const dataFolder = (): string => join(makeTestFolder(), 'data')

export const removeData = (folder: string): void => rmSync(join(folder, '..'), { recursive: true, force: true })

const exited = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise(resolve => child.once('exit', code => resolve(code)))

/** The process of a system, which may not be ready yet. */
export type LaunchedSystem = {
  readonly process: ChildProcess
  /** Text on standard output and standard error. */
  readonly output: () => string
  readonly errors: () => string
  readonly exited: Promise<number | null>
  /** Wait until the system is ready. Throws with its output if it ends before, or takes too long. */
  readonly ready: () => Promise<void>
}

/** Arguments of Node in `npm start`: flags, then the program. */
export const startArgs = (): readonly string[] => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string }
  }
  return scripts.start.split('/node ')[1]?.split(' ') ?? []
}

/** Return the command that starts a system on a data folder, for `spawn`. */
export const systemCommand = (folder: string, environment: Readonly<Record<string, string>> = {}) => {
  // Tests and measurements send more requests than the default rate limit allows. Tests of the limit set it.
  const defaults = { WATTLEDGER_PORT: '0', WATTLEDGER_METRICS_PORT: '0', WATTLEDGER_RATE_LIMIT: '0' }
  const settings = { ...defaults, WATTLEDGER_DATA_DIR: folder, ...environment }
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('WATTLEDGER_'))
  const env = { ...Object.fromEntries(inherited), ...settings }
  return { program: process.execPath, args: startArgs(), options: { cwd: root, env } }
}

/** Return the address of the metrics from the welcome text of a system. */
export const metricsUrlOf = (output: string): string => /metrics\s+(http\S+)/.exec(output)?.[1] ?? ''

/** Launch a system on a data folder. */
export const launchSystem = (
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): LaunchedSystem => {
  const command = systemCommand(folder, environment)
  const child = spawn(command.program, [...command.args, ...args], command.options)
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', text => (output += text))
  child.stderr.setEncoding('utf8').on('data', text => {
    output += text
    errors += text
  })
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  return {
    process: child,
    output: () => output,
    errors: () => errors,
    exited: exited(child),
    ready: async () => {
      for (let waitedMs = 0; !output.includes('"msg":"Service ready"'); waitedMs += 20) {
        if (hasEnded() || waitedMs > startLimitMs) throw new Error(`the system did not start:\n${output}`)
        await sleep(20)
      }
    },
  }
}

/** Read the account, the keys and the address of the system of a data folder. */
export const readSandbox = (folder: string): Sandbox =>
  JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8')) as Sandbox

/** Start a system on a data folder, and wait until it is ready. Throws with its output if it does not become ready. */
export const startSystem = async (
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningSystem> => {
  const { process: child, output, errors, ready } = launchSystem(folder, environment)
  await ready()
  if (!existsSync(join(folder, 'sandbox.json'))) throw new Error(`The system wrote no sandbox.json:\n${output()}`)
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return exited(child)
  }
  return {
    sandbox: readSandbox(folder),
    process: child,
    output,
    errors,
    metricsUrl: metricsUrlOf(output()),
    kill: async () => {
      await end('SIGKILL')
    },
    stop: (signal = 'SIGTERM') => end(signal),
    [Symbol.asyncDispose]: async () => {
      await end('SIGTERM')
    },
  }
}
