import { type ChildProcess, fork } from 'node:child_process'
import { startCluster } from '../../support/kafka/cluster.ts'
import { startRegistry } from '../../support/kafka/registry.ts'
import { openTestDatabase } from '../../support/stores/postgres.ts'
import { answerOf } from '../fork-load.ts'
import { closedWithRun } from '../interrupted.ts'

/** Broker and registry, which all benches of a run share. */
export type SharedStores = AsyncDisposable & {
  readonly brokers: readonly string[]
  readonly registryUrl: string
  /** Copies of each partition; all but one of them must have a message before it is acknowledged. */
  readonly replicas: number
}

/** Long enough for a machine that is full of work, short enough to see what comes after a kill. */
const sessions = { 'group.consumer.session.timeout.ms': 6_000, 'group.consumer.heartbeat.interval.ms': 1_000 }

/** Start so many brokers and a registry, or take those of KAFKA_BROKERS and SCHEMA_REGISTRY_URL; each broker has a copy of all. */
export const openSharedStores = async (nodes = 1): Promise<SharedStores> => {
  await using opening = closedWithRun(new AsyncDisposableStack())
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = process.env
  const shared = {
    brokers: brokers?.split(',') ?? opening.use(await startCluster({ nodes, settings: sessions })).brokers,
    registryUrl: registryUrl ?? opening.use(await startRegistry()).url,
    replicas: nodes,
  }
  const open = opening.move()
  return closedWithRun({ ...shared, [Symbol.asyncDispose]: () => open.disposeAsync() })
}

/** An engine behind HTTP, empty, in a process of its own. */
export type Engine = AsyncDisposable & { readonly url: string; readonly cpuSeconds: () => Promise<number> }

/** Start an engine. `environment` is added to that of its process. */
export const startEngine = async (environment: Readonly<Record<string, string>> = {}): Promise<Engine> => {
  const child = fork(new URL('./engine-process.ts', import.meta.url), {
    execArgv: [],
    env: { ...process.env, ...environment },
  })
  const { url } = await answerOf<{ readonly url: string }>(child)
  return {
    url,
    cpuSeconds: async () => {
      child.send('cpu')
      return (await answerOf<{ readonly cpuSeconds: number }>(child)).cpuSeconds
    },
    [Symbol.asyncDispose]: () => released(child),
  }
}

/** Let go of a forked process that ends once it is let go of; one that does not is ended. */
export const released = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  if (child.connected) child.disconnect()
  await promise
  clearTimeout(timer)
}

/** An empty migrated database, with its address as configuration has it. Its server would outlive a run that is interrupted while it starts. */
export const openDatabaseOfBench = async (): Promise<AsyncDisposable & { readonly url: string }> => {
  const opening = openTestDatabase()
  let closing: Promise<void> | null = null
  const close = (): Promise<void> => {
    closing ??= opening.then(database => database[Symbol.asyncDispose]())
    return closing
  }
  const closable = closedWithRun({ [Symbol.asyncDispose]: close })
  const { address } = await opening
  const url = `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`
  return { url, ...closable }
}
