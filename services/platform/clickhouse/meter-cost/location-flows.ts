import type { EnergyFlowDirection } from '../../../domain/record/record.ts'
import type { TariffDirection } from '../../../domain/tariff/tariff.ts'
import type { ClickHouse } from '../clickhouse.ts'
import { idLiteral, isAmong, textLiteral } from '../encoding/literals.ts'
import { meterCost, readSettings, type Tenant, tenantIs } from './meter-cost-reads.ts'

/** An energy flow direction with a tariff direction. */
export type FlowDirections = {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
}

/** True if a location has uncancelled records: of its own, and of its devices. */
export type RecordKinds = { readonly hasOwnRecords: boolean; readonly hasDeviceRecords: boolean }

/** Kinds of a location without records. */
export const noRecordKinds: RecordKinds = { hasOwnRecords: false, hasDeviceRecords: false }

const noDevice = `dev_${'0'.repeat(24)}`
/** Locations per statement. */
const locationsPerStatement = 1_500

const flowIs = ({ energyFlowDirection, tariffDirection }: FlowDirections): string =>
  `energy_flow_direction = ${textLiteral(energyFlowDirection)} AND tariff_direction = ${textLiteral(tariffDirection)}`

const locationsAre = (ids: readonly string[]): string => isAmong('location_id', ids)

/** Condition of an uncancelled record. Value 0 cancels a record; actual records that cover an estimate do not. */
const isUncancelled = '(energy > 0 OR energy_submitted > 0)'

const isOf = (isDevice: boolean): string => `device_id ${isDevice ? '!=' : '='} ${idLiteral(noDevice)}`

type Kind = { readonly locationId: string; readonly isDevice: boolean }

const keyOf = ({ locationId, isDevice }: Kind): string => `${locationId} ${isDevice}`

const kindsOf = (answer: readonly (readonly unknown[])[]): readonly Kind[] =>
  answer.map(([location, isDevice]) => ({
    locationId: `loc_${location}`,
    isDevice: isDevice === true || Number(isDevice) === 1,
  }))

const fromLocationFlows = (tenant: Tenant, flow: FlowDirections, ids: readonly string[] | null): string =>
  `FROM meter_location_flows WHERE ${tenantIs(tenant)} AND ${flowIs(flow)} AND ${ids === null ? 'true' : locationsAre(ids)}`

/** Read the kinds of records that locations have or had. */
const readSeenKinds = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[],
): Promise<readonly Kind[]> =>
  kindsOf(
    await db.rows(
      `SELECT lower(hex(location_id)), is_device ${fromLocationFlows(tenant, flow, ids)} GROUP BY location_id, is_device ${readSettings}`,
      tenant,
    ),
  )

/** Read the kinds whose latest record is uncancelled. These records are on few days. */
const readUncancelledKinds = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  const lastDays = `SELECT toDate(max(last_start)) ${fromLocationFlows(tenant, flow, ids)} GROUP BY location_id, is_device`
  const condition = `${locationsAre(ids)} AND toDate(start_time) IN (${lastDays}) AND ${flowIs(flow)} AND ${isUncancelled}`
  const answer = await db.rows(
    `SELECT lower(hex(location_id)), ${isOf(true)} AS is_device ${meterCost(tenant, condition)}
    GROUP BY location_id, is_device ${readSettings}`,
    tenant,
  )
  return new Set(kindsOf(answer).map(keyOf))
}

/** Return whether a kind has any uncancelled record. Used if its latest record is cancelled. */
const hasUncancelled = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  { locationId, isDevice }: Kind,
): Promise<boolean> => {
  const condition = `${locationsAre([locationId])} AND ${isOf(isDevice)} AND ${flowIs(flow)} AND ${isUncancelled}`
  const rows = await db.rows(`SELECT 1 ${meterCost(tenant, condition)} LIMIT 1 ${readSettings}`, tenant)
  return rows.length > 0
}

/** Return the kinds of uncancelled records of each location. `uncancelled`: kinds that are known to have such a record. */
const uncancelledKinds = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  seen: readonly Kind[],
  uncancelled: ReadonlySet<string>,
): Promise<ReadonlyMap<string, RecordKinds>> => {
  const kinds = new Map<string, RecordKinds>()
  for (const kind of seen) {
    if (!uncancelled.has(keyOf(kind)) && !(await hasUncancelled(db, tenant, flow, kind))) continue
    const known = kinds.get(kind.locationId) ?? noRecordKinds
    kinds.set(kind.locationId, { ...known, [kind.isDevice ? 'hasDeviceRecords' : 'hasOwnRecords']: true })
  }
  return kinds
}

