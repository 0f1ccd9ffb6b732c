import { describe, expect, it } from 'vitest'
import { correctionFinder } from '../../../../../services/cost-worker/correction-finder.ts'
import { rowsOfObjects } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-ranges.ts'
import {
  blocksOfSession,
  locationsOfSession,
} from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { locationsOfDevices } from '../../../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { hexId } from '../../../../suites/cost-rows.ts'
import {
  all,
  costedTexts,
  db,
  decoded,
  insert,
  location,
  own,
  tenant,
  useMeterTables,
} from '../../../../suites/meter-tables.ts'

useMeterTables()

/** Records of one submission, each of its own device. The engine alone would parse 9,000 ids in a statement. */
const devices = 10_000
/** Devices that the finder of corrections reads in one statement. */
const devicesOfStatement = 8_000
const session = 'fleet'
const deviceOf = (number: number): string => hexId('dev_', number)

/** Store a row of a session for each device. */
const storeRows = async (count: number): Promise<readonly MeterCostRow[]> => {
  const rows = Array.from({ length: count }, (_, index) =>
    own({ deviceId: deviceOf(index + 1), recordId: hexId('', index + 1), sessionReferenceId: session }),
  )
  await insert(rows)
  return rows
}

const recordIds = (rows: readonly MeterCostRow[]): readonly string[] => rows.map(({ recordId }) => recordId).sort()

describe('a statement with the devices of a whole submission', () => {
  it('finds each of them', async () => {
    const rows = await storeRows(devices)
    const deviceIds = rows.map(({ deviceId }) => deviceId as string)
    expect(await locationsOfDevices(db, tenant, deviceIds)).toHaveLength(devices)
    const flow = { tenant, locationId: location, direction: 'IMPORT' } as const
    const { start, end } = rows[0] as MeterCostRow
    expect(recordIds(await all(rowsOfObjects(db, flow, deviceIds, { from: start, to: end })))).toEqual(recordIds(rows))
    const objects = await locationsOfSession(db, tenant, session)
    expect(costedTexts(await decoded(blocksOfSession(db, tenant, session, objects)))).toEqual(costedTexts(rows))
  })
})

describe('corrections of more devices than one statement reads', () => {
  it.each([devicesOfStatement, devicesOfStatement + 1])('are found for %i devices', async count => {
    const rows = await storeRows(count)
    const part = { ...tenant, batchId: hexId('bat_', 2), receivedAt: 1_790_000_000_001 }
    const entries = rows.map(row => ({
      record: { ...row, deviceId: row.deviceId, confidence: row.recordConfidence, energy: row.energy + 1n },
      part,
      origin: null,
      version: 2n,
      sourceVersion: 2n,
    }))
    const found = await correctionFinder(db).find(new Map([[location, entries]]), Promise.resolve())
    expect([...found.keys()].sort()).toEqual(recordIds(rows))
    expect([...found.values()].flat().every(({ before, after }) => after.energy === before.energy + 1n)).toBe(true)
  })
})
