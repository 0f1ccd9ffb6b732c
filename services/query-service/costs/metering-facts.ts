import { isId } from '../../domain/identifier.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { OpenInterval } from '../../domain/tariff/tariff-change.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { countRowsWithin } from '../../platform/clickhouse/meter-cost/meter-cost-counts.ts'
import {
  type DevicePage,
  devicesOfLocation,
  intervalOfLocation,
  lastSeenOfDevices,
  locationsOfDevices,
} from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import type { Tenant } from '../../platform/postgres/transaction.ts'

/** Reader of facts about locations and devices from their stored rows. */
export type MeteringFacts = {
  /**
   * Return the time (ms) at which the newest record of each device was received. Devices without records are left out.
   */
  readonly lastSeen: (tenant: Tenant, deviceIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /**
   * List the devices with stored records at a location: after a cursor by descending id, or before it (`isBack`) by
   * ascending id.
   */
  readonly devicesAt: (tenant: Tenant, locationId: string, page: DevicePage) => Promise<readonly string[]>
  /** Return whether a record of a device at a location is stored. */
  readonly wasMeteredAt: (tenant: Tenant, deviceId: string, locationId: string) => Promise<boolean>
  /** Return whether a record of a location is stored. */
  readonly hasRecords: (tenant: Tenant, locationId: string) => Promise<boolean>
  /** Count the stored rows of locations in a direction that share time with an interval (ms). */
  readonly countRows: (
    tenant: Tenant,
    locationIds: readonly string[],
    direction: TariffDirection,
    interval: OpenInterval,
  ) => Promise<number>
}

/** Create the reader of facts about locations and devices from stored rows. An invalid id has no rows. */
export const meteringFacts = (clickHouse: ClickHouse): MeteringFacts => ({
  lastSeen: (tenant, deviceIds) =>
    lastSeenOfDevices(
      clickHouse,
      tenant,
      deviceIds.filter(id => isId('device', id)),
    ),
  devicesAt: (tenant, locationId, page) => devicesOfLocation(clickHouse, tenant, locationId, page),
  wasMeteredAt: async (tenant, deviceId, locationId) =>
    (await locationsOfDevices(clickHouse, tenant, [deviceId])).some(
      meteredObject => meteredObject.locationId === locationId,
    ),
  hasRecords: async (tenant, locationId) =>
    isId('location', locationId) && (await intervalOfLocation(clickHouse, tenant, locationId)) !== null,
  countRows: (tenant, locationIds, direction, interval) =>
    countRowsWithin(clickHouse, tenant, locationIds, direction, interval),
})
