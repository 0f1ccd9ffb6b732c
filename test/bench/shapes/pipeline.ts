import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Admin } from '@platformatic/kafka'
import pg from 'pg'
import { openOffsetReader } from '../../../services/platform/log/kafka/kafka-offsets.ts'
import { freePorts } from '../../support/kafka/java-process.ts'
import { plainAddress } from '../../support/kafka/test-log.ts'
import { engineAt } from '../distributed/distributed-system.ts'
import { openDatabaseOfBench, released, type SharedStores, startEngine } from '../distributed/shared-stores.ts'
import type { Fleet } from '../fleet.ts'
import { answerOf } from '../fork-load.ts'
import { closedWithRun } from '../interrupted.ts'
import { lookUpTables } from './look-up-writer.ts'
import type { ShapeName, ShapeSettings } from './settings.ts'
import { usageCounts, usageTable } from './usage-table.ts'

const partitions = 8

/** The part of a pipeline that is killed. */
export type PipelinePart = 'gateway' | 'writer'

/** Something that takes submissions and ends with rows in the engine. */
export type Pipeline = AsyncDisposable & {
  readonly name: string
  readonly gatewayUrl: string
  readonly token: string
  readonly fleet: Fleet
  /** Rows in the table, repeated ones too. */
  readonly rows: () => Promise<number>
  /** How often each record counts, by digits of its device and its start, between two starts. */
  readonly counts: (from: number, to: number) => Promise<ReadonlyMap<string, number>>
  /** Messages that wait to be read and committed. */
  readonly unread: () => Promise<number>
  /** End a part without any warning, and start it again. */
  readonly kill: (part: PipelinePart) => Promise<void>
}

/** Read counts by device and start. */
export const countsOf = async (engineUrl: string, sql: string): Promise<ReadonlyMap<string, number>> => {
  const db = engineAt(engineUrl)
  const rows = await db.rows(sql)
  await db.close()
  return new Map(rows.map(([device, start, count]) => [`${device} ${start}`, Number(count)]))
}

/** What groups have not committed of their topics, each of 8 partitions. */
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

const makeTopics = async (brokers: readonly string[], names: readonly string[]): Promise<void> => {
  const admin = new Admin({ clientId: 'shape-topics', bootstrapBrokers: [...brokers] })
  await admin.createTopics({ topics: [...names], partitions, replicas: 1 })
  await admin.close()
}

const makeTables = async ({ shape, postgresUrl, engineUrl, locations }: ShapeSettings): Promise<void> => {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  for (const statement of lookUpTables) await client.query(statement)
  await client.query('INSERT INTO shape_price SELECT unnest($1::text[]), 250000000', [locations])
  await client.end()
  const db = engineAt(engineUrl)
  await db.command(usageTable(shape))
  await db.close()
}

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${(index + 1).toString(16).padStart(24, '0')}`)

const readersOf = ({ shape, topic, secondTopic, group }: ShapeSettings) => [
  [topic, group] as const,
  ...(shape === 'second topic' ? [[secondTopic, `${group}-stored`] as const] : []),
]

/** Start a part of a shape, and start it again whenever it ends, until it is ended on purpose. */
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
  await answerOf(child)
  return {
    kill: async (): Promise<void> => {
      const killed = child
      killed.kill('SIGKILL')
      await released(killed)
      await answerOf(child)
    },
    end: async (): Promise<void> => {
      isEnded = true
      await released(child)
    },
  }
}

/** Start a shape on topics, tables and an engine of its own. */
export const openShape = async (
  { brokers }: SharedStores,
  shape: ShapeName,
  locationCount: number,
): Promise<Pipeline> => {
  await using opening = closedWithRun(new AsyncDisposableStack())
  const fleet = { locations: idsOf('loc_', locationCount), devices: idsOf('dev_', locationCount * 2) }
  const database = opening.use(await openDatabaseOfBench())
  const engine = opening.use(await startEngine())
  const run = `shape-${randomUUID()}`
  const [port = 0] = await freePorts(1)
  const names = { topic: `${run}.records`, secondTopic: `${run}.priced`, group: `${run}.writer` }
  const settings = {
    shape,
    brokers,
    ...names,
    engineUrl: engine.url,
    postgresUrl: database.url,
    port,
    locations: fleet.locations,
  }
  await makeTopics(brokers, [names.topic, names.secondTopic])
  await makeTables(settings)
  const parts = new Map(
    await Promise.all(
      (['writer', 'gateway'] as const).map(async part => [part, await superviseProcess(part, settings)] as const),
    ),
  )
  opening.defer(async () => void (await Promise.all([...parts.values()].map(({ end }) => end()))))
  const db = opening.adopt(engineAt(engine.url), one => one.close())
  const open = opening.move()
  return closedWithRun({
    ...{ name: shape, gatewayUrl: `http://127.0.0.1:${port}`, token: 'none', fleet },
    rows: async () => Number((await db.rows('SELECT count() FROM usage'))[0]?.[0]),
    counts: (from, to) => countsOf(engine.url, usageCounts(shape, from, to)),
    unread: () => unreadOf(brokers, readersOf(settings)),
    kill: async part => parts.get(part)?.kill(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  })
}
