import type { PageRequest } from '../../contract/list.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { findActiveDevices, listDevices } from '../../platform/postgres/registry/devices.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { type Tenant, withTenant } from '../../platform/postgres/transaction.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Maximum number of devices per read. Many devices of a location may be deleted. */
const maxDevicesPerRead = 500

const oneItem = { limit: 1, startingAfter: null, endingBefore: null }

type LocationDeviceFilter = { readonly locationId: string; readonly referenceId: string | null }

/**
 * Find the active devices that have stored records at a location: at most one more than a page, in the order of the page.
 * `listDevices` then reads the page. No transaction waits for ClickHouse. Refuses `location_not_found`.
 */
export const devicesAtLocation = async (
  { database, metering }: Pick<QueryServiceDependencies, 'database' | 'metering'>,
  tenant: Tenant,
  { locationId, referenceId }: LocationDeviceFilter,
  page: PageRequest,
): Promise<Result<readonly string[]>> => {
  const location = await withTenant(database, tenant, transaction => retrieveLocation(transaction, locationId))
  if (location === null) return refused('location_not_found', 'No location has this id', 'location_id')
  const isBackwards = page.endingBefore !== null
  let cursor = page.startingAfter ?? page.endingBefore
  // `listDevices` refuses a cursor that is not an id.
  if (cursor !== null && !isId('device', cursor)) return accepted([])
  if (referenceId !== null) {
    const named = await withTenant(database, tenant, transaction => listDevices(transaction, { referenceId }, oneItem))
    const ids = named.ok ? named.value.items.map(({ id }) => id) : []
    const isMetered = await Promise.all(ids.map(id => metering.wasMeteredAt(tenant, id, locationId)))
    return accepted(ids.filter((_, index) => isMetered[index]))
  }
  const found: string[] = []
  while (found.length <= page.limit) {
    const meteredIds = await metering.devicesAt(tenant, locationId, {
      cursor,
      isBack: isBackwards,
      limit: maxDevicesPerRead,
    })
    const activeIds = await withTenant(database, tenant, transaction => findActiveDevices(transaction, meteredIds))
    found.push(...meteredIds.filter(id => activeIds.has(id)))
    if (meteredIds.length < maxDevicesPerRead) break
    cursor = meteredIds.at(-1) ?? null
  }
  return accepted(found.slice(0, page.limit + 1))
}
