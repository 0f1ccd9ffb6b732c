import { constants } from 'node:os'
import { environment, readConfig, readRoles, roles } from './platform/config/config.ts'
import { ConfigError, isFailure } from './platform/failure.ts'
import { createLogger } from './platform/telemetry/logger.ts'
import { version } from './platform/version.ts'
import { openSystem } from './system.ts'
import { welcome } from './welcome.ts'

/** Return the text of a default; descriptions name the defaults that are no values, such as a secret that is created. */
const defaultOf = (name: string): string => {
  const { data } = environment.safeParse({})
  const value: unknown = data?.[name as keyof typeof data]
  return value === undefined || value === '' || Array.isArray(value) ? '' : ` Default: ${String(value)}.`
}

const help = (): string =>
  [
    `Wattledger ${version} turns meter readings into exact money.`,
    '',
    'npm start                          Run all roles in one process.',
    `npm start -- --roles a,b           Run some of the roles: ${roles.join(', ')}.`,
    'npm start -- --version             Print the version.',
    'npx wattledger --help              List the commands for accounts, keys and maintenance.',
    '',
    'Settings are environment variables:',
    ...Object.entries(environment.shape).map(
      ([name, shape]) => `  ${name.padEnd(35)} ${shape.description ?? ''}${defaultOf(name)}`,
    ),
    '',
  ].join('\n')

const fileErrors: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'a file has this name',
  EISDIR: 'a folder has this name',
}

const textOf = (error: object, name: string): string => (name in error ? String(Reflect.get(error, name)) : '')

/** Return the reason of a failed start, in words for the person who started it; null for an unexpected error. */
const reasonOf = (error: unknown): string | null => {
  if (error instanceof ConfigError) return error.message
  if (isFailure(error)) return error.message
  if (!(error instanceof Error)) return null
  const [code, path] = [textOf(error, 'code'), textOf(error, 'path')]
  if (code === 'EADDRINUSE') {
    return `port ${textOf(error, 'port')} is taken by another program; choose another one with WATTLEDGER_PORT or WATTLEDGER_METRICS_PORT`
  }
  const cause = fileErrors[code]
  if (cause === undefined || path === '') return null
  return `cannot use ${path}: ${cause} (${code}). Make the data folder writable for this user, or choose another one with WATTLEDGER_DATA_DIR.`
}

const drainMs = 15_000

const repeatedSignalMs = 1_000

/**
 * Resolves with the name of the first signal that asks to stop; another one, a second later or more, ends the process at once.
 * Ctrl-C under npm arrives twice, from the terminal and from npm: what follows at once is the same wish.
 */
const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise(resolve => {
    let requestedAt: number | null = null
    const stop = (signal: NodeJS.Signals): void => {
      if (requestedAt !== null && performance.now() - requestedAt > repeatedSignalMs)
        process.exit(128 + constants.signals[signal])
      requestedAt ??= performance.now()
      resolve(signal)
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  })

/**
 * Run the service until it is told to stop: start in order, print where it is, drain on SIGTERM and Ctrl-C, exit 0.
 * A start that fails prints the reason and exits 1.
 */
export const runService = async (
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(help())
    return
  }
  if (args.includes('--version')) {
    process.stdout.write(`${version}\n`)
    return
  }
  const startedAt = performance.now()
  const stopping = stopSignal()
  try {
    const config = readConfig(variables)
    const chosenRoles = readRoles(args, config)
    const logger = createLogger(config.logLevel)
    const system = await openSystem(config, logger, line => process.stdout.write(`  ${line}\n`), chosenRoles)
    process.stdout.write(welcome(system, config.dataFolder, performance.now() - startedAt))
    logger.info({ port: system.port, start_ms: Math.round(performance.now() - startedAt) }, 'ready')
    const signal = await stopping
    logger.info({ signal }, 'draining')
    // A drain that hangs must not hold the process for ever: what is not answered by then was not acknowledged.
    const killTimer = setTimeout(() => process.exit(1), drainMs)
    await system[Symbol.asyncDispose]()
    clearTimeout(killTimer)
    logger.info('stopped')
  } catch (error) {
    const reason = reasonOf(error)
    process.stderr.write(
      `\nwattledger did not start: ${reason ?? (error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`,
    )
    process.exitCode = 1
    // Resources that were opened before the failure are closed by now; a handle that is left must not keep a failed start alive.
    setTimeout(() => process.exit(1), 2_000).unref()
  }
}
