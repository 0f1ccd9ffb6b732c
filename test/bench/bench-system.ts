import { join } from 'node:path'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../services/platform/clickhouse/clickhouse.ts'
import { dataFolder, startSystem } from '../support/system/running-system.ts'
import { removeAfterRun } from './data-folders.ts'
import { closedWithRun } from './interrupted.ts'
import { readSamples, type Samples, sumOf } from './samples.ts'

/** A system under a bench, on embedded or on distributed parts. */
export type BenchSystem = AsyncDisposable & {
  /** Its `base_url` answers all but submissions. */
  readonly sandbox: () => Sandbox
  /** Where submissions go. */
  readonly gatewayUrl: () => string
  /** What its processes count. */
  readonly samples: () => Promise<Samples>
  /** Records stored, by the best witness there is: the table where it can be asked, else the worker's own count. */
  readonly stored: () => Promise<number>
  /** CPU seconds of its processes and of its engine, not of brokers and load. */
  readonly cpuSeconds: () => Promise<Readonly<Record<string, number>>>
  /** Write to the table while the workers rest. */
  readonly fill: (work: (db: ClickHouse) => Promise<void>) => Promise<void>
}

export type OpenBench = (environment?: Readonly<Record<string, string>>) => Promise<BenchSystem>

/** The CPU of a process by its own metrics. */
export const cpuOf = async (metricsUrl: string): Promise<number> =>
  sumOf(await readSamples([metricsUrl]), 'wattledger_process_cpu_seconds_total')

/** Start a system on embedded parts, in one process on a folder of its own. */
export const openEmbedded: OpenBench = async (environment = {}) => {
  const folder = dataFolder()
  let system = await startSystem(folder, environment)
  const samples = () => readSamples([system.metricsUrl])
  return closedWithRun({
    sandbox: () => system.sandbox,
    gatewayUrl: () => system.sandbox.base_url,
    samples,
    stored: async () => sumOf(await samples(), 'wattledger_records_stored_total'),
    cpuSeconds: async () => ({ 'the process': await cpuOf(system.metricsUrl) }),
    fill: async work => {
      await system.stop()
      const db = openChdb({ folder: join(folder, 'clickhouse') })
      await work(db)
      await db.close()
      system = await startSystem(folder, environment)
    },
    [Symbol.asyncDispose]: async () => {
      await system.stop()
      removeAfterRun(folder)
    },
  })
}
