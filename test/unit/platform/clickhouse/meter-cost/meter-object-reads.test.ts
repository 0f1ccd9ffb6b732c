import { describe, expect, it } from 'vitest'
import { encodeBlock } from '../../../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { estimatedObjects } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-counts.ts'
import { pageOfRows } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-pages.ts'
import {
  blocksOfSession,
  locationsOfSession,
  rowOfRecord,
  rowsInInterval,
} from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import {
  intervalOfLocation,
  lastSeenOfDevices,
  locationIdsOfDevice,
  locationsOfDevices,
  objectsOfLocations,
  receiptOfBatch,
} from '../../../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import {
  batchColumns,
  batchFailureColumns,
  batchPartColumns,
} from '../../../../../services/platform/clickhouse/readings/receipts.ts'
import { hexId } from '../../../../suites/cost-rows.ts'
import {
  all,
  anything,
  base,
  costedTexts,
  dayMs,
  db,
  decoded,
  firstPage,
  hourMs,
  insert,
  location,
  nextTenant,
  other,
  own,
  recordStatements,
  tenant,
  useMeterTables,
} from '../../../../suites/meter-tables.ts'

useMeterTables()

describe('sessions, references and objects', () => {
  it('find the rows of a session at all locations and devices', async () => {
    const session = "it's \\ a 'session' ✓"
    const ofSession = [
      own({ recordId: hexId('', 1), sessionReferenceId: session }),
      own({
        recordId: hexId('', 2),
        sessionReferenceId: session,
        locationId: other,
        deviceId: hexId('dev_', 1),
        start: base + 90 * dayMs,
      }),
    ]
    await insert([
      ...ofSession,
      own({ recordId: hexId('', 3), sessionReferenceId: 'another' }),
      own({ recordId: hexId('', 4) }),
    ])
    const sessionObjects = await locationsOfSession(db, tenant, session)
    expect(sessionObjects.map(({ locationId, deviceId }) => [locationId, deviceId])).toEqual([
      [location, null],
      [other, hexId('dev_', 1)],
    ])
    expect(costedTexts(await decoded(blocksOfSession(db, tenant, session, sessionObjects)))).toEqual(
      costedTexts(ofSession),
    )
    expect(await locationsOfSession(db, tenant, 'unknown')).toEqual([])
  })

  it('have one interval for each object of a session, however often its rows arrive', async () => {
    const session = 'arrives-in-parts'
    for (const day of [3, 1, 2])
      await insert([
        own({ recordId: hexId('', day), sessionReferenceId: session, start: base + day * dayMs }),
        own({ recordId: hexId('', 9), sessionReferenceId: session, start: base, version: BigInt(day) }),
      ])
    const [object, ...others] = await locationsOfSession(db, tenant, session)
    expect(others).toEqual([])
    expect(object).toMatchObject({ locationId: location, deviceId: null, from: base })
    expect(object?.to).toBeGreaterThan(base + 3 * dayMs)
  })

  it('find rows by references, newest first, in pages in both directions', async () => {
    const made = [1, 2, 3, 4, 5].map(n =>
      own({ recordId: hexId('', n), start: base + (n >> 1) * dayMs, recordReferenceId: n === 5 ? 'other' : 'mine' }),
    )
    await insert(made)
    const mine = { ...anything, recordReferenceId: 'mine' }
    const page = async (after: MeterCostRow | null, isBack: boolean): Promise<readonly number[]> =>
      (await pageOfRows(db, tenant, mine, { after, isBack, limit: 2 })).map(row => Number(`0x${row.recordId}`))
    const byNumber = (n: number): MeterCostRow => made[n - 1] ?? own({})
    expect(await page(null, false)).toEqual([4, 3])
    expect(await page(byNumber(3), false)).toEqual([2, 1])
    expect(await page(byNumber(1), true)).toEqual([2, 3])
    expect(
      await pageOfRows(db, tenant, { ...anything, from: base + dayMs, to: base + 2 * dayMs }, firstPage),
    ).toHaveLength(2)
  })

  it('return objects, locations, intervals, last arrival of a device, and objects with estimates', async () => {
    const device = hexId('dev_', 7)
    await insert([
      own({ recordId: hexId('', 1), deviceId: device, start: base, receivedAt: base + 5 }),
      own({
        recordId: hexId('', 2),
        deviceId: device,
        start: base + dayMs,
        receivedAt: base + 3,
        recordConfidence: 999_999,
      }),
      own({ recordId: hexId('', 3), deviceId: device, locationId: other, start: base - dayMs, receivedAt: base + 4 }),
    ])
    await insert([own({ recordId: hexId('', 4), start: base + 2 * dayMs, receivedAt: base + 1 })])
    expect(await lastSeenOfDevices(db, tenant, [device, hexId('dev_', 8)])).toEqual(new Map([[device, base + 5]]))
    expect((await locationsOfDevices(db, tenant, [device])).map(index => index.locationId)).toEqual([location, other])
    expect([...(await locationIdsOfDevice(db, tenant, device))].sort()).toEqual([location, other])
    expect((await objectsOfLocations(db, tenant, [location])).map(index => index.deviceId)).toEqual([null, device])
    expect(await intervalOfLocation(db, tenant, location)).toEqual({ from: base, to: base + 2 * dayMs + hourMs })
    expect(await intervalOfLocation(db, tenant, hexId('loc_', 9))).toBeNull()
    const estimates = await estimatedObjects(db)
    expect(estimates.filter(({ deviceId }) => deviceId === device)).toEqual([
      { locationId: location, deviceId: device },
    ])
  })
})

