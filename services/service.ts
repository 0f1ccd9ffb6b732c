import { constants } from 'node:os'
import { ConfigError, environment, readConfig, readRoles, roles } from './platform/config.ts'
import { isFailure } from './platform/failure.ts'
import { createLogger } from './platform/telemetry.ts'
import { openSystem } from './system.ts'
import { welcome } from './welcome.ts'

const help = (): string =>
  [
    'Wattledger turns meter readings into exact money.',
    '',
    'npm start                          run everything in one process',
    `npm start -- --roles a,b           run some of: ${roles.join(', ')}`,
    'npx wattledger --help              commands for accounts, keys and upkeep',
    '',
    'Settings come from the environment:',
    ...Object.entries(environment.shape).map(([name, shape]) => `  ${name.padEnd(32)} ${shape.description ?? ''}`),
    '',
  ].join('\n')

/** The reason of a start that failed, in words for the person who started it. */
const reasonOf = (error: unknown): string | null => {
  if (error instanceof ConfigError) return error.message
  if (isFailure(error)) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    const port = 'port' in error ? String(error.port) : ''
    return `port ${port} is taken by another program; choose another one with WATTLEDGER_PORT or WATTLEDGER_METRICS_PORT`
  }
  return null
}

const drainMs = 15_000

const repeatMs = 1_000

/**
 * Resolves with the name of the first signal that asks to stop; another one, a second later or more, ends the process at once.
 * Ctrl-C under npm arrives twice, from the terminal and from npm: what follows at once is the same wish.
 */
const stopSignal = (): Promise<NodeJS.Signals> =>
  new Promise(resolve => {
    let askedAt: number | null = null
    const stop = (signal: NodeJS.Signals): void => {
      if (askedAt !== null && performance.now() - askedAt > repeatMs) process.exit(128 + constants.signals[signal])
      askedAt ??= performance.now()
      resolve(signal)
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  })

/**
 * Run the service until it is told to stop: start in order, print where it is, drain on SIGTERM and Ctrl-C, exit 0.
 * A start that fails prints the reason and exits 1.
 */
export const runService = async (words: readonly string[], variables: Readonly<Record<string, string | undefined>>): Promise<void> => {
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(help())
    return
  }
  const startedAt = performance.now()
  const stopping = stopSignal()
  try {
    const config = readConfig(variables)
    const chosen = readRoles(words, config)
    const log = createLogger(config.logLevel)
    const system = await openSystem(config, log, line => process.stdout.write(`  ${line}\n`), chosen)
    process.stdout.write(welcome(system, config.dataFolder, performance.now() - startedAt))
    log.info({ port: system.port, start_ms: Math.round(performance.now() - startedAt) }, 'ready')
    const signal = await stopping
    log.info({ signal }, 'draining')
    // A drain that hangs must not hold the process for ever: what is not answered by then was not acknowledged.
    const cut = setTimeout(() => process.exit(1), drainMs)
    await system[Symbol.asyncDispose]()
    clearTimeout(cut)
    log.info('stopped')
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
