import { join } from 'node:path'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openClickHouseHttp } from '../../../../services/platform/clickhouse/clickhouse-http.ts'
import { applySchemas, schemaFiles } from '../../../../services/platform/clickhouse/schemas.ts'
import { currentInstant } from '../../../../services/platform/clock.ts'
import type { Loop } from '../../../../services/platform/jobs/loop.ts'
import { openLmdbLog } from '../../../../services/platform/log/lmdb/lmdb-log.ts'
import { recordTopic } from '../../../../services/platform/log/log.ts'
import { createExport } from '../../../../services/platform/postgres/exports/exports.ts'
import { withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { openExportFolder } from '../../../../services/query-service/exports/export-folder.ts'
import { type ExportWorkDependencies, startExportWork } from '../../../../services/query-service/exports/export-work.ts'
import type { EngineFault } from '../../../support/stores/clickhouse-proxy.ts'
import { type ClickHouseServer, openClickHouseServer } from '../../../support/stores/clickhouse-server.ts'
import { makeTenants, makeTestFolder, openTestDatabase, type TestDatabase } from '../../../support/stores/postgres.ts'
import { until } from '../../../support/system/until.ts'

const stack = new AsyncDisposableStack()
let server: ClickHouseServer
let store: TestDatabase
let work: Loop
const warnings: string[] = []

beforeAll(async () => {
  const folder = makeTestFolder()
  store = stack.use(await openTestDatabase())
  server = stack.use(await openClickHouseServer())
  const access = { user: 'default', password: '', database: 'default', ca: null, isReplicated: false }
  const clickHouse = stack.adopt(openClickHouseHttp({ url: server.url, ...access }), db => db.close())
  await applySchemas(clickHouse, schemaFiles())
  const topics = { [recordTopic]: { partitions: 1 } }
  const log = stack.adopt(await openLmdbLog({ folder: join(folder, 'log'), now: currentInstant, topics }), one =>
    one.close(),
  )
  // An export of records uses no other store and no operation.
  const dependencies: Pick<ExportWorkDependencies, 'database' | 'clickHouse' | 'log' | 'logger' | 'folder' | 'at'> = {
    database: store.database,
    clickHouse,
    log,
    at: currentInstant,
    folder: openExportFolder(join(folder, 'files')),
    logger: { warn: (_: object, text?: string) => void warnings.push(text ?? '') } as ExportWorkDependencies['logger'],
  }
  work = stack.use(startExportWork(dependencies as ExportWorkDependencies))
})
afterAll(() => stack.disposeAsync())

it('an export fails after five attempts; a failure that its size cannot cause is no attempt', async () => {
  const { test } = await makeTenants(store.database)
  const id = `exp_${'7'.repeat(24)}`
  const span = { start_time: { at: 0, offset: 0 }, end_time: { at: 1, offset: 0 } }
  const request = JSON.stringify({ kind: 'records', format: 'csv', ...span })
  const limits = { unfinished: 2, bytes: 1, retentionMs: 1_000 }
  const { operator } = store.database
  const stored = async () => {
    const { rows } = await operator<{ status: string; attempts: number; refusal: string | null }>(
      sql`select status, attempts, refusal::text as refusal from exports where id = ${id}`,
    )
    return rows[0]
  }
  /** Let the work try the export once with a fault of the engine. Return the export afterwards. */
  const tryWith = async (fault: EngineFault) => {
    server.proxy.fault = fault
    const before = warnings.length
    await operator(sql`update exports set due_at = clock_timestamp() where id = ${id}`)
    work.wake()
    await until(
      async () => warnings.length,
      count => count > before,
    )
    return until(stored, one => one?.status !== 'RUNNING')
  }
  server.proxy.fault = 'reset'
  await withTenant(store.database, test, transaction =>
    createExport(transaction, { id, request, actor: 'key_1' }, limits, currentInstant()),
  )
  expect(await tryWith('reset')).toMatchObject({ status: 'PENDING', attempts: 0 })
  for (const attempts of [1, 2, 3, 4, 5]) expect(await tryWith('refuse')).toMatchObject({ status: 'PENDING', attempts })
  expect(new Set(warnings)).toEqual(new Set(['Work failed, retrying']))
  await operator(sql`update exports set due_at = clock_timestamp() where id = ${id}`)
  work.wake()
  const failed = await until(stored, one => one?.status === 'FAILED')
  expect(failed?.refusal).toContain('Create the export again')
})
