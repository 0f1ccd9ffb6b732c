import { startCluster } from '../../support/kafka/cluster.ts'
import { startRegistry } from '../../support/kafka/registry.ts'
import { openTestDatabase } from '../../support/stores/postgres.ts'
import { closeWithRun } from '../../support/system/close-with-run.ts'

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
