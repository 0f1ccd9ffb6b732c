import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { lastSeenOfDevices, spanOfLocation } from '../platform/clickhouse/meter-object-reads.ts'
import type { MeteringFacts } from './dependencies.ts'

/** Read what the stored rows tell of locations and devices. */
export const meteringFacts = (clickHouse: ClickHouse): MeteringFacts => ({
  lastSeen: (tenant, deviceIds) => lastSeenOfDevices(clickHouse, tenant, deviceIds),
  hasRecords: async (tenant, locationId) => (await spanOfLocation(clickHouse, tenant, locationId)) !== null,
})
