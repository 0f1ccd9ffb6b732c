import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { startEmbeddedServer } from '../../services/platform/postgres/embedded/embedded-server.ts'
import { ensureKafkaCommands } from '../support/kafka/command-folder.ts'
import { type RoleProcess, startRoles } from '../support/kafka/processes.ts'
import { sharedBrokers, sharedRegistry, skippedWithout } from '../support/kafka/shared-broker.ts'
import { plainAddress, sessionMs } from '../support/kafka/test-log.ts'
import { openClickHouseServer } from '../support/stores/clickhouse-server.ts'
import { makeTestFolder } from '../support/stores/postgres.ts'
import { openPostgresTools } from '../support/stores/postgres-tools.ts'
import { type Client, login } from '../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../support/system/home.ts'
import { readEverything } from '../support/system/read-everything.ts'
import { dataFolder, removeData } from '../support/system/running-system.ts'
import { until } from '../support/system/until.ts'
import { openReceiver, type Receiver } from '../support/webhooks/receiver.ts'

const run = promisify(execFile)
const page = readFileSync('docs/operations.md', 'utf8')
/** Return the commands of a named block of the page. */
const commandsOf = (name: string): string => new RegExp(`^\`\`\`sh ${name}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? ''

const tools = await openPostgresTools()
const isSkipped = skippedWithout('registry') !== null || 'missing' in tools
const limitMs = 600_000
/** The second retry of a webhook comes up to 6 min after the first one. */
const retryLimitMs = 420_000
const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'))
const roles = ['ingest-gateway', 'cost-worker', 'query-service', 'webhook-worker'] as const
const owner = 'wattledger_owner'

/** A new PostgreSQL server with an empty database, whose owner is not a superuser. */
const openServer = async () => {
  const folder = makeTestFolder()
  const server = await startEmbeddedServer({ dataFolder: folder, settings: { max_connections: '200' } })
  const address = server.address as { host: string; user: string }
  const client = new pg.Client({ ...address, database: 'postgres' })
  await client.connect()
  await client.query(`create role ${owner} login createrole`)
  await client.query(`create database meters owner ${owner}`)
  await client.end()
  const url = (user: string) => `postgres://${user}@localhost/meters?host=${encodeURIComponent(address.host)}`
  const destroy = async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }
  return { url: url(owner), adminUrl: url(address.user), destroy }
}

