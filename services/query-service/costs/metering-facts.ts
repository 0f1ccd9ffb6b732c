import { isId } from '../../domain/identifier.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import {
  devicesOfLocation,
  intervalOfLocation,
  lastSeenOfDevices,
  locationsOfDevices,
} from '../../platform/clickhouse/meter-cost/meter-object-reads.ts'
import type { MeteringFacts } from '../dependencies.ts'

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
})
