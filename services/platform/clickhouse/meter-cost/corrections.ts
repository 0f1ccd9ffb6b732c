import { formatTimeOrderedId } from '../../../domain/identifier.ts'
import type { ListedCorrection, SubmittedValues, ValueChange } from '../../../domain/record/correction.ts'
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
import { id } from '../encoding/fast-path/native-types.ts'
import { idLiteral, instantLiteral, isAmong, wholeLiteral } from '../encoding/literals.ts'
import { byRecordId, lookUpSettings, meterCost, readSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'
import { rowTypes } from './meter-cost-rows.ts'

/** Correction of a record. `recordId` has the digits of the id. */
export type MeterCorrectionRow = Omit<ListedCorrection, keyof ValueChange> & ValueChange

const { account, location, device, bareId, batch, bool, instant, energy, uint32 } = rowTypes

/** Types of the columns, in the order in which rows are read. */
const columnTypes = {
  account_id: account,
  live_mode: bool,
  correction_id: id('mco_'),
  record_id: bareId,
  location_id: location,
  device_id: device,
  start_time: instant,
  end_time: instant,
  energy_before: energy,
  confidence_before: uint32,
  batch_before: batch,
  received_before: instant,
  energy_after: energy,
  confidence_after: uint32,
  batch_after: batch,
  received_after: instant,
} as const

const columnOf = <Name extends keyof typeof columnTypes>(
  name: Name,
  value: (row: MeterCorrectionRow) => ReturnType<(typeof columnTypes)[Name]['read']>[number],
): BlockColumn<MeterCorrectionRow> => column(name, columnTypes[name] as NativeType<unknown>, value)

export const correctionColumns: readonly BlockColumn<MeterCorrectionRow>[] = [
  columnOf('account_id', row => row.accountId),
  columnOf('live_mode', row => row.liveMode),
  columnOf('correction_id', row => row.id),
  columnOf('record_id', row => row.recordId),
  columnOf('location_id', row => row.locationId),
  columnOf('device_id', row => row.deviceId),
  columnOf('start_time', row => row.start),
  columnOf('end_time', row => row.end),
  columnOf('energy_before', row => row.before.energy),
  columnOf('confidence_before', row => row.before.confidence),
  columnOf('batch_before', row => row.before.batchId),
  columnOf('received_before', row => row.before.receivedAt),
  columnOf('energy_after', row => row.after.energy),
  columnOf('confidence_after', row => row.after.confidence),
  columnOf('batch_after', row => row.after.batchId),
  columnOf('received_after', row => row.after.receivedAt),
]

const readRows = (from: BlockReader, count: number): readonly ListedCorrection[] => {
  const columns = readColumns(from, columnTypes, count)
  return columns.account_id.map((accountId, i) => ({
    accountId,
    liveMode: valueAt(columns.live_mode, i),
    id: valueAt(columns.correction_id, i),
    recordId: valueAt(columns.record_id, i),
    locationId: valueAt(columns.location_id, i),
    deviceId: valueAt(columns.device_id, i),
    start: valueAt(columns.start_time, i),
    end: valueAt(columns.end_time, i),
    before: {
      energy: valueAt(columns.energy_before, i),
      confidence: valueAt(columns.confidence_before, i),
      batchId: valueAt(columns.batch_before, i),
      receivedAt: valueAt(columns.received_before, i),
    },
    after: {
      energy: valueAt(columns.energy_after, i),
      confidence: valueAt(columns.confidence_after, i),
      batchId: valueAt(columns.batch_after, i),
      receivedAt: valueAt(columns.received_after, i),
    },
  }))
}

/** Filter of a list; null selects all. The interval bounds the arrival of the corrections, half-open, in ms. */
export type CorrectionSelection = {
  readonly recordId: string | null
  readonly locationId: string | null
  readonly deviceId: string | null
  readonly from: number | null
  readonly to: number | null
}

/** A page that starts after an id (null: at the newest). `isBack`: towards newer corrections, oldest first. */
export type CorrectionPage = { readonly cursor: string | null; readonly isBack: boolean; readonly limit: number }

/** The FROM clause of all reads: deduplicated by FINAL, limited to a tenant. */
const corrections = (tenant: Tenant, condition: string): string =>
  `FROM meter_corrections FINAL WHERE ${tenantIs(tenant)} AND ${condition}`

/** Return a page of corrections, newest first. With `isBack`, the oldest correction comes first. */
export const pageOfCorrections = async (
  db: ClickHouse,
  tenant: Tenant,
  { recordId, locationId, deviceId, from, to }: CorrectionSelection,
  { cursor, isBack, limit }: CorrectionPage,
): Promise<readonly ListedCorrection[]> => {
  const conditions = [
    recordId === null ? null : `record_id = ${idLiteral(recordId)}`,
    locationId === null ? null : isAmong('location_id', [locationId]),
    deviceId === null ? null : isAmong('device_id', [deviceId]),
    from === null ? null : `received_after >= ${instantLiteral(from)}`,
    to === null ? null : `received_after < ${instantLiteral(to)}`,
    cursor === null ? null : `correction_id ${isBack ? '>' : '<'} ${idLiteral(cursor)}`,
  ].filter(condition => condition !== null)
  const statement = `SELECT ${Object.keys(columnTypes).join(', ')} ${corrections(tenant, conditions.join(' AND ') || 'true')}
    ORDER BY correction_id ${isBack ? 'ASC' : 'DESC'} LIMIT ${wholeLiteral(limit)} ${readSettings}`
  return decodeBlocks(await db.blocks(statement, tenant), readRows)
}

/** Return whether a correction exists. */
export const hasCorrection = async (db: ClickHouse, tenant: Tenant, correctionId: string): Promise<boolean> =>
  (
    await db.rows(
      `SELECT 1 ${corrections(tenant, `correction_id = ${idLiteral(correctionId)}`)} ${readSettings}`,
      tenant,
    )
  ).length > 0

/** Record whose stored values are read. `recordId` has the digits of the id. */
export type RecordKey = { readonly locationId: string; readonly start: number; readonly recordId: string }

/** Records per statement: the engine parses their ids in some 15 ms. */
const keysOfStatement = 2_000

/** Types of the columns that are read of a stored record, in their order. */
const storedTypes = {
  record_id: bareId,
  energy,
  energy_submitted: rowTypes.nullableEnergy,
  record_confidence: uint32,
  batch_id: batch,
  received_at: instant,
  version: rowTypes.uint64,
  version_lead: rowTypes.uint64,
} as const

const readStored = (from: BlockReader, count: number): readonly (SubmittedValues & { readonly recordId: string })[] => {
  const columns = readColumns(from, storedTypes, count)
  return columns.record_id.map((recordId, i) => ({
    recordId,
    energy: valueAt(columns.energy_submitted, i) ?? valueAt(columns.energy, i),
    confidence: valueAt(columns.record_confidence, i),
    batchId: valueAt(columns.batch_id, i),
    receivedAt: valueAt(columns.received_at, i),
    sourceVersion: valueAt(columns.version, i) - valueAt(columns.version_lead, i),
  }))
}

/** Read the submitted values of stored records by the digits of their ids. Records that are not stored are left out. */
export const submittedValues = async (
  db: ClickHouse,
  tenant: Tenant,
  keys: readonly RecordKey[],
): Promise<ReadonlyMap<string, SubmittedValues>> => {
  const found = new Map<string, SubmittedValues>()
  const ordered = keys.toSorted((a, b) => a.start - b.start)
  for (let first = 0; first < ordered.length; first += keysOfStatement) {
    const some = ordered.slice(first, first + keysOfStatement)
    const condition = `${isAmong('location_id', [...new Set(some.map(key => key.locationId))])}
      AND start_time >= ${instantLiteral((some[0] as RecordKey).start)}
      AND start_time <= ${instantLiteral((some.at(-1) as RecordKey).start)}
      AND ${isAmong(
        'record_id',
        some.map(({ recordId }) => recordId),
      )}`
    const statement = `SELECT ${Object.keys(storedTypes).join(', ')} ${meterCost(tenant, condition)} ${byRecordId}`
    for (const { recordId, ...values } of decodeBlocks(await db.blocks(statement, tenant), readStored))
      found.set(recordId, values)
  }
  return found
}

/**
 * Count the records and readings of a batch that replaced another value. Ids of corrections begin with the time at which the
 * batch was received.
 */
export const replacedByBatch = async (
  db: ClickHouse,
  tenant: Tenant,
  batchId: string,
  receivedAt: number,
): Promise<number> => {
  const [first, last] = [0x00, 0xff].map(byte =>
    idLiteral(formatTimeOrderedId('meterCorrection', receivedAt, new Uint8Array(6).fill(byte))),
  )
  const [counted] = await db.rows(
    `SELECT toUInt32(
      (SELECT count() FROM meter_corrections FINAL WHERE ${tenantIs(tenant)} AND correction_id BETWEEN ${first} AND ${last}
        AND batch_after = ${idLiteral(batchId)})
      + (SELECT count() FROM meter_replaced_readings FINAL WHERE ${tenantIs(tenant)} AND batch_id = ${idLiteral(batchId)})
    ) ${lookUpSettings}`,
    tenant,
  )
  return Number(counted?.[0] ?? 0)
}