/** A new ClickHouse that writes backups to a folder, with the settings of the deployment. */
const openEngine = async (backups: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-backup-'))
  const settings = readFileSync('deploy/clickhouse/backups.xml', 'utf8')
  mkdirSync(join(folder, 'engine.d'))
  writeFileSync(join(folder, 'engine.d/backups.xml'), settings.replace('>/var/lib/clickhouse/backups<', `>${backups}<`))
  const engine = await openClickHouseServer({ folder })
  const destroy = async () => {
    await engine[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  }
  return { url: engine.url, destroy }
}

const withoutLetters = (texts: readonly string[]): readonly string[] => texts.slice(0, -1)
/** Return origin and reason of the dead letters, without the time at which they failed. */
const lettersOf = (texts: readonly string[]): readonly object[] =>
  (JSON.parse(texts.at(-1) ?? '') as { time_failed: string }[]).map(({ time_failed: _, ...letter }) => letter)

type Server = Awaited<ReturnType<typeof openServer>>
/** Running roles on stores. `destroy` kills the roles and removes the stores; `loseEngine` leaves PostgreSQL. */
type Cluster = {
  readonly url: string
  readonly server: Server
  readonly destroy: () => Promise<void>
  readonly loseEngine: () => Promise<void>
}

describe.skipIf(isSkipped)('backup and restore of a cluster', { timeout: limitMs }, () => {
  const stack = new AsyncDisposableStack()
  const backup = stack.adopt(dataFolder(), removeData)
  const files = { BACKUP: backup, NAME: 'first' }
  let shared: Readonly<Record<string, string>> = {}
  let path = ''
  let receiver: Receiver
  let isAnswering = false
  let stores: Readonly<Record<string, string>> = {}
  let cluster: Cluster | null = null
  let sandbox: Sandbox
  let home = ''
  let atBackup: readonly string[] = []
  let atLoss: readonly string[] = []
  let pending: readonly string[] = []

  const runCommands = (commands: string, variables: Readonly<Record<string, string>>) =>
    run('sh', ['-ec', commands], { env: { HOME: process.env['HOME'], PATH: path, ...variables } })
  const runBlock = (name: string, variables: Readonly<Record<string, string>>) => {
    expect(commandsOf(name)).not.toBe('')
    return runCommands(commandsOf(name), variables)
  }

  /** Create empty stores, and return their settings. A given server stays. */
  const openStores = async (prefix: string, given?: Server) => {
    const [server, engine] = [given ?? (await openServer()), await openEngine(join(backup, 'clickhouse'))]
    const variables = {
      ...shared,
      ...files,
      WATTLEDGER_KAFKA_PREFIX: prefix,
      POSTGRES_ADMIN_URL: server.adminUrl,
      WATTLEDGER_POSTGRES_URL: server.url,
      WATTLEDGER_CLICKHOUSE_URL: engine.url,
    }
    return { variables, server, engine }
  }

  /** Start the roles on the stores. */
  const startCluster = async (opened: Awaited<ReturnType<typeof openStores>>) => {
    const folder = dataFolder()
    const started: RoleProcess = await startRoles(folder, opened.variables, roles)
    if (existsSync(join(folder, 'sandbox.json')))
      sandbox = JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8'))
    const loseEngine = async () => {
      cluster = null
      await started.end('SIGKILL')
      await opened.engine.destroy()
      removeData(folder)
    }
    const destroy = async () => {
      await loseEngine()
      await opened.server.destroy()
    }
    cluster = { url: started.url, server: opened.server, destroy, loseEngine }
    stores = opened.variables
    return login({ ...sandbox, base_url: started.url })
  }

  /** Reset the groups to a day before the backup, as soon as they are inactive. Returns the output. */
  const reread = async (variables: Readonly<Record<string, string>>): Promise<string> => {
    const started = Date.parse(`${readFileSync(join(backup, 'started-at'), 'utf8').trim()}Z`)
    const since = new Date(started - 86_400_000).toISOString().replace('Z', '')
    const { stdout } = await until(
      () => runBlock('cluster_reread', { ...variables, SINCE: since }),
      ({ stdout: output, stderr }) => !`${output}${stderr}`.includes('Error'),
    )
    return stdout
  }

  /** Append bytes that no worker can read: they become a dead letter. */
  const appendPoison = async (): Promise<void> => {
    const address = plainAddress(await sharedBrokers())
    const prefix = stores['WATTLEDGER_KAFKA_PREFIX'] ?? ''
    const log = await openKafkaLog({ address, prefix, now: () => Date.now() })
    await log.append(recordTopic, 3, { key: 'poison', value: Buffer.from('no chunk'), headers: {} })
    await log.close()
  }

  const letters = (client: Client) =>
    client.ask('GET', '/operator/dead-letters', undefined, {
      'X-Operator-Key': shared['WATTLEDGER_OPERATOR_KEY'] ?? '',
    })
  const readAll = (client: Client) => readEverything(client, home, shared['WATTLEDGER_OPERATOR_KEY'] ?? '')
  const rowsOf = async (): Promise<readonly number[]> => {
    const body =
      'SELECT count(), uniqExact(record_id) FROM (SELECT record_id FROM meter_cost FINAL) FORMAT JSONCompactEachRow'
    return JSON.parse(await (await fetch(stores['WATTLEDGER_CLICKHOUSE_URL'] ?? '', { method: 'POST', body })).text())
  }

  beforeAll(async () => {
    if ('missing' in tools) return
    const programs = [tools.folder, await ensureKafkaCommands(), dirname(process.execPath)]
    path = [...programs, process.env['PATH']].join(':')
    receiver = stack.use(await openReceiver(() => (isAnswering ? { status: 204 } : 'reset')))
    shared = {
      WATTLEDGER_KAFKA_BROKERS: (await sharedBrokers()).join(','),
      WATTLEDGER_KAFKA_SESSION_TIMEOUT_MS: String(sessionMs),
      WATTLEDGER_SCHEMA_REGISTRY_URL: await sharedRegistry(),
      WATTLEDGER_CLICKHOUSE_USER: 'default',
      WATTLEDGER_CLICKHOUSE_PASSWORD: '',
      WATTLEDGER_CLICKHOUSE_DATABASE: 'default',
      WATTLEDGER_SECRET: 'a secret that all processes of a test share',
      WATTLEDGER_OPERATOR_KEY: 'an operator key that all processes of a test share',
      WATTLEDGER_CREDENTIALS_KEY: Buffer.alloc(32, 7).toString('base64'),
      WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      TOPICS: '--replicas 1',
    }
  }, limitMs)
  afterAll(async () => {
    await cluster?.destroy()
    await stack.disposeAsync()
  })

  it('makes a backup of running roles, by the commands of the page', async () => {
    const opened = await openStores(`test-${randomUUID()}.`)
    await runCommands('npx wattledger migrate && npx wattledger topics $TOPICS', opened.variables)
    const client = await startCluster(opened)
    home = await makeHome(client, { import: 0.3 })
    await client.submit(hours.map(hour => bought(home, 1, `2026-01-15T${hour}:00:00Z`, `2026-01-15T${hour}:30:00Z`)))
    // A corrected record and a cancelled record.
    await client.submit([bought(home, 3, '2026-01-15T05:00:00Z', '2026-01-15T05:30:00Z')])
    await client.submit([bought(home, 0, '2026-01-15T06:00:00Z', '2026-01-15T06:30:00Z')])
    await appendPoison()
    await until(
      () => letters(client),
      ({ data }: { data: unknown[] }) => data.length === 1,
    )
    const endpoint = await makeOne(client, '/webhooks', { url: receiver.url, event_types: ['*'] })
    await makeOne(client, '/locations', { timezone: 'Europe/Oslo', currency_code: 'NOK' })
    const deliveries = await until(
      () => client.ask('GET', `/webhooks/${endpoint}/deliveries`),
      ({ data }: { data: { status: string; attempts: number }[] }) =>
        data.length > 0 && data.every(({ status, attempts }) => status === 'PENDING' && attempts > 0),
    )
    pending = (deliveries as { data: { event_id: string }[] }).data.map(({ event_id }) => event_id)
    atBackup = await readAll(client)
    await runBlock('cluster_backup', stores)
    expect(atBackup.filter(text => / [45]\d\d /.test(text))).toEqual([])
    expect(await rowsOf()).toEqual([hours.length, hours.length])
  })

  it('refuses a dump by the owner, who cannot read the rows of accounts', async () => {
    const folder = stack.adopt(dataFolder(), removeData)
    const byOwner = { BACKUP: folder, NAME: 'by-owner', POSTGRES_ADMIN_URL: stores['WATTLEDGER_POSTGRES_URL'] ?? '' }
    await expect(runBlock('cluster_backup', { ...stores, ...byOwner })).rejects.toThrow('row-level security')
  })

  it('restores everything, with the records since the backup from the log', async () => {
    const client = await login({ ...sandbox, base_url: cluster?.url ?? '' })
    await client.submit([bought(home, 5, '2026-01-16T05:00:00Z', '2026-01-16T05:30:00Z')])
    await client.submit([bought(home, 7, '2026-01-15T05:00:00Z', '2026-01-15T05:30:00Z')])
    atLoss = await readAll(client)
    expect(atLoss).not.toEqual(atBackup)
    const prefix = stores['WATTLEDGER_KAFKA_PREFIX'] ?? ''
    await cluster?.destroy()
    const opened = await openStores(prefix)
    await runBlock('cluster_restore', opened.variables)
    expect(await reread(opened.variables)).toContain(`${prefix}cost-worker`)
    receiver.received.length = 0
    isAnswering = true
    const restored = await startCluster(opened)
    await until(rowsOf, ([count = 0]) => count > hours.length)
    await until(
      () => letters(restored),
      ({ data }: { data: unknown[] }) => data.length === 2,
    )
    const read = await readAll(restored)
    expect(withoutLetters(read)).toEqual(withoutLetters(atLoss))
    // The message is read again, so its dead letter is listed twice, as the page says.
    expect(lettersOf(read)).toEqual([...lettersOf(atLoss), ...lettersOf(atLoss)])
    expect(await rowsOf()).toEqual([hours.length + 1, hours.length + 1])
    const delivered = () => receiver.received.map(({ headers }) => String(headers['webhook-id']))
    await until(delivered, ids => pending.every(id => ids.includes(id)), retryLimitMs)
  })

  it('restores ClickHouse alone, and its costs have the prices that changed since the backup', async () => {
    const before = await login({ ...sandbox, base_url: cluster?.url ?? '' })
    const costsOf = async (client: Client) => withoutLetters(await readAll(client)).at(-1)
    const { data } = (await before.ask('GET', `/tariffs?location_id=${home}`)) as { data: readonly { id: string }[] }
    const change = { schedule: priceSchedule(0.5), effective_from: '2026-01-01T00:00:00Z' }
    await before.ask('PATCH', `/tariffs/${data[0]?.id}`, change)
    // All records of the location: 22 of 1 kWh, one of 7 and one of 5.
    const value = `"value":${(hours.length - 2 + 7 + 5) * 0.5}`
    const changed = await until(
      () => costsOf(before),
      text => text?.includes(value) ?? false,
    )
    const server = cluster?.server
    await cluster?.loseEngine()
    const opened = await openStores(stores['WATTLEDGER_KAFKA_PREFIX'] ?? '', server)
    const withoutPostgres = commandsOf('cluster_restore')
      .split('\n')
      .filter(line => !line.startsWith('pg_restore'))
    await runCommands(withoutPostgres.join('\n'), opened.variables)
    await reread(opened.variables)
    const client = await startCluster(opened)
    await until(
      () => costsOf(client),
      text => text === changed,
    )
    expect(await rowsOf()).toEqual([hours.length + 1, hours.length + 1])
  })

  it('restores the state of the backup if the log is lost, and lets new records win', async () => {
    await cluster?.destroy()
    const opened = await openStores(`test-${randomUUID()}.`)
    await runBlock('cluster_restore', opened.variables)
    const client = await startCluster(opened)
    const restored = await readAll(client)
    expect(withoutLetters(restored)).toEqual(withoutLetters(atBackup))
    expect(lettersOf(restored)).toEqual([])
    await client.submit([bought(home, 9, '2026-01-15T05:00:00Z', '2026-01-15T05:30:00Z')])
    const costs = (await readAll(client)).at(-2)
    expect(costs).toContain(`"value":${((hours.length - 2 + 9) * 3) / 10}`)
    expect(await rowsOf()).toEqual([hours.length, hours.length])
  })
})
