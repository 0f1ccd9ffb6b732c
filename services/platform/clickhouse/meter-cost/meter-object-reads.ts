import type { SubmissionWarning, WarningCode } from '../../../domain/record/warnings.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, isAmong } from '../encoding/literals.ts'
import { replacedByBatch } from './corrections.ts'
import { lookUpSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'

const deviceOf = (digits: unknown): string | null => (digits === '0'.repeat(24) ? null : `dev_${digits}`)

/**
 * A device at a location, or (`deviceId` null) the location itself, with an interval that contains its rows and may be
 * wider.
 */
type MeteredObject = {
  readonly deviceId: string | null
  readonly locationId: string
  readonly firstStart: number
  readonly lastEnd: number
  readonly lastReceived: number
}

/** Return the locations of devices, ordered by device and location. */
export const locationsOfDevices = (
  db: ClickHouse,
  tenant: Tenant,
  deviceIds: readonly string[],
): Promise<readonly MeteredObject[]> =>
  deviceIds.length === 0 ? Promise.resolve([]) : meteredObjects(db, tenant, isAmong('device_id', deviceIds))

/** Return the ids of the locations at which a device has or had rows. Faster than `locationsOfDevices`. */
export const locationIdsOfDevice = async (
  db: ClickHouse,
  tenant: Tenant,
  deviceId: string,
): Promise<readonly string[]> => {
  const answer = await db.rows(
    `SELECT DISTINCT lower(hex(location_id)) FROM meter_device_locations
    WHERE ${tenantIs(tenant)} AND device_id = ${idLiteral(deviceId)} ${lookUpSettings}`,
    tenant,
  )
  return answer.map(([digits]) => `loc_${digits}`)
}

/** Return the locations among `locationIds` that have records of their own. */
export const locationsThemselves = (
  db: ClickHouse,
  tenant: Tenant,
  locationIds: readonly string[],
): Promise<readonly MeteredObject[]> =>
  locationIds.length === 0
    ? Promise.resolve([])
    : meteredObjects(db, tenant, `device_id = ${idLiteral('0'.repeat(24))} AND ${isAmong('location_id', locationIds)}`)

/** Return the metered objects of locations: the locations first, then by device. */
export const objectsOfLocations = (
  db: ClickHouse,
  tenant: Tenant,
  locationIds: readonly string[],
): Promise<readonly MeteredObject[]> =>
  locationIds.length === 0 ? Promise.resolve([]) : meteredObjects(db, tenant, isAmong('location_id', locationIds))

/** Cursor and size of a page of devices. */
export type DevicePage = { readonly cursor: string | null; readonly isBack: boolean; readonly limit: number }

/** Return devices of a location: after the cursor by descending id, or with `isBack` before it by ascending id. */
export const devicesOfLocation = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
  { cursor, isBack, limit }: DevicePage,
): Promise<readonly string[]> => {
  const cursorCondition = cursor === null ? '' : `AND device_id ${isBack ? '>' : '<'} ${idLiteral(cursor)}`
  const rows = await db.rows(
    `SELECT DISTINCT lower(hex(device_id)) AS id FROM meter_device_locations
    WHERE ${tenantIs(tenant)} AND location_id = ${idLiteral(locationId)} AND device_id != ${idLiteral('0'.repeat(24))} ${cursorCondition}
    ORDER BY id ${isBack ? 'ASC' : 'DESC'} LIMIT ${limit} ${lookUpSettings}`,
    tenant,
  )
  return rows.map(([digits]) => `dev_${digits}`)
}

/** Return the arrival time (ms) of the newest record per device. Devices without records are left out. */
export const lastSeenOfDevices = async (
  db: ClickHouse,
  tenant: Tenant,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const seen = new Map<string, number>()
  for (const { deviceId, lastReceived } of await locationsOfDevices(db, tenant, deviceIds))
    if (deviceId !== null) seen.set(deviceId, Math.max(lastReceived, seen.get(deviceId) ?? 0))
  return seen
}

