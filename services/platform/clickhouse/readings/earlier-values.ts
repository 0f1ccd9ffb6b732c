import type { Energy } from '../../../domain/quantity.ts'
import type { Replacement } from '../../../domain/record/undo.ts'
import type { ClickHouse } from '../clickhouse.ts'
import {
  type BlockColumn,
  type BlockReader,
  column,
  decodeBlocks,
  type NativeType,
  readColumns,
  valueAt,
} from '../encoding/fast-path/native-block.ts'
import {
  bool,
  decimal128,
  id,
  instant,
  optionalId,
  optionalText,
  uint32,
  uint64,
} from '../encoding/fast-path/native-types.ts'
import { instantLiteral, isAmong } from '../encoding/literals.ts'
import { readSettings, type Tenant, tenantIs } from '../meter-cost/meter-cost-reads.ts'
import { batchesOfImports, type UndoneImports } from './import-batches.ts'

/**
 * Value of a record or register reading. `value` is null if the reading was withdrawn. `confidence` in 1e-6, 0 for a register
 * reading. A record has its references in its identity.
 */
export type EarlierState = {
  readonly value: Energy | null
  readonly confidence: number
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
}

/**
 * Value that a record or register reading of an import replaced, also an equal one. `start`: start of the record, or time of
 * the reading. `sourceVersion`: that of the import's record.
 */
export type EarlierValueRow = Tenant & {
  readonly locationId: string
  readonly start: number
  readonly recordId: string
  readonly isRestart: boolean
  readonly batchId: string
  readonly deviceId: string | null
  readonly batchBefore: string | null
  readonly before: EarlierState
  readonly sourceVersion: bigint
  readonly receivedAt: number
}

const energy = decimal128('Decimal(19, 6)')

const columnOf = <T>(
  name: string,
  type: NativeType<T>,
  get: (row: EarlierValueRow) => T,
): BlockColumn<EarlierValueRow> => column(name, type, get)

export const earlierValueColumns: readonly BlockColumn<EarlierValueRow>[] = [
  columnOf('account_id', id('acc_'), row => row.accountId),
  columnOf('live_mode', bool, row => row.liveMode),
  columnOf('location_id', id('loc_'), row => row.locationId),
  columnOf('start_time', instant, row => row.start),
  columnOf('record_id', id(''), row => row.recordId),
  columnOf('is_restart', bool, row => row.isRestart),
  columnOf('batch_id', id('bat_'), row => row.batchId),
  columnOf('device_id', optionalId('dev_'), row => row.deviceId),
  columnOf('batch_before', optionalId('bat_'), row => row.batchBefore),
  columnOf('value_before', energy, row => row.before.value ?? 0n),
  columnOf('is_withdrawn_before', bool, row => row.before.value === null),
  columnOf('confidence_before', uint32, row => row.before.confidence),
  columnOf('session_before', optionalText, row => row.before.sessionReferenceId),
  columnOf('record_reference_before', optionalText, row => row.before.recordReferenceId),
  columnOf('source_version', uint64, row => row.sourceVersion),
  columnOf('received_at', instant, row => row.receivedAt),
]

const readTypes = {
  record_id: id(''),
  is_restart: bool,
  source_version: uint64,
  value_before: energy,
  is_withdrawn_before: bool,
  confidence_before: uint32,
  session_before: optionalText,
  record_reference_before: optionalText,
  is_from_other: bool,
  is_of_import: bool,
} as const

type FoundReplacement = Replacement<EarlierState> & { readonly key: string }

/** Record or reading of which the replaced values are read. A record is not a restart. */
export type ReplacedKey = {
  readonly locationId: string
  readonly start: number
  readonly recordId: string
  readonly isRestart: boolean
}

/** Return a key of a record or reading that is unique in its account and mode. */
export const replacedKey = ({ recordId, isRestart }: Pick<ReplacedKey, 'recordId' | 'isRestart'>): string =>
  `${recordId}${isRestart ? ' restart' : ''}`

const readReplacements = (from: BlockReader, count: number): readonly FoundReplacement[] => {
  const columns = readColumns(from, readTypes, count)
  return columns.record_id.map((recordId, i) => ({
    key: replacedKey({ recordId, isRestart: valueAt(columns.is_restart, i) }),
    order: valueAt(columns.source_version, i),
    state: {
      value: valueAt(columns.is_withdrawn_before, i) ? null : valueAt(columns.value_before, i),
      confidence: valueAt(columns.confidence_before, i),
      sessionReferenceId: valueAt(columns.session_before, i),
      recordReferenceId: valueAt(columns.record_reference_before, i),
    },
    isFromOther: valueAt(columns.is_from_other, i),
    isOfImport: valueAt(columns.is_of_import, i),
  }))
}

/** Records per statement: the engine parses their ids in some 15 ms. */
const keysOfStatement = 2_000

/**
 * Read what imports replaced at some records and readings, by `replacedKey`: of those with equal flags the newest. The keys
 * ascend by location and start.
 */
export const readReplaced = async (
  db: ClickHouse,
  tenant: Tenant,
  imports: UndoneImports,
  keys: readonly ReplacedKey[],
): Promise<ReadonlyMap<string, readonly Replacement<EarlierState>[]>> => {
  const found: FoundReplacement[] = []
  const [all, own] = [batchesOfImports(tenant, imports.all), batchesOfImports(tenant, [imports.id])]
  for (let first = 0; first < keys.length; first += keysOfStatement) {
    const some = keys.slice(first, first + keysOfStatement)
    const starts = some.map(({ start }) => start)
    const condition = `${isAmong('location_id', [...new Set(some.map(({ locationId }) => locationId))])}
      AND start_time >= ${instantLiteral(Math.min(...starts))} AND start_time <= ${instantLiteral(Math.max(...starts))}
      AND ${isAmong('record_id', [...new Set(some.map(({ recordId }) => recordId))])} AND batch_id IN ${all}`
    const statement = `SELECT ${Object.keys(readTypes).join(', ')} FROM (
        SELECT *, CAST(batch_before NOT IN ${all}, 'Bool') AS is_from_other,
          CAST(batch_id IN ${own} OR batch_before IN ${own}, 'Bool') AS is_of_import
        FROM meter_earlier_values FINAL WHERE ${tenantIs(tenant)} AND ${condition})
      ORDER BY source_version DESC LIMIT 1 BY record_id, is_restart, is_from_other, is_of_import ${readSettings}`
    found.push(...decodeBlocks(await db.blocks(statement, tenant), readReplacements))
  }
  return Map.groupBy(found, ({ key }) => key)
}
