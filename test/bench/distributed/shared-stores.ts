import { type ChildProcess, fork } from 'node:child_process'
import { startCluster } from '../../support/kafka/cluster.ts'
import { startRegistry } from '../../support/kafka/registry.ts'
import { openTestDatabase } from '../../support/stores/postgres.ts'
import { nextMessage } from '../fork-load.ts'
import { closeWithRun } from '../interrupted.ts'

/** Brokers and registry that all figures of a run share. */
export type SharedStores = AsyncDisposable & {
  readonly brokers: readonly string[]
  readonly registryUrl: string
  /** Replicas of each partition. All replicas but one must store a message before it is acknowledged. */
  readonly replicas: number
}

/** Long enough for a busy machine, and short enough to measure the time after a kill. */
const sessions = { 'group.consumer.session.timeout.ms': 6_000, 'group.consumer.heartbeat.interval.ms': 1_000 }

/**
 * Start brokers and a registry, or use those in KAFKA_BROKERS and SCHEMA_REGISTRY_URL. Each broker stores all
 * partitions.
 */
export const openSharedStores = async (nodes = 1): Promise<SharedStores> => {
  await using opening = closeWithRun(new AsyncDisposableStack())
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = process.env
  const shared = {
    brokers: brokers?.split(',') ?? opening.use(await startCluster({ nodes, settings: sessions })).brokers,
    registryUrl: registryUrl ?? opening.use(await startRegistry()).url,
    replicas: nodes,
  }
  const open = opening.move()
  return closeWithRun({ ...shared, [Symbol.asyncDispose]: () => open.disposeAsync() })
}

/** Empty ClickHouse over HTTP, in a child process. */
export type Engine = AsyncDisposable & { readonly url: string; readonly cpuSeconds: () => Promise<number> }

/** Start ClickHouse in a child process. `environment` is added to the environment of the process. */
export const startEngine = async (environment: Readonly<Record<string, string>> = {}): Promise<Engine> => {
  const child = fork(new URL('./engine-process.ts', import.meta.url), {
    execArgv: [],
    env: { ...process.env, ...environment },
  })
  const { url } = await nextMessage<{ readonly url: string }>(child)
  return {
    url,
    cpuSeconds: async () => {
      child.send('cpu')
      return (await nextMessage<{ readonly cpuSeconds: number }>(child)).cpuSeconds
    },
    [Symbol.asyncDispose]: () => endProcess(child),
  }
}

/** End a child process: close its channel, and kill it if it is running 10 s later. */
export const endProcess = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  if (child.connected) child.disconnect()
  await promise
  clearTimeout(timer)
}

/** Create an empty migrated database. Its server is also stopped if the run is interrupted while the server starts. */
export const openBenchDatabase = async (): Promise<AsyncDisposable & { readonly url: string }> => {
  const opening = openTestDatabase()
  let closing: Promise<void> | null = null
  const close = (): Promise<void> => {
    closing ??= opening.then(database => database[Symbol.asyncDispose]())
    return closing
  }
  const closable = closeWithRun({ [Symbol.asyncDispose]: close })
  const { address } = await opening
  const url = `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`
  return { url, ...closable }
}