describe('receipts', () => {
  it('count handled records less late failures, and do not change under repeats', async () => {
    const batch = { ...tenant, batchId: hexId('bat_', 5) }
    expect(await receiptOfBatch(db, tenant, batch.batchId)).toBeNull()
    const warnings = [
      { code: 'implausible_energy', records: 101, recordNumbers: [1, 3] },
      { code: 'overlapping_records', records: 2, recordNumbers: [] },
    ] as const
    const header = { ...batch, recordsSubmitted: 10, recordsAccepted: 9, receivedAt: base, warnings }
    const parts = [3, 5].map((recordsHandled, i) => ({ ...batch, chunkId: `chunk ${i}`, recordsHandled }))
    const noObject = { locationId: null, deviceId: null }
    const failures = [
      {
        ...batch,
        recordNumber: 4,
        foundLater: false,
        recordReferenceId: 'r',
        error: 'end_time must not be before start_time',
        ...noObject,
      },
      { ...batch, recordNumber: 2, foundLater: true, recordReferenceId: null, error: 'falls', ...noObject },
    ]
    for (let i = 0; i < 3; i += 1) {
      await db.insert({ table: 'meter_batches', columns: batchColumns, bytes: encodeBlock(batchColumns, [header]) })
      await db.insert({
        table: 'meter_batch_parts',
        columns: batchPartColumns,
        bytes: encodeBlock(batchPartColumns, parts),
      })
      await db.insert({
        table: 'meter_batch_failures',
        columns: batchFailureColumns,
        bytes: encodeBlock(batchFailureColumns, failures),
      })
    }
    expect(await receiptOfBatch(db, tenant, batch.batchId)).toEqual({
      recordsSubmitted: 10,
      recordsAccepted: 9,
      recordsReplaced: 0,
      recordsProcessed: 7,
      receivedAt: base,
      failures: [
        { recordNumber: 2, recordReferenceId: null, error: 'falls' },
        { recordNumber: 4, recordReferenceId: 'r', error: 'end_time must not be before start_time' },
      ],
      warnings,
    })
    expect(await receiptOfBatch(db, nextTenant(), batch.batchId)).toBeNull()
  })
})

describe('statements over cost rows', () => {
  it('read a location’s day by the primary key', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) =>
      own({ recordId: hexId('', i), locationId: hexId('loc_', i >> 4), start: base + (i & 15) * hourMs }),
    )
    await insert(rows)
    const { recording, statements } = recordStatements()
    await all(
      rowsInInterval(recording, tenant, { locationIds: [hexId('loc_', 700)] }, { from: base, to: base + dayMs }),
    )
    const plan = (await db.rows(`EXPLAIN indexes = 1 ${statements[0]}`)).map(line => String(line[0])).join('\n')
    const granules = [...plan.matchAll(/Granules: (\d+)\/(\d+)/g)].map(match => [Number(match[1]), Number(match[2])])
    expect(plan).toContain('toDate(start_time)')
    expect(Math.min(...granules.map(([read = 0]) => read))).toBeLessThanOrEqual(2)
  })

  it('find one record among many months in the parts with its id', async () => {
    const months = Array.from({ length: 24 }, (_, month) => Date.UTC(2024, month, 2))
    for (const [month, start] of months.entries()) {
      await insert(
        Array.from({ length: 50 }, (_, i) => own({ recordId: hexId('', month * 50 + i), start: start + i * hourMs })),
      )
    }
    await insert([own({ recordId: hexId('', 205), start: (months[4] ?? 0) + 5 * hourMs, version: 2n, energy: 7n })])
    const { recording, statements } = recordStatements()
    expect(await rowOfRecord(recording, tenant, hexId('', 205))).toMatchObject({ version: 2n, energy: 7n })
    const plan = (await db.rows(`EXPLAIN indexes = 1 ${statements[0]}`)).map(line => String(line[0])).join('\n')
    const read = [...plan.matchAll(/Parts: (\d+)\/(\d+)/g)].map(match => Number(match[1]))
    expect(Math.max(...read)).toBeGreaterThanOrEqual(24)
    expect(read.at(-1)).toBeLessThanOrEqual(4)
  })
})
