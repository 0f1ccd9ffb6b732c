import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { currentInstant } from '../../../services/platform/clock.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { eventTopic } from '../../../services/platform/log/log.ts'
import type { EventEnvelope } from '../../../services/platform/log/messages.ts'
import { readAudit, readAuditHeads, verifyAuditChain } from '../../../services/platform/postgres/registry/audit-log.ts'
import {
  faultInjectionTimeoutMs,
  rounds,
  runFaultInjection,
  seed,
  wanted,
} from '../../support/event-ledger/fault-injection.ts'
import type { ReceivedEvent } from '../../support/event-ledger/object-histories.ts'
import { openRecords } from '../../support/registry/accounts.ts'
import { type Client, login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'

const environment = { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }
const folder = dataFolder()
let system: RunningSystem | null = null
let client: Client | null = null

const start = async (): Promise<void> => {
  system = await startSystem(folder, environment)
  client = await login(system.sandbox)
}

afterAll(async () => {
  client = null
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const killProcess = async (): Promise<void> => {
  client = null
  await system?.kill()
  await start()
}

const endPostmaster = (): void => {
  const [pid = ''] = readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
  process.kill(Number(pid), 'SIGKILL')
}

const killBoth = async (): Promise<void> => {
  client = null
  await system?.kill()
  endPostmaster()
  await start()
}

const killPostgres = async (): Promise<void> => {
  endPostmaster()
  const read = async () => (await client?.send('GET', '/customers?limit=1').catch(() => undefined))?.status
  await until(read, status => status === 200, 30_000)
}

/** Read every event in the log, partition by partition. The system must have stopped. */
const published = async (): Promise<readonly EventEnvelope[]> => {
  const codec = await openCodec(localSchemaIds())
  const log = await openLmdbLog({ folder: join(folder, 'log'), now: currentInstant })
  const all: EventEnvelope[] = []
  try {
    for (let partition = 0; partition < log.partitions(eventTopic); partition += 1) {
      const { messages } = await log.peek(eventTopic, partition, 0, { maxMessages: 1_000_000, maxBytes: 2 ** 30 })
      for (const { value } of messages) all.push(await codec.decodeEvent(value))
    }
  } finally {
    await log.close()
  }
  return all
}

/**
 * Compare the audit log with the events: each creation, deletion, tariff and endpoint has one entry, and the chain is
 * intact.
 */
const expectAudited = async (events: readonly ReceivedEvent[], accountId: string): Promise<void> => {
  await using records = await openRecords(folder)
  const query = records.operator
  const entries = await readAudit({ accountId, liveMode: false, query }, 1_000_000)
  const expectedEntries = events.flatMap(({ type, data }) => [
    ...(/^(?:customer|location|device)\.create$|\.delete$/.test(type) ? [`${type} ${data.id}`] : []),
    ...(data.tariff_elements ?? []).map(id => `tariff.create ${id}`),
  ])
  const of = (kinds: RegExp) =>
    entries.filter(({ action }) => kinds.test(action)).map(({ action, objectId }) => `${action} ${objectId}`)
  expect(of(/^(?:customer|location|device)\.create$|\.delete$|^tariff\./).toSorted()).toEqual(
    [...new Set(expectedEntries)].toSorted(),
  )
  expect(of(/^(?!.*\.delete$|tariff\.|(?:customer|location|device|market)\.)/).map(one => one.split(' ')[0])).toEqual([
    'webhook_endpoint.create',
    'api_key.create',
  ])
  for (const head of await readAuditHeads(query, accountId))
    expect((await verifyAuditChain(query, head, null)).faults).toEqual([])
}

describe('events during kills of the process of all roles and of PostgreSQL', () => {
  it(`equal the ${wanted} changes, and each reaches its subscriber, through ${rounds} kills of each at moments of seed ${seed}`, {
    timeout: faultInjectionTimeoutMs,
  }, async () => {
    await fillDataFolder(folder)
    await start()
    const parts = [
      { name: 'process', kill: killProcess },
      { name: 'PostgreSQL', kill: killPostgres },
      { name: 'both at once', kill: killBoth },
    ]
    const events = await runFaultInjection({ target: () => client, groups: [parts] })
    await expectAudited(events, system?.sandbox.account_id ?? '')
    expect(await system?.stop()).toBe(0)
    const copies = Map.groupBy(await published(), ({ eventId }) => eventId)
    expect(new Set(copies.keys())).toEqual(new Set(events.map(({ id }) => id)))
    for (const group of copies.values()) expect(new Set(group.map(copy => JSON.stringify(copy))).size).toBe(1)
    const indexes = new Map(events.map(({ id }, index) => [id, index]))
    for (const own of Map.groupBy(copies.values(), ([first]) => first?.objectId ?? first?.eventId).values()) {
      const order = own.map(([first]) => indexes.get(first?.eventId ?? '') ?? -1)
      expect(order).toEqual(order.toSorted((a, b) => a - b))
    }
  })
})
