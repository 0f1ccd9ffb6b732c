import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { openLmdbLog } from '../../services/platform/log/lmdb/lmdb-log.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { startRoles } from '../support/kafka/processes.ts'
import { sharedBrokers, sharedRegistry, skippedWithout } from '../support/kafka/shared-broker.ts'
import { postStatement } from '../support/statements/statement-answer.ts'
import { openClickHouseServer } from '../support/stores/clickhouse-server.ts'
import { openTestDatabase } from '../support/stores/postgres.ts'
import { login } from '../support/system/client.ts'
import { bought, makeHome, makeOne } from '../support/system/home.ts'
import { fillDataFolder } from '../support/system/prepared-folder.ts'
import { readEverything } from '../support/system/read-everything.ts'
import { runCommand } from '../support/system/run-command.ts'
import { dataFolder, removeData, startSystem } from '../support/system/running-system.ts'
import { until } from '../support/system/until.ts'
import { openReceiver, type Receiver } from '../support/webhooks/receiver.ts'

const program = fileURLToPath(new URL('../../services/command-line.mjs', import.meta.url))
const limitMs = 300_000
const networks = { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }
const january = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-02-01T00:00:00Z' }
const days = { start_date: '2026-01-01', end_date: '2026-02-01' }
const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))

type Move = {
  readonly child: ChildProcess
  readonly output: () => string
  readonly ended: Promise<{ readonly code: number | null; readonly text: string }>
}

/** Start the command as a process: the engine of the folder and that of the cluster cannot be in one process. */
const startMove = (folder: string, variables: Readonly<Record<string, string>>): Move => {
  const child = spawn(process.execPath, [program, 'move', folder], { env: { PATH: process.env['PATH'], ...variables } })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', part => (text += part))
  const ended = new Promise<{ code: number | null; text: string }>(resolve =>
    child.once('close', code => resolve({ code, text })),
  )
  return { child, output: () => text, ended }
}

/** Create an empty database whose owner is no superuser, as on a server of a platform. */
const openOwnedDatabase = async () => {
  const { address, ...rest } = await openTestDatabase()
  const name = `owner_${randomUUID().replaceAll('-', '')}`
  const client = new pg.Client(address)
  await client.connect()
  await client.query(`create role ${name} login createrole`)
  await client.query(`grant wattledger_tenant, wattledger_operator to ${name} with admin option`)
  await client.query(`create database ${name} owner ${name}`)
  return {
    url: `postgres://${name}@localhost/${name}?host=${encodeURIComponent(address.host)}`,
    [Symbol.asyncDispose]: async () => {
      await client.query(`drop database ${name} with (force)`)
      await client.query(`drop owned by ${name}`)
      await client.query(`drop role ${name}`)
      await client.end()
      await rest[Symbol.asyncDispose]()
    },
  }
}

/** Lock a table: other sessions can read it only. */
const lockTable = async (url: string, table: string) => {
  const client = new pg.Client({ connectionString: url })
  let isOpen = true
  client.on('end', () => {
    isOpen = false
  })
  await client.connect()
  await client.query(`begin; lock table ${table} in share mode`)
  return { isHeld: () => isOpen, [Symbol.asyncDispose]: () => client.end() }
}

