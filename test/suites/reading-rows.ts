import { encodeBlock } from '../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import {
  type MeterReadingRow,
  meterReadingColumns,
  type Register,
} from '../../services/platform/clickhouse/readings/meter-readings.ts'
import { hexId } from './cost-rows.ts'
import { base, db, location, tenant } from './meter-tables.ts'

/** Store readings in the table of the test file. */
export const insertReadings = (rows: readonly MeterReadingRow[]): Promise<void> =>
  db.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes: encodeBlock(meterReadingColumns, rows) })

/** Create a register of the test's account. */
export const registerOf = (change: Partial<Register> = {}): Register => ({
  ...tenant,
  locationId: location,
  deviceId: null,
  energyFlowDirection: 'INBOUND',
  tariffDirection: 'IMPORT',
  ...change,
})

/** Create a reading of a register. */
export const readingOf = (time: number, change: Partial<MeterReadingRow> = {}): MeterReadingRow => ({
  ...registerOf(),
  time,
  isRestart: false,
  value: BigInt(time),
  isDoubtful: false,
  recordId: hexId('', time),
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: hexId('bat_', 1),
  recordNumber: 1,
  version: 1n,
  sourceVersion: 1n,
  receivedAt: base,
  ...change,
})