/**
 * Return the kinds of uncancelled records of each location, over all time, in one flow. Locations without records are
 * left out. Takes constant time per location, unless the latest record of a kind is cancelled. Source:
 * docs/rules/costs.md #records-of-devices.
 */
export const kindsOfLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecordKinds>> => {
  const kinds: (readonly [string, RecordKinds])[] = []
  for (let from = 0; from < ids.length; from += locationsPerStatement) {
    const group = ids.slice(from, from + locationsPerStatement)
    const [seen, uncancelled] = await Promise.all([
      readSeenKinds(db, tenant, flow, group),
      readUncancelledKinds(db, tenant, flow, group),
    ])
    kinds.push(...(await uncancelledKinds(db, tenant, flow, seen, uncancelled)))
  }
  return new Map(kinds)
}

/**
 * Return the kinds of uncancelled records of a location, as `kindsOfLocations` does. `known`: kinds of which the caller
 * has read such a record. Only other kinds are looked for.
 */
export const kindsOfLocation = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  id: string,
  known: Promise<RecordKinds>,
): Promise<RecordKinds> => {
  const [seen, { hasOwnRecords, hasDeviceRecords }] = await Promise.all([readSeenKinds(db, tenant, flow, [id]), known])
  const isKnown = ({ isDevice }: Kind): boolean => (isDevice ? hasDeviceRecords : hasOwnRecords)
  const uncancelled = seen.every(isKnown)
    ? new Set(seen.map(keyOf))
    : await readUncancelledKinds(db, tenant, flow, [id])
  return (await uncancelledKinds(db, tenant, flow, seen, uncancelled)).get(id) ?? noRecordKinds
}

/**
 * Locations that have or had both kinds of records in one flow, and whether others have or had records of devices only.
 */
export type SeenKindsOfLocations = { readonly both: readonly string[]; readonly hasOnlyDeviceRecords: boolean }

/** Read the kinds of records that locations have or had in one flow; `ids` null: all locations. */
export const seenKindsOfLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[] | null,
): Promise<SeenKindsOfLocations> => {
  const [row] = await db.rows(
    `SELECT arraySort(groupArrayIf(lower(hex(location_id)), NOT is_only_devices AND has_devices)), toUInt8(max(is_only_devices))
    FROM (SELECT location_id, min(is_device) AS is_only_devices, max(is_device) AS has_devices
      ${fromLocationFlows(tenant, flow, ids)} GROUP BY location_id) ${readSettings}`,
    tenant,
  )
  const [both, isAny] = row ?? [[], 0]
  return { both: (both as readonly string[]).map(id => `loc_${id}`), hasOnlyDeviceRecords: Number(isAny) === 1 }
}

/** Return all locations that have or had records in one flow. */
const seenLocations = async (db: ClickHouse, tenant: Tenant, flow: FlowDirections): Promise<ReadonlySet<string>> => {
  const answer = await db.rows(
    `SELECT DISTINCT lower(hex(location_id)) ${fromLocationFlows(tenant, flow, null)} ${readSettings}`,
    tenant,
  )
  return new Set(answer.map(([location]) => `loc_${location}`))
}

/** Return the locations that have an uncancelled record. */
const findUncancelledLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const condition = `${locationsAre(ids)} AND ${flowIs(flow)} AND ${isUncancelled}`
  const answer = await db.rows(
    `SELECT DISTINCT lower(hex(location_id)) ${meterCost(tenant, condition)} ${readSettings}`,
    tenant,
  )
  return answer.map(([location]) => `loc_${location}`)
}

/**
 * Return the locations that have uncancelled records in one flow at any time, their own or those of their devices.
 * Runs one statement for each 1,500 locations, and a second one for locations whose last record was cancelled.
 */
export const meteredLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  const seen = await seenLocations(db, tenant, flow)
  const candidates = ids.filter(id => seen.has(id))
  const metered = new Set<string>()
  for (let from = 0; from < candidates.length; from += locationsPerStatement) {
    const group = candidates.slice(from, from + locationsPerStatement)
    const uncancelled = await readUncancelledKinds(db, tenant, flow, group)
    const hasUncancelledRecord = (locationId: string): boolean =>
      [true, false].some(isDevice => uncancelled.has(keyOf({ locationId, isDevice })))
    const others = group.filter(id => !hasUncancelledRecord(id))
    const found = others.length === 0 ? [] : await findUncancelledLocations(db, tenant, flow, others)
    for (const id of [...group.filter(hasUncancelledRecord), ...found]) metered.add(id)
  }
  return metered
}
