import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ClickHouse, maxSmallBytes, readSmall } from '../../services/platform/clickhouse/clickhouse.ts'
import { type ClickHouseHttpOptions, openClickHouseHttp } from '../../services/platform/clickhouse/clickhouse-http.ts'
import { meterCostBlock } from '../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { rowsInInterval } from '../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { applySchemas, schemaFiles } from '../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../suites/cost-rows.ts'
import { startLocalServer } from '../support/http/local-server.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'
import { type ClickHouseServer, ledgerPassword, openClickHouseServer } from '../support/stores/clickhouse-server.ts'
import { runCommand } from '../support/system/run-command.ts'
import { dataFolder, removeData } from '../support/system/running-system.ts'
import { until } from '../support/system/until.ts'

const folder = dataFolder()
let server: ClickHouseServer
let db: ClickHouse

const database = 'wattledger'

/** Open a client; default: through the proxy, as the user with a password. */
const openClient = (options: Partial<ClickHouseHttpOptions> = {}): ClickHouse => {
  const access = { user: 'ledger', password: ledgerPassword, database, ca: null, isReplicated: false }
  return openClickHouseHttp({ url: server.url, ...access, requestTimeoutMs: 2_000, ...options })
}

beforeAll(async () => {
  server = await openClickHouseServer()
  db = openClient()
  const first = openClient({ database: 'default' })
  await first.command(`CREATE DATABASE ${database} ENGINE = Atomic`)
  await first.close()
})
afterAll(async () => {
  await db.close()
  await server[Symbol.asyncDispose]()
  removeData(folder)
})

const stored = async (): Promise<number> => Number((await db.rows('SELECT count() FROM meter_cost FINAL'))[0]?.[0])

const isSkipped = skippedWithout('clickhouse') !== null

describe.skipIf(isSkipped)('the engine over HTTP', () => {
  it('gets its tables from the command, which prints the applied files and does nothing the second time', async () => {
    const access = {
      WATTLEDGER_CLICKHOUSE_URL: server.url,
      WATTLEDGER_CLICKHOUSE_USER: 'ledger',
      WATTLEDGER_CLICKHOUSE_PASSWORD: ledgerPassword,
      WATTLEDGER_CLICKHOUSE_DATABASE: database,
    }
    const migrated = () => runCommand(['migrate'], { WATTLEDGER_DATA_DIR: folder, ...access })
    const first = await migrated()
    expect(first.out).toContain('applied 0001_accounts.sql')
    for (const { name } of schemaFiles()) expect(first.out).toContain(`applied ${name}`)
    expect((await migrated()).out).toContain('The schema is up to date.')
  })

  it('creates the tables once, and returns inserted rows', async () => {
    expect(await applySchemas(db, schemaFiles())).toEqual([])
    const rows = [costRow(), costRow({ recordId: hexId('', 2), start: 1_790_003_600_000 })]
    await db.insert(meterCostBlock(rows))
    const tenant = { accountId: hexId('acc_', 1), liveMode: true }
    const read = await Array.fromAsync(
      rowsInInterval(db, tenant, { locationIds: [hexId('loc_', 1)] }, { from: 0, to: 4_000_000_000_000 }),
    )
    expect(read.flat()).toEqual(rows)
  })

  it('reads an answer in one piece up to a size', async () => {
    const numbers = (count: number): string => `SELECT number FROM numbers(${count}) SETTINGS max_block_size=2048`
    const account = { accountId: hexId('acc_', 1) }
    expect((await readSmall(db, numbers(maxSmallBytes / 8), account))?.length).toBeGreaterThan(maxSmallBytes)
    expect(await readSmall(db, numbers(maxSmallBytes / 8 + 1), account)).toBe(null)
  })

  it('writes a table of any size to a file, and no file after a failure', async () => {
    const path = join(folder, 'table.csv')
    const signal = new AbortController().signal
    await db.writeFile('SELECT number, toString(number) AS text FROM numbers(2)', { path, format: 'csv' }, signal)
    expect(readFileSync(path, 'utf8')).toBe('"number","text"\r\n0,"0"\r\n1,"1"\r\n')
    const wrong = db.writeFile('SELECT missing', { path: join(folder, 'none.csv'), format: 'csv' }, signal)
    await expect(wrong).rejects.toMatchObject({ code: 'clickhouse_refused' })
    expect(existsSync(join(folder, 'none.csv'))).toBe(false)
  })

  it('sends the settings of inserts in their statement', () => {
    const statements = server.proxy.calls.map(call => new URLSearchParams(call).get('query') ?? '')
    expect(statements.find(sql => sql.startsWith('INSERT INTO meter_cost '))).toMatch(
      /SETTINGS .*insert_deduplicate=0.* FORMAT Native$/,
    )
  })

  it.each([
    ['refuses for lack of memory', 'refuse', 'clickhouse_busy'],
    ['does not answer', 'hang', 'clickhouse_away'],
    ['resets the connection', 'reset', 'clickhouse_away'],
    ['is away, as its load balancer says', 'gateway', 'clickhouse_away'],
  ] as const)('fails as retriable if the server %s, and continues afterwards', async (_, fault, code) => {
    server.proxy.fault = fault
    await expect(db.rows('SELECT 1')).rejects.toMatchObject({ code, retriable: true })
    await expect(db.insert(meterCostBlock([costRow()]))).rejects.toMatchObject({ code, retriable: true })
    server.proxy.fault = 'well'
    expect(await db.rows('SELECT 1')).toEqual([[1]])
  })

  it('closes within seconds while an insert hangs; the insert fails', async () => {
    const other = openClient({ requestTimeoutMs: 30_000 })
    server.proxy.fault = 'hang'
    const inserted = other.insert(meterCostBlock([costRow()]))
    const failed = expect(inserted).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    const startedAt = performance.now()
    await other.close()
    await failed
    expect(performance.now() - startedAt).toBeLessThan(6_000)
    server.proxy.fault = 'well'
  })

  it('waits for a slow server', async () => {
    server.proxy.fault = 'slow'
    expect(await db.rows('SELECT 2')).toEqual([[2]])
    server.proxy.fault = 'well'
  })

  it('may have stored an interrupted insert; repeating it changes nothing', async () => {
    const rows = meterCostBlock([costRow({ recordId: hexId('', 3), start: 1_710_000_000_000 })])
    const before = await stored()
    server.proxy.fault = 'lose'
    await expect(db.insert(rows)).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    server.proxy.fault = 'well'
    expect(await stored()).toBe(before + 1)
    await db.insert(rows)
    expect(await stored()).toBe(before + 1)
  })

  it.each(['SELECT nothing', '-- a comment', ''])('reports the invalid statement "%s" as not retriable', async sql => {
    await expect(db.command(sql)).rejects.toMatchObject({ code: 'clickhouse_refused', retriable: false })
  })
})