describe.skipIf(skippedWithout('registry') !== null)('wattledger move', { timeout: limitMs }, () => {
  const stack = new AsyncDisposableStack()
  const folder = stack.adopt(dataFolder(), removeData)
  let receiver: Receiver
  let sandbox: Sandbox
  let home = ''
  let before: readonly string[] = []
  let variables: Readonly<Record<string, string>> = {}
  let rows: () => Promise<string> = () => Promise.resolve('')

  const fillFolder = async (): Promise<void> => {
    await using system = await startSystem(folder, networks)
    sandbox = system.sandbox
    const client = await login(sandbox)
    await makeOne(client, '/webhooks', { url: receiver.url, event_types: ['*'] })
    home = await makeHome(client, { import: 0.3 })
    const records = hours.map(hour => bought(home, 1, `2026-01-15T${hour}:00:00Z`, `2026-01-15T${hour}:30:00Z`))
    await client.submit(records)
    // A corrected record and a cancelled record.
    await client.submit([bought(home, 3, '2026-01-15T05:00:00Z', '2026-01-15T05:30:00Z')])
    await client.submit([bought(home, 0, '2026-01-15T06:00:00Z', '2026-01-15T06:30:00Z')])
    const { id } = await postStatement(client, home, days)
    await client.ask('POST', `/statements/${id}/finalise`, { allow_incomplete: true })
  }

  /** Append bytes that no worker can read to the log of the stopped folder. */
  const appendPoison = async (): Promise<void> => {
    const log = await openLmdbLog({ folder: join(folder, 'log'), now: () => Date.now() })
    await log.append(recordTopic, 3, { key: 'poison', value: Buffer.from('no chunk'), headers: {} })
    await log.close()
  }

  beforeAll(async () => {
    receiver = stack.use(await openReceiver())
    await fillDataFolder(folder)
    await fillFolder()
    const database = stack.use(await openOwnedDatabase())
    const clickHouse = stack.use(await openClickHouseServer())
    const brokers = await sharedBrokers()
    const secrets = JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as Record<string, string>
    variables = {
      WATTLEDGER_KAFKA_BROKERS: brokers.join(','),
      WATTLEDGER_KAFKA_PREFIX: `test-${randomUUID()}.`,
      WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: '3000',
      WATTLEDGER_SCHEMA_REGISTRY_URL: await sharedRegistry(),
      WATTLEDGER_POSTGRES_URL: database.url,
      WATTLEDGER_CLICKHOUSE_URL: clickHouse.url,
      WATTLEDGER_SECRET: secrets['secret'] ?? '',
      WATTLEDGER_OPERATOR_KEY: secrets['operator_key'] ?? '',
      WATTLEDGER_CREDENTIALS_KEY: secrets['credentials_key'] ?? '',
    }
    rows = async () => {
      const read =
        'SELECT count(), uniqExact(record_id) FROM (SELECT record_id FROM meter_cost FINAL) FORMAT JSONCompactEachRow'
      return (await fetch(clickHouse.url, { method: 'POST', body: read })).text()
    }
    for (const command of [['migrate'], ['topics', '--replicas', '1']]) {
      const done = await runCommand(command, variables)
      expect([done.code, done.err]).toEqual([0, ''])
    }
  }, limitMs)
  afterAll(() => stack.disposeAsync())

  it('refuses a folder with unread messages, and copies nothing', async () => {
    await appendPoison()
    const { code, text } = await startMove(folder, variables).ended
    expect([code, text]).toEqual([1, expect.stringContaining('cost-worker has 1 unread messages')])
    expect(JSON.parse(await rows())).toEqual([0, 0])
    await using system = await startSystem(folder, networks)
    const client = await login(system.sandbox)
    const key = { 'X-Operator-Key': system.sandbox.operator_key }
    const letters = async () =>
      (await client.ask('GET', '/operator/dead-letters', undefined, key)) as { data: unknown[] }
    await until(letters, ({ data }) => data.length === 1)
    before = await readEverything(client, home, system.sandbox.operator_key)
    expect(before.filter(text => / [45]\d\d /.test(text))).toEqual([])
    expect(before.join()).toContain('"status":"FINAL"')
  })

  it('refuses other secrets, a running service, missing settings and a folder that is none', async () => {
    const refusal = async (from: string, more: Readonly<Record<string, string>>) => {
      const { code, text } = await startMove(from, { ...variables, ...more }).ended
      expect(code).toBe(1)
      return text
    }
    expect(await refusal(folder, { WATTLEDGER_SECRET: 'x'.repeat(40) })).toContain('WATTLEDGER_SECRET')
    expect(await refusal(folder, { WATTLEDGER_CLICKHOUSE_URL: '' })).toContain('Set WATTLEDGER_CLICKHOUSE_URL.')
    expect(await refusal(join(folder, '..'), {})).toContain('is not a data folder')
    await using _system = await startSystem(folder, networks)
    expect(await refusal(folder, {})).toContain('is in use by another process')
  })

  const killMoveAfter = async (text: string): Promise<void> => {
    const { child, output, ended } = startMove(folder, variables)
    await until(output, seen => seen.includes(text) || child.exitCode !== null)
    expect(output()).toContain(text)
    child.kill('SIGKILL')
    expect((await ended).code).toBe(null)
  }

  it('copies everything once, although it is killed in ClickHouse, before and in PostgreSQL', async () => {
    await killMoveAfter('ClickHouse: meter_cost')
    expect(existsSync(join(folder, 'moved.json'))).toBe(false)
    {
      // The copy of PostgreSQL waits for this lock, so that the kill comes after the dead letters and before the copy.
      await using lock = await lockTable(variables['WATTLEDGER_POSTGRES_URL'] ?? '', 'accounts')
      await killMoveAfter('Kafka: 1 dead letters')
      expect(lock.isHeld()).toBe(true)
    }
    await killMoveAfter('PostgreSQL: accounts')
    expect(existsSync(join(folder, 'moved.json'))).toBe(true)
    const moved = await startMove(folder, variables).ended
    expect([moved.code, moved.text]).toEqual([0, expect.stringContaining('All copies were compared.')])
    const again = await startMove(folder, variables).ended
    expect([again.code, again.text]).toEqual([0, expect.stringContaining('already')])
    expect(JSON.parse(await rows())).toEqual([hours.length, hours.length])
  })

  it('refuses a start and commands on the moved folder, until its mark is removed', async () => {
    const mark = join(folder, 'moved.json')
    const refused = /copied .* to a cluster at 20.* delete .*moved\.json/
    await expect(startSystem(folder, networks)).rejects.toThrow(refused)
    const command = await runCommand(['account', 'list'], { WATTLEDGER_DATA_DIR: folder })
    expect([command.code, command.err]).toEqual([1, expect.stringMatching(refused)])
    // The settings of the cluster use the folder for its files only.
    const cluster = await runCommand(['account', 'list'], { ...variables, WATTLEDGER_DATA_DIR: folder })
    expect([cluster.code, cluster.out]).toEqual([0, expect.stringContaining(sandbox.account_id)])
    const copied = stack.adopt(dataFolder(), removeData)
    execFileSync('cp', ['-a', folder, copied])
    rmSync(join(copied, 'moved.json'))
    await using system = await startSystem(copied, networks)
    expect(await readEverything(await login(system.sandbox), home, system.sandbox.operator_key)).toEqual(before)
    expect(existsSync(mark)).toBe(true)
  })

  it('gives a cluster that answers as the folder did, and that corrects and delivers', async () => {
    const clusterFolder = stack.adopt(dataFolder(), removeData)
    const roles = ['ingest-gateway', 'cost-worker', 'query-service', 'webhook-worker'] as const
    const started = await startRoles(clusterFolder, { ...variables, ...networks }, roles)
    stack.defer(async () => void (await started.end('SIGKILL')))
    const client = await login({ ...sandbox, base_url: started.url })
    expect(await readEverything(client, home, sandbox.operator_key)).toEqual(before)
    const delivered = receiver.received.length
    // The offsets of the new topic begin at 0: only the raised generation lets this correction win.
    await client.submit([bought(home, 7, '2026-01-15T05:00:00Z', '2026-01-15T05:30:00Z')])
    const costs = await client.ask('POST', `/costs/interval/${home}`, january)
    expect(JSON.stringify(costs)).toContain(`"value":${((hours.length - 2 + 7) * 3) / 10}`)
    expect(JSON.parse(await rows())).toEqual([hours.length, hours.length])
    await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
    await until(
      () => receiver.received.length,
      count => count > delivered,
    )
    const { code, text } = await startMove(folder, variables).ended
    expect([code, text]).toEqual([1, expect.stringContaining('has other data')])
  })
})
