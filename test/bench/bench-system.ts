import { join } from 'node:path'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { findEmbeddedServer } from '../../services/platform/postgres/embedded/embedded-server.ts'
import { closeWithRun } from '../support/system/close-with-run.ts'
import { dataFolder, startSystem } from '../support/system/running-system.ts'
import { removeAfterRun } from './data-folders.ts'
import { readSamples, type Samples, sumOf } from './samples.ts'

/** Embedded or distributed system that a bench measures. */
export type BenchSystem = AsyncDisposable & {
  /** Account and keys. `base_url` serves all requests except submissions. */
  readonly sandbox: () => Sandbox
  /** Address for submissions. */
  readonly gatewayUrl: () => string
  /** Return the address of PostgreSQL for its owner. */
  readonly postgresUrl: () => Promise<string>
  /** Read the metrics of all processes. */
  readonly samples: () => Promise<Samples>
  /** Return the number of stored records: the rows of the table in a distributed system, else the worker's metric. */
  readonly stored: () => Promise<number>
  /** Return the CPU seconds by process. ClickHouse is included; brokers and load are not. */
  readonly cpuSeconds: () => Promise<Readonly<Record<string, number>>>
  /** Stop and start the system. Return the seconds from the start to ready; null for several processes. */
  readonly restartSeconds: () => Promise<number | null>
  /** Write to the table while no worker writes. */
  readonly fill: <T>(work: (db: ClickHouse) => Promise<T>) => Promise<T>
}

export type OpenBench = (environment?: Readonly<Record<string, string>>) => Promise<BenchSystem>

/** Return the CPU seconds that a process reports in its metrics. */
export const cpuOf = async (metricsUrl: string): Promise<number> =>
  sumOf(await readSamples([metricsUrl]), 'wattledger_process_cpu_seconds_total')

/** Start an embedded system in one process, with a new data folder. */
export const openEmbedded: OpenBench = async (environment = {}) => {
  const folder = dataFolder()
  let system = await startSystem(folder, environment)
  const samples = () => readSamples([system.metricsUrl])
  return closeWithRun({
    sandbox: () => system.sandbox,
    gatewayUrl: () => system.sandbox.base_url,
    postgresUrl: async () => {
      const address = await findEmbeddedServer(folder)
      if (address === null || 'url' in address) throw new Error('PostgreSQL does not run.')
      return `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`
    },
    samples,
    stored: async () => sumOf(await samples(), 'wattledger_records_stored_total'),
    cpuSeconds: async () => ({ 'all roles': await cpuOf(system.metricsUrl) }),
    restartSeconds: async () => {
      await system.stop()
      const startedAt = performance.now()
      system = await startSystem(folder, environment)
      return (performance.now() - startedAt) / 1000
    },
    fill: async work => {
      await system.stop()
      const db = openChdb({ folder: join(folder, 'clickhouse') })
      const done = await work(db)
      await db.close()
      system = await startSystem(folder, environment)
      return done
    },
    [Symbol.asyncDispose]: async () => {
      await system.stop()
      removeAfterRun(folder)
    },
  })
}