describe.skipIf(isSkipped)('schema files with comments', () => {
  it('are applied if a comment ends in ; and after the last statement', async () => {
    await db.command('CREATE DATABASE planted ENGINE = Atomic')
    const planted = openClient({ database: 'planted' })
    const sql =
      '-- No index yet;\n-- until it is merged;\nCREATE TABLE a (b Int8) ENGINE = Memory;\n/* The end; */\n-- really;\n'
    expect(await applySchemas(planted, [{ name: '001-planted.sql', sql }])).toEqual(['001-planted.sql'])
    expect(await planted.rows('EXISTS TABLE a')).toEqual([[1]])
    await planted.close()
  })
})

/** Read that runs until the server ends it. */
const endless = (mark: number): string => `SELECT number FROM numbers(${mark}000000000)`

describe.skipIf(isSkipped)('statements and errors of the server', () => {
  /** Wait until no other statement contains the text. */
  const untilEnded = (text: string): Promise<readonly (readonly unknown[])[]> =>
    until(
      () => db.rows(`SELECT query_id FROM system.processes WHERE query LIKE '%${text}%' AND query NOT LIKE '%LIKE%'`),
      running => running.length === 0,
    )

  it('end a read whose client waits no longer, and an aborted export', async () => {
    const hasty = openClient({ requestTimeoutMs: 300 })
    await expect(hasty.rows(endless(7001))).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    await expect(hasty.blocks(endless(7001))).rejects.toMatchObject({ code: 'clickhouse_away', retriable: true })
    await hasty.close()
    await untilEnded('7001000')
    const stop = new AbortController()
    setTimeout(() => stop.abort(), 300)
    const path = join(folder, 'aborted.csv')
    await expect(db.writeFile(endless(7002), { path, format: 'csv' }, stop.signal)).rejects.toThrow()
    await untilEnded('7002000')
  })

  it.each([
    ['a wrong password', { password: 'other' }, 'SELECT 1', 'clickhouse_refused', 516],
    ['an unknown database', { database: 'missing' }, 'SELECT 1', 'clickhouse_refused', 81],
    [
      'a user that only reads',
      { user: 'reader', password: '' },
      'CREATE TABLE a (b Int8) ENGINE = Memory',
      'clickhouse_refused',
      164,
    ],
    ['a time limit', {}, 'SELECT sleep(1) SETTINGS max_execution_time=0.1', 'clickhouse_timeout', 159],
    ['a memory limit', {}, 'SELECT 1 SETTINGS max_memory_usage=1, max_untracked_memory=0', 'clickhouse_busy', 241],
    [
      'too many statements of a user',
      {},
      'SELECT sleep(0.1) SETTINGS max_concurrent_queries_for_user=1',
      'clickhouse_busy',
      202,
    ],
    ['too many parts', {}, 'INSERT INTO crowded VALUES (2)', 'clickhouse_busy', 252],
    ['replicated tables without a cluster', {}, 'SYSTEM SYNC REPLICA crowded LIGHTWEIGHT', 'clickhouse_refused', 36],
    [
      'an error after many rows',
      {},
      'SELECT throwIf(number = 3000000) FROM numbers(4000000)',
      'clickhouse_refused',
      395,
    ],
    [
      'an error that quotes another',
      {},
      "SELECT throwIf(1, 'Code: 241. DB::Exception: full (MEMORY_LIMIT_EXCEEDED)')",
      'clickhouse_refused',
      395,
    ],
  ] as const)('are classified by number: %s', async (_, options, sql, code, number) => {
    await db.command(
      'CREATE TABLE IF NOT EXISTS crowded (b Int8) ENGINE = MergeTree ORDER BY b SETTINGS parts_to_throw_insert=1',
    )
    if (number === 252) await db.command('INSERT INTO crowded VALUES (1)')
    const other = number === 202 ? db.rows('SELECT sleep(1)') : null
    const client = openClient(options)
    const called = sql.startsWith('SELECT') ? client.rows(sql) : client.command(sql)
    await expect(called).rejects.toMatchObject({ code, cause: { code: String(number) } })
    await other
    await client.close()
  })

  it('lets a user read that only reads', async () => {
    const reader = openClient({ user: 'reader', password: '' })
    expect(await reader.rows('SELECT 1')).toEqual([[1]])
    await reader.close()
  })
})

