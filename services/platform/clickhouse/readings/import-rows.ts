import type { MeterRecord } from '../../../domain/record/record.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { type BlockReader, decodeBlocks, readColumns, valueAt } from '../encoding/fast-path/native-block.ts'
import { decimal128 } from '../encoding/fast-path/native-types.ts'
import { idLiteral, instantLiteral, wholeLiteral } from '../encoding/literals.ts'
import {
  lookUpSettings,
  meterCost,
  meterCostVersions,
  type QueryInterval,
  readSettings,
  type Tenant,
} from '../meter-cost/meter-cost-reads.ts'
import { rowTypes } from '../meter-cost/meter-cost-rows.ts'
import type { EarlierState, ReplacedKey } from './earlier-values.ts'
import { batchesOfImports, type UndoneImports } from './import-batches.ts'
import { meterReadings, readSettings as readingSettings } from './meter-readings.ts'

/**
 * Record or register reading whose stored value an import sent, or an import that was undone. `start`: start of the record,
 * or time of the reading. `isOfImport`: the value is of the import that is being undone.
 */
export type ImportedRow = Pick<
  MeterRecord,
  'locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end'
> & {
  readonly recordId: string
  readonly isRestart: boolean
  readonly state: EarlierState
  readonly isOfImport: boolean
}

/** Place after which a page begins, in the order of location, start, id and kind of reading. */
export type RowPlace = ReplacedKey

export type ImportedPage = {
  readonly interval: QueryInterval
  readonly after: RowPlace | null
  readonly limit: number
}

/** Table with the rows of an import: its column of time, and the columns that differ. */
type RowTable = {
  readonly timeColumn: string
  readonly from: (tenant: Tenant, condition: string) => string
  readonly versionsFrom: (tenant: Tenant, condition: string) => string
  readonly end: string
  readonly isRestart: string
  readonly value: string
  readonly isWithdrawn: string
  readonly confidence: string
  readonly settings: string
}

const tables = {
  records: {
    timeColumn: 'start_time',
    from: meterCost,
    versionsFrom: meterCostVersions,
    end: 'end_time',
    isRestart: 'false',
    value: 'ifNull(energy_submitted, energy)',
    isWithdrawn: 'false',
    confidence: 'record_confidence',
    settings: readSettings,
  },
  readings: {
    timeColumn: 'time',
    from: meterReadings,
    versionsFrom: meterReadings,
    end: 'time',
    isRestart: 'is_restart',
    value: 'value',
    isWithdrawn: 'is_withdrawn',
    confidence: 'toUInt32(0)',
    settings: readingSettings,
  },
} as const satisfies Record<string, RowTable>

/** Kinds of rows of an import, in the order of an undo. */
export type ImportedKind = keyof typeof tables
export const importedKinds: readonly ImportedKind[] = ['records', 'readings']

const rowColumns = {
  location_id: rowTypes.location,
  device_id: rowTypes.device,
  energy_flow_direction: rowTypes.flow,
  tariff_direction: rowTypes.direction,
  row_start: rowTypes.instant,
  row_end: rowTypes.instant,
  record_id: rowTypes.bareId,
  restart: rowTypes.bool,
  state_value: decimal128('Decimal(19, 6)'),
  withdrawn: rowTypes.bool,
  state_confidence: rowTypes.uint32,
  session_reference_id: rowTypes.optionalText,
  record_reference_id: rowTypes.optionalText,
  is_of_import: rowTypes.bool,
} as const

const readRows = (from: BlockReader, count: number): readonly ImportedRow[] => {
  const columns = readColumns(from, rowColumns, count)
  return columns.location_id.map((locationId, i) => ({
    locationId,
    deviceId: valueAt(columns.device_id, i),
    energyFlowDirection: valueAt(columns.energy_flow_direction, i),
    tariffDirection: valueAt(columns.tariff_direction, i),
    start: valueAt(columns.row_start, i),
    end: valueAt(columns.row_end, i),
    recordId: valueAt(columns.record_id, i),
    isRestart: valueAt(columns.restart, i),
    state: {
      value: valueAt(columns.withdrawn, i) ? null : valueAt(columns.state_value, i),
      confidence: valueAt(columns.state_confidence, i),
      sessionReferenceId: valueAt(columns.session_reference_id, i),
      recordReferenceId: valueAt(columns.record_reference_id, i),
    },
    isOfImport: valueAt(columns.is_of_import, i),
  }))
}

/** Return the start of the first row of imports at or after an instant; null if there is none. Other rows may be earlier. */
export const nextImportedStart = async (
  db: ClickHouse,
  tenant: Tenant,
  kind: ImportedKind,
  imports: UndoneImports,
  from: number,
): Promise<number | null> => {
  const { timeColumn, versionsFrom } = tables[kind]
  const condition = `${timeColumn} >= ${instantLiteral(from)} AND batch_id IN ${batchesOfImports(tenant, imports.all)}`
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(minOrNull(${timeColumn})) ${versionsFrom(tenant, condition)} ${lookUpSettings}`,
    tenant,
  )
  const start = row?.[0] ?? null
  return start === null ? null : Number(start)
}

/**
 * Read a page of the rows of imports that start in an interval, ordered by location, start, id and kind of reading. Of
 * `records`, the intervals of registers are included.
 */
export const importedRows = async (
  db: ClickHouse,
  tenant: Tenant,
  kind: ImportedKind,
  imports: UndoneImports,
  { interval, after, limit }: ImportedPage,
): Promise<readonly ImportedRow[]> => {
  const { timeColumn, from, end, isRestart, value, isWithdrawn, confidence, settings } = tables[kind]
  const place = `(location_id, ${timeColumn}, record_id, ${isRestart})`
  const conditions = [
    `${timeColumn} >= ${instantLiteral(interval.from)} AND ${timeColumn} < ${instantLiteral(interval.to)}`,
    `batch_id IN ${batchesOfImports(tenant, imports.all)}`,
    ...(after === null
      ? []
      : [
          `location_id >= ${idLiteral(after.locationId)}`,
          `${place} > (${idLiteral(after.locationId)}, ${instantLiteral(after.start)}, ${idLiteral(after.recordId)}, ${after.isRestart})`,
        ]),
  ]
  const statement = `SELECT location_id, device_id, energy_flow_direction, tariff_direction, ${timeColumn} AS row_start, ${end} AS row_end,
      record_id, CAST(${isRestart}, 'Bool') AS restart, CAST(${value}, 'Decimal(19, 6)') AS state_value,
      CAST(${isWithdrawn}, 'Bool') AS withdrawn, ${confidence} AS state_confidence, session_reference_id, record_reference_id,
      CAST(batch_id IN ${batchesOfImports(tenant, [imports.id])}, 'Bool') AS is_of_import
    ${from(tenant, conditions.join(' AND '))}
    ORDER BY location_id, ${timeColumn}, record_id, restart LIMIT ${wholeLiteral(limit)} ${settings}`
  return decodeBlocks(await db.blocks(statement, tenant), readRows)
}
