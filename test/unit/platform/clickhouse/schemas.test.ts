import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openChdb } from '../../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { encodeBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { textLiteral } from '../../../../services/platform/clickhouse/encoding/literals.ts'
import { eraseRows } from '../../../../services/platform/clickhouse/meter-cost/erase-rows.ts'
import { kindsOfLocations } from '../../../../services/platform/clickhouse/meter-cost/location-flows.ts'
import { pageOfRows } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { rowsInInterval } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import { receiptOfBatch } from '../../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { batchFailureColumns } from '../../../../services/platform/clickhouse/readings/receipts.ts'
import { applySchemas, schemaFiles, statementsOf } from '../../../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'

const tenant = { accountId: hexId('acc_', 1), liveMode: true }
const [home, other] = [hexId('loc_', 1), hexId('loc_', 2)]
const batchId = hexId('bat_', 1)
const start = 1_790_000_000_000
const hourMs = 3_600_000

const folders: string[] = []
const engines: ClickHouse[] = []
const open = (folder: string): ClickHouse => {
  const db = openChdb({ folder })
  engines.push(db)
  return db
}
afterEach(async () => {
  for (const db of engines.splice(0)) await db.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Create the tables as the release with `count` files did: its history table, and one entry per file. */
const makeOldTables = async (db: ClickHouse, files: number): Promise<void> => {
  await db.command(`CREATE TABLE IF NOT EXISTS schema_history
    (
        name String COMMENT 'of the file',
        hash String COMMENT 'SHA-256 of the file',
        tables String COMMENT 'JSON: SHA-256 of each table definition after it',
        applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
    )
    ENGINE = MergeTree
    ORDER BY name`)
  for (const { name, sql } of schemaFiles().slice(0, files)) {
    for (const statement of statementsOf(sql, false)) await db.command(statement)
    const tables = await db.rows(
      'SELECT name, create_table_query FROM system.tables WHERE database = currentDatabase() ORDER BY name',
    )
    const hashes = JSON.stringify(
      Object.fromEntries(tables.map(([table, text]) => [String(table), sha256(String(text))])),
    )
    await db.command(
      `INSERT INTO schema_history (name, hash, tables) VALUES (${[name, sha256(sql), hashes].map(textLiteral).join(', ')})`,
    )
  }
}

const rows = [
  costRow({ recordReferenceId: 'first' }),
  costRow({
    recordId: hexId('', 2),
    start: start + hourMs,
    deviceId: hexId('dev_', 1),
    sessionReferenceId: 'session-1',
  }),
  costRow({ recordId: hexId('', 3), start: start + 40 * 24 * hourMs, locationId: other, batchId: hexId('bat_', 2) }),
  // Replaced by a later version.
  costRow({ recordId: hexId('', 4), start: start + 2 * hourMs, pricingRevision: 8, version: 1n }),
  costRow({ recordId: hexId('', 4), start: start + 2 * hourMs, pricingRevision: 9, version: 5n, sourceVersion: 5n }),
]
const newest = rows.filter(({ pricingRevision }) => pricingRevision !== 8)

/** Write rows with the columns of that release. */
const fillOldTables = async (db: ClickHouse): Promise<void> => {
  for (const row of rows) await db.insert(meterCostBlock([row]))
  const key = `unhex('${hexId('', 1)}'), true, unhex('${hexId('', 1)}')`
  await db.command(`INSERT INTO meter_batches (account_id, live_mode, batch_id, records_submitted, records_accepted, received_at)
    VALUES (${key}, 5, 4, fromUnixTimestamp64Milli(${start}))`)
  await db.command(
    `INSERT INTO meter_batch_parts (account_id, live_mode, batch_id, chunk_id, records_handled) VALUES (${key}, 'chunk-1', 4)`,
  )
  for (const [number, error] of [
    [3, 'end_time must not be before start_time'],
    [5, `location ${home} has no zone`],
  ] as const) {
    await db.command(`INSERT INTO meter_batch_failures (account_id, live_mode, batch_id, record_number, found_later, record_reference_id, error)
      VALUES (${key}, ${number}, false, 'reading-${number}', ${textLiteral(error)})`)
  }
}

const byStart = <Row extends { readonly start: number }>(all: readonly Row[]): Row[] =>
  all.toSorted((a, b) => a.start - b.start)
const storedRows = async (db: ClickHouse) => {
  const span = { from: start - hourMs, to: start + 100 * 24 * hourMs }
  return byStart((await Array.fromAsync(rowsInInterval(db, tenant, { locationIds: [home, other] }, span))).flat())
}

const failures = [
  { recordNumber: 3, recordReferenceId: 'reading-3', error: 'end_time must not be before start_time' },
  { recordNumber: 5, recordReferenceId: 'reading-5', error: `location ${home} has no zone` },
]
const anything = {
  deviceIds: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: null,
  from: null,
  to: null,
}
const names = schemaFiles().map(({ name }) => name)

/** Create a folder with some schema files, fill it, and upgrade it. */
const upgrade = async (count: number): Promise<ClickHouse> => {
  const folder = mkdtempSync(join(tmpdir(), 'wattledger-upgrade-'))
  folders.push(folder)
  const old = open(folder)
  await makeOldTables(old, count)
  await fillOldTables(old)
  await old.close()
  const db = open(folder)
  expect(await applySchemas(db, schemaFiles())).toEqual(names.slice(count))
  expect(await applySchemas(db, schemaFiles())).toEqual([])
  return db
}

describe.each([3, 4, 5, 6])('a folder of a release with %i schema files', count => {
  it('is upgraded once, and all reads return the earlier rows', async () => {
    const db = await upgrade(count)
    expect(await storedRows(db)).toEqual(byStart(newest))
    expect(await receiptOfBatch(db, tenant, batchId)).toEqual({
      recordsSubmitted: 5,
      recordsAccepted: 4,
      recordsReplaced: 0,
      recordsProcessed: 4,
      receivedAt: start,
      failures,
      warnings: [],
    })
    const listed = await pageOfRows(
      db,
      tenant,
      { ...anything, locationIds: null, batchId },
      { after: null, isBack: false, limit: 10 },
    )
    const ofBatch = newest.filter(one => one.batchId === batchId)
    expect(listed.map(({ recordId }) => recordId)).toEqual(
      byStart(ofBatch)
        .toReversed()
        .map(one => one.recordId),
    )
    const flow = { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const
    expect([...(await kindsOfLocations(db, tenant, flow, [home, other]))]).toEqual([
      [home, { hasOwnRecords: true, hasDeviceRecords: true }],
      [other, { hasOwnRecords: true, hasDeviceRecords: false }],
    ])
  })
})

describe('a folder of a release with 5 schema files', () => {
  it('accepts new rows, and an erasure finds the texts of earlier failures', { timeout: 60_000 }, async () => {
    const db = await upgrade(5)
    const added = {
      ...tenant,
      batchId,
      recordNumber: 6,
      foundLater: false,
      recordReferenceId: 'reading-6',
      error: 'late',
      locationId: home,
      deviceId: null,
    }
    await db.insert({
      table: 'meter_batch_failures',
      columns: batchFailureColumns,
      bytes: encodeBlock(batchFailureColumns, [added]),
    })
    await db.insert(meterCostBlock([costRow({ recordId: hexId('', 9), start: start + 5 * hourMs, locationId: other })]))
    expect((await receiptOfBatch(db, tenant, batchId))?.failures.map(({ recordNumber }) => recordNumber)).toEqual([
      3, 5, 6,
    ])
    expect(await storedRows(db)).toHaveLength(newest.length + 1)
    await eraseRows(
      db,
      { ...tenant, locationIds: [home], deviceIds: [hexId('dev_', 1)], receiptsBefore: null },
      { keepDeviceLocations: false },
    )
    const left = (await receiptOfBatch(db, tenant, batchId))?.failures ?? []
    expect(left.map(({ recordNumber }) => recordNumber)).toEqual([3, 5, 6])
    expect(JSON.stringify(left)).not.toMatch(/reading-[56]|loc_/)
    expect(
      (await storedRows(db)).every(({ start: at }) => at === start + 40 * 24 * hourMs || at === start + 5 * hourMs),
    ).toBe(true)
  })
})
