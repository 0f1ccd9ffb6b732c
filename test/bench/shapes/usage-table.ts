import { column, encodeBlock } from '../../../services/platform/clickhouse/encoding/fast-path/native-block.ts'
import { decimal64, id, instant } from '../../../services/platform/clickhouse/encoding/fast-path/native-types.ts'
import type { SentRecord, ShapeName } from './settings.ts'

/** Stored record with its cost. Money is in 1e-9, energy in 1e-6 Wh. */
export type UsageRow = {
  readonly locationId: string
  readonly deviceId: string
  readonly start: number
  readonly end: number
  readonly energy: bigint
  readonly cost: bigint
}

const columns = [
  column<UsageRow, string>('location_id', id('loc_'), row => row.locationId),
  column<UsageRow, string>('device_id', id('dev_'), row => row.deviceId),
  column<UsageRow, number>('start_time', instant, row => row.start),
  column<UsageRow, number>('end_time', instant, row => row.end),
  column<UsageRow, bigint>('energy', decimal64('Decimal(18, 6)'), row => row.energy),
  column<UsageRow, bigint>('cost', decimal64('Decimal(18, 9)'), row => row.cost),
]

/**
 * True if the writer drops duplicates itself. Other shapes use a table in which rows of the same key replace each
 * other.
 */
const dropsDuplicates = (shape: ShapeName): boolean => shape === 'look-up writer'

/** Return the statement that creates the table of a shape. */
export const usageTable = (shape: ShapeName): string =>
  `CREATE TABLE usage (${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})
   ENGINE = ${dropsDuplicates(shape) ? 'MergeTree' : 'ReplacingMergeTree'}
   PARTITION BY toYYYYMM(start_time) ORDER BY (device_id, start_time)`

/** Return the query of the number of rows by device and start, for starts in [from, to). */
export const usageCounts = (shape: ShapeName, from: number, to: number): string =>
  `SELECT lower(hex(device_id)), toUnixTimestamp64Milli(start_time), count()
   FROM usage ${dropsDuplicates(shape) ? '' : 'FINAL'}
   WHERE start_time >= fromUnixTimestamp64Milli(${from}) AND start_time < fromUnixTimestamp64Milli(${to}) GROUP BY 1, 2`

/** Create the row of a record. `price` is in 1e-9 per kWh. */
export const usageRow = (sent: SentRecord, price: bigint): UsageRow => {
  const energy = BigInt(Math.round(sent.value * 1e6))
  const [start, end] = [Date.parse(sent.start_time), Date.parse(sent.end_time)]
  return {
    locationId: sent.location_id,
    deviceId: sent.device_id,
    start,
    end,
    energy,
    cost: (energy * price) / 1_000_000_000n,
  }
}

/** Insert rows, with settings of the statement. Throws if ClickHouse refuses the rows. */
export const insertUsage = async (
  engineUrl: string,
  rows: readonly UsageRow[],
  settings = 'max_insert_threads=1',
): Promise<void> => {
  const sql = `INSERT INTO usage (${columns.map(({ name }) => name).join(', ')}) SETTINGS ${settings} FORMAT Native`
  const answer = await fetch(`${engineUrl}/?query=${encodeURIComponent(sql)}`, {
    method: 'POST',
    body: encodeBlock(columns, rows),
  })
  if (answer.status !== 200) throw new Error(`ClickHouse refused ${rows.length} rows: ${await answer.text()}`)
  await answer.arrayBuffer()
}
