import { type Energy, energyScale } from '../../../domain/quantity.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, instantLiteral, textLiteral, wholeLiteral } from '../encoding/literals.ts'
import { meterCost, meterCostVersions, readSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'

/** Location with records without a price; instants in ms. */
export type UnpricedLocation = {
  readonly locationId: string
  readonly records: number
  readonly energy: Energy
  readonly firstStart: number
  readonly lastStart: number
}

/** Read the locations with records without a price that start from an instant on, by falling energy. */
export const unpricedLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  from: number,
  limit: number,
): Promise<readonly UnpricedLocation[]> => {
  const isUnpriced = `start_time >= ${instantLiteral(from)} AND status = 'UNPRICED'`
  // A status is known only after all versions of a row are merged. The merge reads only locations with an unpriced version.
  const seen = `SELECT location_id ${meterCostVersions(tenant, isUnpriced)}`
  const rows = await db.rows(
    `SELECT lower(hex(location_id)), count(), toString(toInt128(sum(energy) * ${10 ** energyScale})),
      toUnixTimestamp64Milli(min(start_time)), toUnixTimestamp64Milli(max(start_time))
    ${meterCost(tenant, `location_id IN (${seen}) AND ${isUnpriced}`)} GROUP BY location_id ORDER BY sum(energy) DESC, location_id LIMIT ${wholeLiteral(limit)} ${readSettings}`,
    tenant,
  )
  return rows.map(([id, records, energy, first, last]) => ({
    locationId: `loc_${id}`,
    records: Number(records),
    energy: BigInt(String(energy)),
    firstStart: Number(first),
    lastStart: Number(last),
  }))
}

/** Return the arrival (ms) of the newest stored record of a tenant; null if there is none. */
export const lastReceived = async (db: ClickHouse, tenant: Tenant): Promise<number | null> => {
  const [row] = await db.rows(
    `SELECT toUnixTimestamp64Milli(max(last_received)), count() FROM meter_device_locations WHERE ${tenantIs(tenant)} ${readSettings}`,
    tenant,
  )
  return row === undefined || Number(row[1]) === 0 ? null : Number(row[0])
}

/** Submission with failed records. `later`: failed records that were accepted first. */
export type FailedBatch = { readonly batchId: string; readonly records: number; readonly later: number }

/** Failed records of submissions, and the newest submissions that have some. */
export type FailedRecords = {
  readonly records: number
  readonly later: number
  readonly batches: readonly FailedBatch[]
}

/** Read the failed records of submissions whose id is at least `firstBatchId`. Ids ascend with time. */
export const failedRecordsSince = async (
  db: ClickHouse,
  tenant: Tenant,
  firstBatchId: string,
  limit: number,
): Promise<FailedRecords> => {
  const from = `FROM meter_batch_failures FINAL WHERE ${tenantIs(tenant)} AND batch_id >= ${idLiteral(firstBatchId)}`
  const counts = 'count(), countIf(found_later)'
  const listed = await db.rows(
    `SELECT lower(hex(batch_id)), ${counts} ${from} GROUP BY batch_id ORDER BY batch_id DESC LIMIT ${wholeLiteral(limit)} ${readSettings}`,
    tenant,
  )
  const batches = listed.map(([id, records, later]) => ({
    batchId: `bat_${id}`,
    records: Number(records),
    later: Number(later),
  }))
  const sumOf = (count: 'records' | 'later'): number => batches.reduce((sum, batch) => sum + batch[count], 0)
  if (batches.length < limit) return { records: sumOf('records'), later: sumOf('later'), batches }
  const [sum] = await db.rows(`SELECT ${counts} ${from} ${readSettings}`, tenant)
  return { records: Number(sum?.[0] ?? 0), later: Number(sum?.[1] ?? 0), batches }
}

/** Submission with warnings about accepted records. */
export type WarnedBatch = { readonly batchId: string; readonly records: number }

/** Warnings about records of submissions: their sum, and the newest submissions that have some. */
export type WarnedRecords = { readonly records: number; readonly batches: readonly WarnedBatch[] }

/** Read the warnings of submissions whose id is at least `firstBatchId`. A record counts once for each code. */
export const warnedRecordsSince = async (
  db: ClickHouse,
  tenant: Tenant,
  firstBatchId: string,
  limit: number,
): Promise<WarnedRecords> => {
  const warned = `SELECT batch_id, arraySum(warning_records) AS records FROM meter_batches FINAL
    WHERE ${tenantIs(tenant)} AND batch_id >= ${idLiteral(firstBatchId)} AND notEmpty(warning_codes)`
  const rows = await db.rows(
    `SELECT lower(hex(batch_id)), records, sum(records) OVER () FROM (${warned}) ORDER BY batch_id DESC LIMIT ${wholeLiteral(limit)} ${readSettings}`,
    tenant,
  )
  const batches = rows.map(([id, records]) => ({ batchId: `bat_${id}`, records: Number(records) }))
  return { records: Number(rows[0]?.[2] ?? 0), batches }
}

/** Accepted records of submissions; `processed`: those that are stored. */
export type AcceptedRecords = { readonly accepted: number; readonly processed: number }

/** Count the accepted and the stored records of submissions whose id is at least `firstBatchId`. */
export const acceptedRecordsSince = async (
  db: ClickHouse,
  tenant: Tenant,
  firstBatchId: string,
): Promise<AcceptedRecords> => {
  const from = (table: string) =>
    `FROM ${table} FINAL WHERE ${tenantIs(tenant)} AND batch_id >= ${idLiteral(firstBatchId)}`
  const [row] = await db.rows(
    `SELECT (SELECT sum(records_accepted) ${from('meter_batches')}), (SELECT sum(records_handled) ${from('meter_batch_parts')}),
      (SELECT countIf(found_later) ${from('meter_batch_failures')}) ${readSettings}`,
    tenant,
  )
  const [accepted, handled, later] = (row ?? []).map(Number) as [number?, number?, number?]
  const processed = Math.max(0, (handled ?? 0) - (later ?? 0))
  // Records can be stored before the header of their submission.
  return { accepted: Math.max(accepted ?? 0, processed), processed }
}

/** Session that a search found. */
export type FoundSession = { readonly reference: string; readonly locationId: string }

/** Find sessions whose reference contains a text, among the first `scanned` rows that the engine reads. */
export const searchSessions = async (
  db: ClickHouse,
  tenant: Tenant,
  text: string,
  { limit, scanned }: { readonly limit: number; readonly scanned: number },
): Promise<readonly FoundSession[]> => {
  const rows = await db.rows(
    `SELECT session_reference_id, lower(hex(any(location_id))) FROM meter_sessions
    WHERE ${tenantIs(tenant)} AND positionCaseInsensitiveUTF8(session_reference_id, ${textLiteral(text)}) > 0
    GROUP BY session_reference_id ORDER BY session_reference_id DESC LIMIT ${wholeLiteral(limit)}
    ${readSettings}, max_rows_to_read=${scanned}, read_overflow_mode='break'`,
    tenant,
  )
  return rows.map(([reference, location]) => ({ reference: String(reference), locationId: `loc_${location}` }))
}
