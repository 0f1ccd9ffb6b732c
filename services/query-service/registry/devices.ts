import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { type PageRequest, pageRequest } from '../../contract/list.ts'
import type { Operation, RequestOf } from '../../contract/operation.ts'
import {
  type DeviceWire,
  deviceCreate,
  deviceDelete,
  deviceList,
  deviceObject,
  deviceRetrieve,
  deviceUpdate,
} from '../../contract/registry/device.ts'
import { isId } from '../../domain/identifier.ts'
import { noNamedObject, noObject } from '../../domain/no-object.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { Device } from '../../domain/registry/device.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  createDevice,
  deleteDevice,
  findActiveDevices,
  listDevices,
  retrieveDevice,
  updateDevice,
} from '../../platform/postgres/registry/devices.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { type Tenant, withTenant } from '../../platform/postgres/transaction.ts'
import { type Change, change, deletion, tenantOf } from '../change.ts'
import { changeOrRehearse } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'

/** Convert devices to JSON objects, each with the time of its newest record. */
const devicesToWire = async (
  { metering }: QueryServiceDependencies,
  request: RequestOf<Operation>,
  devices: readonly Device[],
): Promise<readonly DeviceWire[]> => {
  const ids = devices.map(({ id }) => id)
  const lastSeen = ids.length === 0 ? new Map<string, number>() : await metering.lastSeen(tenantOf(request), ids)
  return devices.map(device => deviceObject.toWire({ ...device, lastSeenAt: lastSeen.get(device.id) ?? null }))
}

const deviceChange = (type: string, device: DeviceWire): Change<DeviceWire> => ({
  value: device,
  events: [{ type, objectId: device.id, data: device }],
})

const noDevice = noObject('device')

/** Maximum number of devices per read. Many devices of a location may be deleted. */
const maxDevicesPerRead = 500

const oneItem = { limit: 1, startingAfter: null, endingBefore: null }

type LocationDeviceFilter = { readonly locationId: string; readonly referenceId: string | null }

/**
 * Find the active devices that have stored records at a location: at most one more than a page, in the order of the
 * page. `listDevices` then reads the page. No transaction waits for ClickHouse. Refuses `location_not_found`.
 */
const devicesAtLocation = async (
  { database, metering }: Pick<QueryServiceDependencies, 'database' | 'metering'>,
  tenant: Tenant,
  { locationId, referenceId }: LocationDeviceFilter,
  page: PageRequest,
): Promise<Result<readonly string[]>> => {
  const location = await withTenant(database, tenant, transaction => retrieveLocation(transaction, locationId))
  if (location === null) return noNamedObject('location', 'location_id')
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

const listBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(deviceList, async request => {
    const { location_id: locationId, reference_id: referenceId = null } = request.query
    const filter = locationId === undefined ? null : { locationId, referenceId }
    const deviceIds =
      filter === null
        ? null
        : await devicesAtLocation(dependencies, tenantOf(request), filter, pageRequest(request.query))
    if (deviceIds !== null && !deviceIds.ok) return deviceIds
    return answerList(
      dependencies,
      request,
      '/devices',
      (transaction, page) => listDevices(transaction, { referenceId, ids: deviceIds?.value ?? null }, page),
      devices => devicesToWire(dependencies, request, devices),
    )
  })

/**
 * Bind the operations on devices. They read `last_seen` before the transaction, so that it does not wait for
 * ClickHouse.
 */
export const deviceOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(deviceCreate, request =>
    changeOrRehearse(dependencies, deviceCreate, request, async transaction => {
      const device = await createDevice(transaction, request.body, request.at)
      return accepted(deviceChange('device.create', deviceObject.toWire({ ...device, lastSeenAt: null })))
    }),
  ),
  listBinding(dependencies),
  bind(deviceRetrieve, async request => {
    const device = await withTenant(dependencies.database, tenantOf(request), transaction =>
      retrieveDevice(transaction, request.id),
    )
    const [wire] = device === null ? [] : await devicesToWire(dependencies, request, [device])
    return wire === undefined ? noDevice : accepted(wire)
  }),
  bind(deviceUpdate, async request => {
    const lastSeen = await dependencies.metering.lastSeen(tenantOf(request), [request.id])
    return changeOrRehearse(dependencies, deviceUpdate, request, async transaction => {
      const { sent, change: deviceChanges } = request.body
      const lastSeenAt = lastSeen.get(request.id) ?? null
      const before = await retrieveDevice(transaction, request.id)
      const wire = before === null ? null : deviceObject.toWire({ ...before, lastSeenAt })
      const fixedFieldRefusal = wire === null ? null : refuseFixedChange(sent, wire, deviceObject.changeable)
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const device = await updateDevice(transaction, request.id, deviceChanges)
      if (!device.ok) return device
      return accepted(deviceChange('device.update', deviceObject.toWire({ ...device.value, lastSeenAt })))
    })
  }),
  bind(deviceDelete, async request => {
    const lastSeen = await dependencies.metering.lastSeen(tenantOf(request), [request.id])
    return change(dependencies, deviceDelete, request, async transaction => {
      const device = await deleteDevice(transaction, request.id, request.at)
      if (!device.ok) return device
      const wire = deviceObject.toWire({ ...device.value, lastSeenAt: lastSeen.get(request.id) ?? null })
      return accepted(deletion(deviceChange('device.delete', wire).events))
    })
  }),
]