type ReceivedStatement = { readonly sql: string; readonly settings: URLSearchParams }

/**
 * Start a simulated server of a cluster. It records its requests and answers lines, or an error of the engine by
 * number.
 */
const openReplica = async (answer: { lines?: string; errorNumber?: number }) => {
  const statements: ReceivedStatement[] = []
  const server = await startLocalServer(async (request, response) => {
    const settings = new URL(request.url ?? '/', 'http://replica').searchParams
    const body = await buffer(request)
    statements.push({ sql: settings.get('query') ?? body.toString(), settings })
    if (answer.errorNumber === undefined) return void response.end(answer.lines ?? '')
    response.writeHead(500, { 'x-clickhouse-exception-code': `${answer.errorNumber}` })
    response.end(`Code: ${answer.errorNumber}. DB::Exception: it is so. (SOME_ERROR) (version 0)`)
  })
  const replicated = (isReplicated: boolean) =>
    openClickHouseHttp({ url: server.url, user: 'ledger', password: '', database: 'default', ca: null, isReplicated })
  return { statements, replicated, [Symbol.asyncDispose]: server[Symbol.asyncDispose] }
}

// Only a cluster can show the effect of these settings: the embedded engine has no replicated tables.
describe.skipIf(isSkipped)('a cluster', () => {
  it('requires a quorum of replicas for each insert, without delaying other inserts', async () => {
    await using replica = await openReplica({})
    const cluster = replica.replicated(true)
    await cluster.insert(meterCostBlock([costRow()]))
    await cluster.close()
    const settings = Object.fromEntries(replica.statements[0]?.settings ?? [])
    expect(settings).toMatchObject({ insert_quorum: 'auto', insert_quorum_parallel: '1' })
    // Sequential reads are refused if inserts are parallel.
    expect(settings).not.toHaveProperty('select_sequential_consistency')
    // The server gives up before the client's limit of 30 s.
    expect(Number(settings['insert_quorum_timeout'])).toBeLessThan(30_000)
  })

  it('synchronises each table with the other replicas; a server without replicas does nothing', async () => {
    await using replica = await openReplica({ lines: '["`meter_batches`"]\n["`meter_cost`"]\n' })
    const [cluster, single] = [replica.replicated(true), replica.replicated(false)]
    await single.catchUp()
    expect(replica.statements).toEqual([])
    await cluster.catchUp()
    expect(replica.statements.slice(1).map(({ sql }) => sql.trim())).toEqual(
      ['meter_batches', 'meter_cost'].map(table => `SYSTEM SYNC REPLICA \`${table}\` LIGHTWEIGHT`),
    )
    for (const one of [cluster, single]) await one.close()
    await db.catchUp()
  })

  it('lists the replicated tables with a valid statement', async () => {
    await using replica = await openReplica({})
    const cluster = replica.replicated(true)
    await cluster.catchUp()
    await cluster.close()
    const listing = (replica.statements[0]?.sql ?? '').replace(/FORMAT \w+\s*$/, '')
    expect(listing).toContain("'Replicated%MergeTree'")
    await applySchemas(db, schemaFiles())
    const tables = await db.rows(listing.replace("'Replicated%MergeTree'", "'%MergeTree'"))
    expect(tables).toContainEqual(['`meter_cost`'])
  })

  it.each([
    [285, 'TOO_FEW_LIVE_REPLICAS', 'clickhouse_away'],
    [286, 'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE', 'clickhouse_busy'],
    [289, 'REPLICA_IS_NOT_IN_QUORUM', 'clickhouse_away'],
    [319, 'UNKNOWN_STATUS_OF_INSERT', 'clickhouse_away'],
  ])('fails as retriable with error %i, %s', async (errorNumber, name, code) => {
    expect(await db.rows(`SELECT errorCodeToName(${errorNumber})`)).toEqual([[name]])
    await using replica = await openReplica({ errorNumber })
    const cluster = replica.replicated(true)
    await expect(cluster.rows('SELECT 1')).rejects.toMatchObject({ code, retriable: true })
    await expect(cluster.insert(meterCostBlock([costRow()]))).rejects.toMatchObject({ code, retriable: true })
    await cluster.close()
  })
})
