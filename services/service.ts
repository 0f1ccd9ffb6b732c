import { constants } from 'node:os'
import { environment, readConfig, readRoles, roles } from './platform/config/config.ts'
import { ConfigError, isFailure } from './platform/failure.ts'
import { fileErrorText } from './platform/file-error.ts'
import { createLogger, type Logger } from './platform/telemetry/logger.ts'
import { version } from './platform/version.ts'
import type { Report } from './stores.ts'

/** Return the default of a setting as text. Descriptions contain computed defaults, such as a created secret. */
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

/** Return the reason of a failed start for the operator. Null for an unexpected error. */
const reasonOf = (error: unknown): string | null => {
  if (error instanceof ConfigError) return error.message
  if (isFailure(error)) return error.message
  if (!(error instanceof Error)) return null
  if ('code' in error && error.code === 'EADDRINUSE') {
    const port = 'port' in error ? error.port : ''
    return `Port ${port} is in use. Set another one in WATTLEDGER_PORT or WATTLEDGER_METRICS_PORT.`
  }
  const reason = fileErrorText(error)
  return reason === null ? null : `${reason} Make the data folder writable for this user, or set WATTLEDGER_DATA_DIR.`
}

const drainMs = 15_000

const repeatedSignalMs = 1_000

/**
 * Wait for SIGTERM or SIGINT and return its name.
 * A second signal ends the process at once, if it comes at least a second later.
 * Under npm, Ctrl-C sends two signals at once: one from the terminal and one from npm.
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

/** Report of the start: lines for the terminal, and entries of the log after `end`. */
const startReport = (logger: Logger): { readonly report: Report; readonly end: () => void } => {
  let hasEnded = false
  return {
    report: (line, error) => {
      if (!hasEnded) process.stdout.write(`  ${line}\n`)
      else if (error === undefined) logger.info(line)
      else logger.warn({ err: error }, line)
    },
    end: () => {
      hasEnded = true
    },
  }
}

/**
 * Run the service until SIGTERM or Ctrl-C: start, print the addresses, drain, exit code 0.
 * A failed start prints the reason. Its exit code is 1.
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
    const start = startReport(logger)
    // The help and refused settings need no stores.
    const [{ openSystem }, { welcome }] = await Promise.all([import('./system.ts'), import('./sandbox.ts')])
    const system = await openSystem(config, logger, start.report, chosenRoles)
    start.end()
    process.stdout.write(welcome(system, config.dataFolder, performance.now() - startedAt))
    logger.info({ port: system.port, start_ms: Math.round(performance.now() - startedAt) }, 'Service ready')
    const signal = await stopping
    logger.info({ signal }, 'Service stopping')
    // Limit the stop. Requests without an answer by then were not acknowledged, so clients send them again.
    const killTimer = setTimeout(() => process.exit(1), drainMs)
    await system[Symbol.asyncDispose]()
    clearTimeout(killTimer)
    logger.info('Service stopped')
  } catch (error) {
    const details = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`\nWattledger did not start: ${reasonOf(error) ?? details}\n`)
    process.exitCode = 1
    // All opened resources are closed by now. A forgotten handle must not keep the process alive.
    setTimeout(() => process.exit(1), 2_000).unref()
  }
}
