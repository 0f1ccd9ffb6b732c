import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  type FlowDirections,
  kindsOfLocation,
  kindsOfLocations,
  noRecordKinds,
  type RecordKinds,
  seenKindsOfLocations,
} from '../../platform/clickhouse/meter-cost/location-flows.ts'
import type { RowFilter, Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { CostedRow } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import type { StoredCosts } from '../work-thread/cost-work.ts'
import { costsOfRows, readCosts } from './read-costs.ts'

/** Inclusion of device records in the costs of a location. `auto`: only if the location has no records of its own. */
export type DeviceInclusion = 'auto' | 'true' | 'false'

/** Locations of a tenant. `isWhole`: all locations that the tenant has. */
export type LocationSet = { readonly ids: readonly string[]; readonly isWhole: boolean }

/**
 * Device records that an answer includes.
 * `ownOnly`: locations whose device records are excluded; null: excluded for all locations.
 * `isMixed`: a location has records of its own and of devices. `leavesOut`: device records may be excluded.
 */
export type DeviceRecords = {
  readonly isIncluded: boolean
  readonly ownOnly: readonly string[] | null
  readonly isMixed: boolean
  readonly leavesOut: boolean
}

/** Maximum number of locations in one statement. */
const groupSize = 1_500

const splitIds = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / groupSize) }, (_, index) =>
    ids.slice(index * groupSize, (index + 1) * groupSize),
  )

const statementsOf = ({ ids, isWhole }: LocationSet): readonly (readonly string[] | null)[] =>
  isWhole ? [null] : splitIds(ids)

/** Return whether a row is of a device, and not the location's own. */
export const isOfDevice = ({ deviceId }: CostedRow): boolean => deviceId !== null

const uncancelledKindsOf = (rows: readonly CostedRow[] | null): RecordKinds => {
  const uncancelled = (rows ?? []).filter(({ energy }) => energy > 0n)
  return {
    hasOwnRecords: !uncancelled.every(isOfDevice),
    hasDeviceRecords: uncancelled.some(isOfDevice),
  }
}

/**
 * Decide for one location which device records its costs include. The decision considers all stored records of the
 * location, so that it is the same for each interval. `rows`: some of these records, if they are read anyway.
 * Source: docs/rules/costs.md #records-of-devices.
 */
export const devicesAtLocation = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  locationId: string,
  inclusion: DeviceInclusion,
  rows: Promise<readonly CostedRow[] | null> | null,
): Promise<DeviceRecords> => {
  const { hasOwnRecords: own, hasDeviceRecords: devices } =
    rows === null
      ? ((await kindsOfLocations(db, tenant, flow, [locationId])).get(locationId) ?? noRecordKinds)
      : await kindsOfLocation(db, tenant, flow, locationId, rows.then(uncancelledKindsOf))
  const isIncluded = inclusion === 'auto' ? !own : inclusion === 'true'
  return {
    isIncluded,
    ownOnly: isIncluded ? [] : [locationId],
    isMixed: own && devices,
    leavesOut: !isIncluded && devices,
  }
}

/**
 * Decide which device records a sum over locations includes. Each location has its own decision, as for one location.
 */
export const devicesAtLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  locations: LocationSet,
  inclusion: DeviceInclusion,
): Promise<DeviceRecords> => {
  const mixed: string[] = []
  let isIncluded = inclusion === 'true'
  for (const ids of statementsOf(locations)) {
    const seen = await seenKindsOfLocations(db, tenant, flow, ids)
    for (const [id, { hasOwnRecords: own, hasDeviceRecords: devices }] of await kindsOfLocations(
      db,
      tenant,
      flow,
      seen.both,
    )) {
      if (own && devices) mixed.push(id)
      else isIncluded ||= devices && inclusion === 'auto'
    }
    isIncluded ||= inclusion === 'auto' && seen.hasOnlyDeviceRecords
  }
  const isMixed = mixed.length > 0
  if (inclusion === 'false') return { isIncluded: false, ownOnly: null, isMixed, leavesOut: true }
  return { isIncluded, ownOnly: inclusion === 'true' ? [] : mixed, isMixed, leavesOut: inclusion === 'auto' && isMixed }
}

/** Create the row filters of the costs of locations, one filter per statement. */
export const filtersOf = (
  flow: FlowDirections,
  locations: LocationSet,
  { ownOnly }: DeviceRecords,
): readonly RowFilter[] => {
  if (ownOnly === null) return statementsOf(locations).map(locationIds => ({ ...flow, locationIds, deviceIds: [null] }))
  if (ownOnly.length === 0) return statementsOf(locations).map(locationIds => ({ ...flow, locationIds }))
  if (locations.isWhole && ownOnly.length <= groupSize) return [{ ...flow, locationIds: null, ownOnly }]
  const own = new Set(ownOnly)
  const others = locations.ids.filter(id => !own.has(id))
  return [
    ...splitIds(others).map(locationIds => ({ ...flow, locationIds })),
    ...splitIds(ownOnly).map(locationIds => ({ ...flow, locationIds, deviceIds: [null] })),
  ]
}

/**
 * Read the costs of the device records that an answer excludes from an interval; null if it excludes none. `rows`: all
 * rows of the only location; null if they are not known.
 */
export const readExcludedCosts = async (
  db: ClickHouse,
  tenant: Tenant,
  flow: FlowDirections,
  locations: LocationSet & { readonly rows: readonly CostedRow[] | null },
  { ownOnly, leavesOut }: DeviceRecords,
  interval: readonly [number, number],
): Promise<StoredCosts | null> => {
  if (!leavesOut) return null
  if (locations.rows !== null) return costsOfRows(interval, locations.rows.filter(isOfDevice))
  const all = ownOnly === null ? statementsOf(locations) : splitIds(ownOnly)
  const filters = all.map((locationIds): RowFilter => ({ ...flow, locationIds, isOfDevices: true }))
  return readCosts(db, tenant, filters, interval)
}
