import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sql, { raw } from 'sql-template-tag'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { dispatchErasures } from '../../../services/background/erasure-relay.ts'
import { createEraser, type LostEnergy } from '../../../services/cost-worker/erase.ts'
import { encodeBlock } from '../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { idLiteral } from '../../../services/platform/clickhouse/encoding/literals.ts'
import { eraseRows } from '../../../services/platform/clickhouse/meter-cost/erase-rows.ts'
import { batchColumns, batchFailureColumns } from '../../../services/platform/clickhouse/readings/receipts.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { batchIds } from '../../../services/platform/ids/batch-id.ts'
import { referencePlaceholderId } from '../../../services/platform/ids/new-id.ts'
import { openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import type { StoredRowRequest } from '../../../services/platform/log/messages.ts'
import { readAudit } from '../../../services/platform/postgres/registry/audit-log.ts'
import { findErasure, loadErasures } from '../../../services/platform/postgres/registry/erasures.ts'
import { type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { hexId } from '../../suites/cost-rows.ts'
import { db, insert, own as ownRow, useMeterTables } from '../../suites/meter-tables.ts'
import { createErasureFixture } from '../../support/registry/erasure-fixture.ts'
import { makeTenants, makeTestFolder, openTestDatabase } from '../../support/stores/postgres.ts'
import { runCommand } from '../../support/system/run-command.ts'

const dayMs = 86_400_000
const { database, address, ...opened } = await openTestDatabase()
const folder = makeTestFolder()
const logFolder = mkdtempSync(join(tmpdir(), 'wattledger-erasure-'))
const log = await openLmdbLog({ folder: logFolder, now: currentInstant, topics: { [recordTopic]: { partitions: 3 } } })
const codec = await openCodec(localSchemaIds())
const url = `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`
useMeterTables()

afterAll(async () => {
  await log.close()
  await opened[Symbol.asyncDispose]()
  for (const path of [folder, logFolder]) rmSync(path, { recursive: true })
})

let tenant: Tenant
let fixture: { readonly customer: string; readonly home: string; readonly other: string; readonly device: string }

const erase = (objectId: string, ...args: readonly string[]) => {
  const named = args.length > 0 ? args : ['--account', tenant.accountId, '--mode', 'live']
  return runCommand(['erase', objectId, ...named], { WATTLEDGER_DATA_DIR: folder, WATTLEDGER_POSTGRES_URL: url })
}

const erased = async (objectId: string): Promise<void> => expect(await erase(objectId)).toMatchObject({ code: 0 })

const metered = (locationId: string, deviceId: string | null, number: number, more: object = {}) =>
  ownRow({
    ...tenant,
    locationId,
    deviceId,
    recordId: hexId('', number),
    sessionReferenceId: `session ${number}`,
    ...more,
  })

const start = Date.UTC(2026, 8, 1)

beforeEach(async () => {
  tenant = (await makeTenants(database)).live
  fixture = await createErasureFixture(database, tenant)
  const { home, other, device } = fixture
  await insert([
    metered(home, null, 1, { start, end: start + 3 * dayMs, recordConfidence: 500_000 }),
    metered(home, device, 2, { start: start + dayMs }),
    metered(other, null, 3, { start }),
    metered(other, device, 4, { start: start + 40 * dayMs }),
  ])
})

const idsIn = async (table: string): Promise<readonly unknown[]> => {
  const { rows } = await database.operator<{ id: string }>(sql`
    select id from ${raw(table)} where account_id = ${tenant.accountId} order by id`)
  return rows.map(({ id }) => id)
}

/** Owners of the rows in some ClickHouse tables, by the last digits of location and device. */
const rowsOf = async (table: string, of: { readonly location?: string; readonly device?: string }) => {
  const conditions = Object.entries(of).map(([kind, id]) => `${kind}_id = unhex('${id.slice(4)}')`)
  const [row] = await db.rows(
    `SELECT toUInt32(count()) FROM ${table} WHERE account_id = unhex('${tenant.accountId.slice(4)}') AND ${conditions.join(' AND ')}`,
  )
  return row?.[0]
}

const requestFor = (objectId: string): StoredRowRequest => ({
  kind: 'order',
  orderId: 'order',
  orderKind: 'ERASE',
  ...tenant,
  objectId,
  locationIds: [],
  detail: '',
  locationRevision: null,
  sourceId: null,
  priceRevision: null,
  from: null,
  to: null,
})

const workerErases = async (
  objectId: string,
  costAgain: (lost: readonly LostEnergy[]) => Promise<void> = async () => undefined,
) => {
  const eraser = createEraser({ database, clickHouse: db, requestRecosts: costAgain })
  await eraser.loadRequested([requestFor(objectId)])
  await eraser.erase([requestFor(objectId), requestFor(objectId)])
  return eraser
}

describe('the command', () => {
  it('erases a customer with its locations in PostgreSQL, and nothing else', async () => {
    const { customer, home, other, device } = fixture
    await erased(customer)
    expect(await idsIn('customers')).toEqual([])
    expect(await idsIn('devices')).toEqual([device])
    expect(await idsIn('tariffs')).toHaveLength(1)
    const { rows } = await database.operator(sql`
      select id, reference_id, customer_id, postal_address, latitude, deleted_at is null as lives from locations
      where account_id = ${tenant.accountId} order by id`)
    expect(rows).toMatchObject([
      { id: home, reference_id: null, customer_id: null, postal_address: null, latitude: null, lives: false },
      { id: other, reference_id: 'other', lives: true },
    ])
    const events = await database.operator<{ object_id: string }>(sql`
      select distinct object_id from events where account_id = ${tenant.accountId} order by object_id`)
    expect(events.rows.map(row => row.object_id).toSorted()).toEqual([other, device].toSorted())
    const [entry] = await withTenant(database, tenant, transaction => readAudit(transaction, 1))
    expect(entry).toMatchObject({
      actor: 'operator',
      action: 'customer.erase',
      objectId: customer,
      detail: { locations: 1, devices: 0 },
    })
    const locationIds = [home, referencePlaceholderId(tenant, 'location', 'home')].toSorted()
    expect(await findErasure(database.operator, tenant, customer)).toMatchObject({ locationIds, deviceIds: [] })
  })

  it('can be repeated, and refuses unknown objects', async () => {
    await erased(fixture.customer)
    const before = await findErasure(database.operator, tenant, fixture.customer)
    await erased(fixture.customer)
    expect(await findErasure(database.operator, tenant, fixture.customer)).toMatchObject({
      locationIds: before?.locationIds,
      otherIds: before?.otherIds,
    })
    expect(await erase(hexId('loc_', 9))).toMatchObject({ code: 1, err: expect.stringContaining('has no location') })
    expect(await erase(fixture.home, '--account', tenant.accountId, '--mode', 'test')).toMatchObject({ code: 1 })
    expect(await erase('trf_1')).toMatchObject({ code: 2 })
    expect(await erase(hexId('acc_', 9))).toMatchObject({ code: 2 })
  })
})

describe('the relay', () => {
  const options = (at: number) => ({
    database,
    log,
    codec,
    generation: () => 2,
    logger: { info: () => undefined, warn: () => undefined },
    at: () => at,
  })

  it('sends the erasure to every partition at once and each day, and removes the location at the end', async () => {
    await erased(fixture.home)
    const mark = await findErasure(database.operator, tenant, fixture.home)
    const ends = () =>
      Promise.all(
        [0, 1, 2].map(async lane => (await log.peek(recordTopic, lane, 0, { maxMessages: 1, maxBytes: 1 })).end),
      )
    const dispatchAll = async (at: number) => {
      while ((await dispatchErasures(options(at))) > 0);
    }
    await dispatchAll(currentInstant())
    const dispatched = await ends()
    const { messages } = await log.peek(recordTopic, 1, (dispatched[1] ?? 0) - 1, {
      maxMessages: 1,
      maxBytes: 1_000_000,
    })
    expect(await codec.decodeMeterMessage(messages[0]?.value ?? Buffer.alloc(0))).toMatchObject({
      orderKind: 'ERASE',
      ...tenant,
    })
    await dispatchAll(currentInstant() + dayMs / 2)
    expect(await ends()).toEqual(dispatched)
    await dispatchAll(currentInstant() + dayMs + 1_000)
    for (const [lane, end] of (await ends()).entries()) expect(end).toBeGreaterThan(dispatched[lane] ?? 0)
    expect(await idsIn('locations')).toContain(fixture.home)
    await dispatchAll((mark?.until ?? 0) + 1_000)
    expect(await idsIn('locations')).toEqual([fixture.other])
    expect((await loadErasures(database.operator)).filter(({ accountId }) => accountId === tenant.accountId)).toEqual(
      [],
    )
  })
})

describe('the worker', () => {
  it('deletes all rows of a location from every table, and no other rows', async () => {
    await erased(fixture.home)
    const helpers = ['meter_cost', 'meter_sessions', 'meter_device_locations']
    for (const table of [...helpers, 'meter_estimates', 'meter_long_rows'])
      expect(await rowsOf(table, { location: fixture.home }), table).not.toBe(0)
    await workerErases(fixture.home)
    for (const [table] of await db.rows(
      "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'location_id'",
    )) {
      expect(await rowsOf(String(table), { location: fixture.home }), String(table)).toBe(0)
    }
    for (const table of helpers) expect(await rowsOf(table, { location: fixture.other }), table).toBe(2)
    await workerErases(fixture.home)
  })

  it('recosts locations that lose the energy of a device, also after a crash in between', async () => {
    await erased(fixture.device)
    const recostRequests: LostEnergy[] = []
    const crash = workerErases(fixture.device, () => Promise.reject(new Error('killed')))
    await expect(crash).rejects.toThrow('killed')
    expect(await rowsOf('meter_cost', { device: fixture.device })).toBe(0)
    await workerErases(fixture.device, async lost => void recostRequests.push(...lost))
    const at = start + 40 * dayMs
    expect(recostRequests.find(({ locationId }) => locationId === fixture.other)).toEqual({
      ...tenant,
      locationId: fixture.other,
      from: at,
      to: at + 3_600_000 + 32 * dayMs,
    })
    expect(recostRequests).toHaveLength(2)
    expect(await rowsOf('meter_device_locations', { device: fixture.device })).toBe(0)
    expect(await rowsOf('meter_cost', { location: fixture.home })).toBe(1)
  })

  it('stores nothing of erased objects after it has loaded the marks', async () => {
    await erased(fixture.customer)
    await erased(fixture.device)
    const eraser = createEraser({ database, clickHouse: db, requestRecosts: async () => undefined })
    const entry = (locationId: string, deviceId: string | null) => ({
      record: { ...metered(locationId, deviceId, 9), confidence: 1_000_000 },
      part: { ...tenant, batchId: null, receivedAt: 0 },
      version: 1n,
      sourceVersion: 1n,
      origin: null,
    })
    const stays = entry(fixture.other, null)
    const records = new Map([
      [fixture.home, [entry(fixture.home, null)]],
      [fixture.other, [entry(fixture.other, fixture.device), stays]],
    ])
    expect(eraser.withoutErasedRecords(records)).toBe(records)
    await eraser.loadAll()
    expect(eraser.withoutErasedRecords(records)).toEqual(new Map([[fixture.other, [stays]]]))
    const rows = [
      metered(fixture.home, null, 9),
      metered(fixture.other, null, 10),
      metered(fixture.other, fixture.device, 11),
    ]
    expect(eraser.withoutErasedRows(rows)).toEqual([rows[1]])
  })

  it('redacts earlier failures without an object, by the stored records of their batch', async () => {
    const batchId = batchIds('a secret of the installation').create(tenant, currentInstant() + 2 * dayMs)
    const failure = { foundLater: false, error: 'value must be a number', locationId: null, deviceId: null }
    const failures = [
      { ...tenant, batchId, ...failure, recordNumber: 1, recordReferenceId: 'of before' },
      { ...tenant, batchId, ...failure, recordNumber: 2, recordReferenceId: 'of another', locationId: fixture.other },
    ]
    await db.insert({
      table: 'meter_batch_failures',
      columns: batchFailureColumns,
      bytes: encodeBlock(batchFailureColumns, failures),
    })
    await insert([metered(fixture.home, null, 12, { batchId })])
    await eraseRows(
      db,
      { ...tenant, locationIds: [fixture.home], deviceIds: [], receiptsBefore: null },
      { keepDeviceLocations: false },
    )
    const found = await db.rows(
      `SELECT record_number, record_reference_id, error FROM meter_batch_failures FINAL WHERE batch_id = ${idLiteral(batchId)} ORDER BY record_number`,
    )
    expect(found).toEqual([
      [1, '', 'erased'],
      [2, 'of another', 'value must be a number'],
    ])
  })

  it('deletes a whole account with its earlier receipts, and redacts its names in later ones', async () => {
    const ids = batchIds('a secret of the installation')
    const [before, after] = [currentInstant() - dayMs, currentInstant() + dayMs].map(at => ids.create(tenant, at)) as [
      string,
      string,
    ]
    const counts = { recordsSubmitted: 1, recordsAccepted: 1, receivedAt: start }
    const failure = {
      recordNumber: 1,
      foundLater: true,
      recordReferenceId: 'reading',
      error: `${fixture.home} is not in the registry`,
    }
    const batches = [before, after].map(batchId => ({ ...tenant, batchId, ...counts }))
    const failures = [before, after].map(batchId => ({
      ...tenant,
      batchId,
      ...failure,
      locationId: null,
      deviceId: null,
    }))
    await db.insert({ table: 'meter_batches', columns: batchColumns, bytes: encodeBlock(batchColumns, batches) })
    await db.insert({
      table: 'meter_batch_failures',
      columns: batchFailureColumns,
      bytes: encodeBlock(batchFailureColumns, failures),
    })
    await erased(tenant.accountId)
    await workerErases(tenant.accountId)
    for (const table of ['customers', 'devices', 'tariffs']) expect(await idsIn(table), table).toEqual([])
    const mine = `account_id = unhex('${tenant.accountId.slice(4)}')`
    expect(await db.rows(`SELECT toUInt32(count()) FROM meter_cost WHERE ${mine}`)).toEqual([[0]])
    expect(await db.rows(`SELECT lower(hex(batch_id)) FROM meter_batches WHERE ${mine}`)).toEqual([[after.slice(4)]])
    expect(
      await db.rows(`SELECT lower(hex(batch_id)), error, record_reference_id FROM meter_batch_failures WHERE ${mine}`),
    ).toEqual([[after.slice(4), 'erased', '']])
  })
})
