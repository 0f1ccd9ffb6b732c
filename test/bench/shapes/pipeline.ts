import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Admin } from '@platformatic/kafka'
import pg from 'pg'
import { openOffsetReader } from '../../../services/platform/log/kafka/kafka-offsets.ts'
import { freePorts } from '../../support/kafka/java-process.ts'
import { plainAddress } from '../../support/kafka/test-log.ts'
import { openClickHouseServer } from '../../support/stores/clickhouse-server.ts'
import { endProcess, nextMessage } from '../../support/system/child-process.ts'
import { closeWithRun } from '../../support/system/close-with-run.ts'
import { engineAt } from '../distributed/distributed-system.ts'
import { openBenchDatabase, type SharedStores } from '../distributed/shared-stores.ts'
import { type Fleet, numberedFleet } from '../fleet/fleet.ts'
import { lookUpTables } from './look-up-writer.ts'
import type { ShapeName, ShapeSettings } from './settings.ts'
import { usageCounts, usageTable } from './usage-table.ts'

const partitions = 8

/** Part of a pipeline that can be killed. */
export type PipelinePart = 'gateway' | 'writer'

/** Processes that receive submissions and store rows in ClickHouse. */
export type Pipeline = AsyncDisposable & {
  readonly name: string
  readonly gatewayUrl: string
  readonly token: string
  readonly fleet: Fleet
  /** Return the number of rows in the table, with duplicates. */
  readonly rows: () => Promise<number>
  /**
   * Return the number of rows by device and start, for starts in [from, to). The device is written without its prefix.
   */
  readonly counts: (from: number, to: number) => Promise<ReadonlyMap<string, number>>
  /** Return the number of uncommitted messages. */
  readonly unread: () => Promise<number>
  /** Kill a part with SIGKILL and start it again. */
  readonly kill: (part: PipelinePart) => Promise<void>
}

/** Read counts by device and start. */
export const countsOf = async (engineUrl: string, sql: string): Promise<ReadonlyMap<string, number>> => {
  const db = engineAt(engineUrl)
  const rows = await db.rows(sql)
  await db.close()
  return new Map(rows.map(([device, start, count]) => [`${device} ${start}`, Number(count)]))
}

/** Return the number of messages that groups have not committed. Each topic has 8 partitions. */
export const unreadOf = async (
  brokers: readonly string[],
  readers: readonly (readonly [topic: string, group: string])[],
): Promise<number> => {
  const offsetReader = openOffsetReader(plainAddress(brokers))
  try {
    const offsets = await Promise.all(readers.map(([topic, group]) => offsetReader.offsetsOf(topic, partitions, group)))
    return offsets.flat().reduce((sum, { end, committed }) => sum + end - committed, 0)
  } finally {
    await offsetReader.close()
  }
}

const createTopics = async (brokers: readonly string[], names: readonly string[]): Promise<void> => {
  const admin = new Admin({ clientId: 'shape-topics', bootstrapBrokers: [...brokers] })
  await admin.createTopics({ topics: [...names], partitions, replicas: 1 })
  await admin.close()
}

const createTables = async ({ shape, postgresUrl, engineUrl, locations }: ShapeSettings): Promise<void> => {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  for (const statement of lookUpTables) await client.query(statement)
  await client.query('INSERT INTO shape_price SELECT unnest($1::text[]), 250000000', [locations])
  await client.end()
  const db = engineAt(engineUrl)
  await db.command(usageTable(shape))
  await db.close()
}

const readersOf = ({ shape, topic, secondTopic, group }: ShapeSettings) => [
  [topic, group] as const,
  ...(shape === 'second topic' ? [[secondTopic, `${group}-stored`] as const] : []),
]

/** Start a part of a shape. Restart it after each exit until `end` is called. */
const superviseProcess = async (part: PipelinePart, settings: ShapeSettings) => {
  const start = (): ChildProcess =>
    fork(new URL(`./${part}-process.ts`, import.meta.url), [JSON.stringify(settings)], { execArgv: [] }).once(
      'exit',
      again,
    )
  let isEnded = false
  const again = (): void => {
    if (!isEnded) child = start()
  }
  let child = start()
  await nextMessage(child)
  return {
    kill: async (): Promise<void> => {
      const killed = child
      killed.kill('SIGKILL')
      await endProcess(killed)
      await nextMessage(child)
    },
    end: async (): Promise<void> => {
      isEnded = true
      await endProcess(child)
    },
  }
}

/** Start a shape with new topics, tables and ClickHouse. */
export const openShape = async (
  { brokers }: SharedStores,
  shape: ShapeName,
  locationCount: number,
): Promise<Pipeline> => {
  await using opening = closeWithRun(new AsyncDisposableStack())
  const fleet = numberedFleet(locationCount)
  const database = opening.use(await openBenchDatabase())
  const engine = opening.use(await openClickHouseServer())
  const run = `shape-${randomUUID()}`
  const [port = 0] = await freePorts(1)
  const names = { topic: `${run}.records`, secondTopic: `${run}.priced`, group: `${run}.writer` }
  const settings = {
    shape,
    brokers,
    ...names,
    engineUrl: engine.directUrl,
    postgresUrl: database.url,
    port,
    locations: fleet.locations,
  }
  await createTopics(brokers, [names.topic, names.secondTopic])
  await createTables(settings)
  const parts = new Map(
    await Promise.all(
      (['writer', 'gateway'] as const).map(async part => [part, await superviseProcess(part, settings)] as const),
    ),
  )
  opening.defer(async () => void (await Promise.all([...parts.values()].map(({ end }) => end()))))
  const db = opening.adopt(engineAt(engine.directUrl), one => one.close())
  const open = opening.move()
  return closeWithRun({
    name: shape,
    gatewayUrl: `http://127.0.0.1:${port}`,
    token: 'none',
    fleet,
    rows: async () => Number((await db.rows('SELECT count() FROM usage'))[0]?.[0]),
    counts: (from, to) => countsOf(engine.directUrl, usageCounts(shape, from, to)),
    unread: () => unreadOf(brokers, readersOf(settings)),
    kill: async part => parts.get(part)?.kill(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  })
}
