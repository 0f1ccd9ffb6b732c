import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { openClickHouseServer } from '../../support/stores/clickhouse-server.ts'
import { endProcess, nextMessage } from '../../support/system/child-process.ts'
import { dataFolder } from '../../support/system/running-system.ts'
import { removeAfterRun } from '../data-folders.ts'
import type { SharedStores } from '../distributed/shared-stores.ts'
import type { FleetLoad } from '../end-to-end.ts'
import { bodiesOf, numberedFleet } from '../fleet/fleet.ts'
import { forkLoad } from '../fork-load.ts'
import type { LoadResult } from '../load.ts'
import type { LimitArguments } from './limit-process.ts'

/** A running limit. */
type Limit = AsyncDisposable & { readonly port: number; readonly stored: () => Promise<number> }
export type OpenLimit = () => Promise<Limit>

const drainMs = 60_000
const partitions = 8

const startProcess = async (
  given: LimitArguments,
): Promise<{ readonly child: ChildProcess; readonly port: number }> => {
  const child = fork(new URL('./limit-process.ts', import.meta.url), [JSON.stringify(given)], { execArgv: [] })
  return { child, ...(await nextMessage<{ readonly port: number }>(child)) }
}

const storedOf = async (child: ChildProcess): Promise<number> => {
  child.send('stored')
  return (await nextMessage<{ readonly stored: number }>(child)).stored
}

const openInFolder =
  (half: 'all' | 'log'): OpenLimit =>
  async () => {
    const folder = dataFolder()
    mkdirSync(folder, { recursive: true })
    const { child, port } = await startProcess({ half, folder })
    return {
      port,
      stored: () => storedOf(child),
      [Symbol.asyncDispose]: async () => {
        await endProcess(child)
        removeAfterRun(folder)
      },
    }
  }

/** Open the embedded limit, in one process. */
export const openEmbeddedLimit: OpenLimit = openInFolder('all')

/** Open a process that only adds submissions to a log in LMDB. */
const openLogLimit: OpenLimit = openInFolder('log')

const createTopic = async (brokers: readonly string[], topic: string, replicas: number): Promise<void> => {
  const admin = new Admin({ clientId: 'limit', bootstrapBrokers: [...brokers] })
  await admin.createTopics({ topics: [topic], partitions, replicas })
  await admin.close()
}

/** Open the distributed limit: one process receives submissions, one stores them, and one runs ClickHouse. */
export const openDistributedLimitOn =
  ({ brokers, replicas }: SharedStores): OpenLimit =>
  async () => {
    await using opening = new AsyncDisposableStack()
    const engine = opening.use(await openClickHouseServer())
    const topic = `limit-${randomUUID()}`
    await createTopic(brokers, topic, replicas)
    const parts = { brokers, topic, engineUrl: engine.directUrl }
    const worker = await startProcess({ half: 'worker', ...parts })
    opening.adopt(worker.child, endProcess)
    const gateway = await startProcess({ half: 'gateway', ...parts })
    opening.adopt(gateway.child, endProcess)
    const open = opening.move()
    return {
      port: gateway.port,
      stored: () => storedOf(worker.child),
      [Symbol.asyncDispose]: () => open.disposeAsync(),
    }
  }

const loadLimit = (
  { port }: Limit,
  { seconds, rate, locations, connections }: FleetLoad,
  recordsPerBody: number,
): Promise<LoadResult> =>
  forkLoad({
    host: '127.0.0.1',
    port,
    path: '/meters/interval',
    token: 'none',
    bodies: bodiesOf(numberedFleet(locations), recordsPerBody),
    recordsPerBody,
    connections,
    seconds,
    rate,
    firstSlot: Date.parse('2025-01-01T00:00:00Z'),
    slotMs: 900_000,
  })

/** Send submissions of one record to a log in LMDB. */
export const singleLimit = async (load: FleetLoad): Promise<LoadResult> => {
  await using limit = await openLogLimit()
  return await loadLimit(limit, load, 1)
}

/** Measure the records per second that the limit stores under the load of the product. */
export const limitRate = async (open: OpenLimit, given: FleetLoad): Promise<number> => {
  await using limit = await open()

  const startedAt = performance.now()
  const load = await loadLimit(limit, given, 500)
  let stored = 0
  for (const end = performance.now() + drainMs; stored < load.records && performance.now() < end; await sleep(50))
    stored = await limit.stored()
  if (stored < load.records) throw new Error(`The limit stored ${stored} of ${load.records} records.`)
  return (stored * 1000) / (performance.now() - startedAt)
}