/** Return an interval that contains all rows of a location; null if there are none. */
export const intervalOfLocation = async (
  db: ClickHouse,
  tenant: Tenant,
  locationId: string,
): Promise<{ readonly from: number; readonly to: number } | null> => {
  const objects = await objectsOfLocations(db, tenant, [locationId])
  if (objects.length === 0) return null
  return {
    from: Math.min(...objects.map(object => object.firstStart)),
    to: Math.max(...objects.map(object => object.lastEnd)),
  }
}

const meteredObjects = async (db: ClickHouse, tenant: Tenant, condition: string): Promise<readonly MeteredObject[]> => {
  const answer = await db.rows(
    `SELECT lower(hex(device_id)), lower(hex(location_id)), toUnixTimestamp64Milli(min(first_start)),
    toUnixTimestamp64Milli(max(last_end)), toUnixTimestamp64Milli(max(last_received))
    FROM meter_device_locations WHERE ${tenantIs(tenant)} AND ${condition}
    GROUP BY device_id, location_id ORDER BY device_id, location_id ${lookUpSettings}`,
    tenant,
  )
  return answer.map(([device, location, firstStart, lastEnd, lastReceived]) => ({
    deviceId: deviceOf(device),
    locationId: `loc_${location}`,
    firstStart: Number(firstStart),
    lastEnd: Number(lastEnd),
    lastReceived: Number(lastReceived),
  }))
}

/** Receipt of a batch. `recordsProcessed`: stored records, which are the handled ones less those that failed later. */
export type Receipt = {
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly recordsProcessed: number
  readonly recordsReplaced: number
  readonly receivedAt: number
  readonly failures: readonly ReceiptFailure[]
  readonly warnings: readonly SubmissionWarning[]
}
export type ReceiptFailure = {
  readonly recordNumber: number
  readonly recordReferenceId: string | null
  readonly error: string
}

/** Return the receipt of a batch; null until its header is stored. Failures are ordered by record number. */
export const receiptOfBatch = async (db: ClickHouse, tenant: Tenant, batchId: string): Promise<Receipt | null> => {
  const batchIs = `${tenantIs(tenant)} AND batch_id = ${idLiteral(batchId)}`
  const [headers, parts, failures] = await Promise.all([
    db.rows(
      `SELECT records_submitted, records_accepted, toUnixTimestamp64Milli(received_at), warning_codes, warning_records, warning_numbers FROM meter_batches FINAL WHERE ${batchIs} ${lookUpSettings}`,
      tenant,
    ),
    db.rows(
      `SELECT toUInt32(sum(records_handled)) FROM meter_batch_parts FINAL WHERE ${batchIs} ${lookUpSettings}`,
      tenant,
    ),
    db.rows(
      `SELECT record_number, found_later, record_reference_id, error FROM meter_batch_failures FINAL WHERE ${batchIs} ORDER BY record_number ${lookUpSettings}`,
      tenant,
    ),
  ])
  const header = headers[0]
  if (header === undefined) return null
  const receivedAt = Number(header[2])
  const later = failures.filter(([, foundLater]) => foundLater === true).length
  return {
    recordsSubmitted: Number(header[0]),
    recordsAccepted: Number(header[1]),
    // A late failure is stored before its chunk counts as handled.
    recordsProcessed: Math.max(0, Number(parts[0]?.[0] ?? 0) - later),
    recordsReplaced: await replacedByBatch(db, tenant, batchId, receivedAt),
    receivedAt,
    failures: failures.map(([number, , reference, error]) => ({
      recordNumber: Number(number),
      recordReferenceId: reference === '' ? null : String(reference),
      error: String(error),
    })),
    warnings: warningsOf(header.slice(3)),
  }
}

const warningsOf = ([codes, records, numbers]: readonly unknown[]): readonly SubmissionWarning[] =>
  (codes as readonly WarningCode[]).map((code, i) => ({
    code,
    records: Number((records as readonly unknown[])[i]),
    recordNumbers: (numbers as readonly (readonly unknown[])[])[i]?.map(Number) ?? [],
  }))
