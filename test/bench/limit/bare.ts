import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import { ensureTopics } from '../../../services/platform/log/kafka/kafka-topics.ts'
import { plainAddress } from '../../support/kafka/test-log.ts'
import { dataFolder } from '../../support/running-system.ts'
import { engineAt } from '../distributed/distributed-system.ts'
import { released, type SharedParts, startEngine } from '../distributed/shared-parts.ts'
import type { FleetLoad } from '../end-to-end.ts'
import { bodiesOf } from '../fleet.ts'
import { answerOf, forkLoad } from '../fork-load.ts'
import { removeAfterRun } from '../kept-data.ts'
import type { LoadResult } from '../load.ts'

export type BareFigures = { readonly recordsPerSecond: number; readonly load: LoadResult }

/** A bare pipeline that runs. */
type Bare = AsyncDisposable & { readonly port: number; readonly stored: () => Promise<number> }
export type OpenBare = () => Promise<Bare>

const askStored = async (child: ChildProcess): Promise<number> => {
  child.send('stored')
  return (await answerOf<{ readonly stored: number }>(child)).stored
}

/** The bare pipeline on embedded parts, in one process. */
export const openEmbeddedBare: OpenBare = async () => {
  const folder = dataFolder()
  mkdirSync(folder, { recursive: true })
  const child = fork(new URL('./pipeline.ts', import.meta.url), [folder], { execArgv: [] })
  const { port } = await answerOf<{ readonly port: number }>(child)
  return {
    port,
    stored: () => askStored(child),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      removeAfterRun(folder)
    },
  }
}

/** The bare pipeline on distributed parts: a process that takes, one that stores, and one of the engine. */
export const distributedBareOn =
  ({ brokers, replicas }: SharedParts): OpenBare =>
  async () => {
    await using opening = new AsyncDisposableStack()
    const engine = opening.use(await startEngine())
    const db = engineAt(engine.url)
    await applySchemas(db, schemaFiles())
    await db.close()
    const prefix = `bare-${randomUUID()}.`
    await ensureTopics(plainAddress(brokers), { prefix, partitions: 8, replicas, minInSync: Math.max(1, replicas - 1) })
    const start = async (half: string) => {
      const words = [half, brokers.join(','), prefix, engine.url]
      const child = opening.adopt(fork(new URL('./bare-role-process.ts', import.meta.url), words, { execArgv: [] }), released)
      return { child, ...(await answerOf<{ readonly port: number }>(child)) }
    }
    const worker = await start('worker')
    const { port } = await start('gateway')
    const open = opening.move()
    return { port, stored: () => askStored(worker.child), [Symbol.asyncDispose]: () => open.disposeAsync() }
  }

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${(index + 1).toString(16).padStart(24, '0')}`)

/** Measure the bare pipeline under the same load as the product. */
export const barePipeline = async (open: OpenBare, { seconds, rate, locations, connections }: FleetLoad): Promise<BareFigures> => {
  await using bare = await open()
  const fleet = { locations: idsOf('loc_', locations), devices: idsOf('dev_', locations * 2) }
  const startedAt = performance.now()
  const load = await forkLoad({
    ...{ host: '127.0.0.1', port: bare.port, path: '/meters/interval', token: 'none' },
    ...{ bodies: bodiesOf(fleet, 500), recordsPerBody: 500, connections, seconds, rate },
    ...{ firstSlot: Date.parse('2025-01-01T00:00:00Z'), slotMs: 900_000 },
  })
  let stored = 0
  for (let waitedMs = 0; waitedMs < 60_000 && stored < load.records; waitedMs += 50) {
    stored = await bare.stored()
    await sleep(50)
  }
  return { recordsPerSecond: (stored * 1000) / (performance.now() - startedAt), load }
}
