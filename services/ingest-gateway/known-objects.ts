import { isId } from '../domain/identifier.ts'
import type { RegisterRule } from '../domain/record/reading-rules.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { type Tenant, tenantKey } from '../domain/tenant.ts'
import { isDoneWithin, withTimeout } from '../platform/concurrency/timeout.ts'
import { isFailure } from '../platform/failure.ts'
import { bitsOf, type IdTable, idTable } from '../record-bytes/id-table.ts'
import type { PartObject } from '../record-bytes/record-part.ts'

/** Ids of a submission whose objects are not cached. */
export type UncertainIds = { readonly locations: ReadonlySet<string>; readonly devices: ReadonlySet<string> }

/**
 * Return which ids belong to active objects of a tenant, with the properties of their registers, in one statement.
 * Throws `Failure` while the store is unavailable.
 */
export type FindActive = (tenant: Tenant, ids: UncertainIds) => Promise<ReadonlyMap<string, RegisterRule | null>>

/**
 * Cache of the active locations and devices of records. A device belongs to an account, not to a location.
 * A found object is valid for 30 s, so a deleted object is refused within 60 s. Unknown objects are read each time, so
 * a new object can be used at once. While the store fails or does not answer within 5 s, cached objects stay valid.
 * Requests for cached objects wait at most 1 s for the store, and do not wait while an answer is late or within 1 s
 * after a failure.
 */
export type KnownObjects = {
  /** Partition of a location; undefined if the location is not cached. */
  readonly partitionOf: (tenant: Tenant, locationId: string, at: number) => number | undefined
  readonly hasDevice: (tenant: Tenant, deviceId: string, at: number) => boolean
  /** Properties of the registers of a location or device; null if they are unknown or the object is not cached. */
  readonly ruleOf: (tenant: Tenant, id: string, at: number) => RegisterRule | null
  /** Return the value that represents a tenant in `find`. */
  readonly ownerOf: (tenant: Tenant) => Owner
  /** Return a location or device by the bits of its id; undefined if it is not cached. */
  readonly find: (owner: Owner, isDevice: boolean, bits: Int32Array, at: number) => KnownObject | undefined
  /**
   * Read objects, and return those that exist, by id. Use the result directly: an object can leave the cache at any
   * time.
   * Throws `Failure` if the store is unavailable and not all objects are cached.
   */
  readonly resolve: (tenant: Tenant, ids: UncertainIds, at: number) => Promise<Found>
}

/** Existing objects, by id. */
export type Found = ReadonlyMap<string, KnownObject>

/** One object per tenant: compare it by identity. */
export type Owner = { readonly tenant: Tenant }

/** Active location or device. A device has no partition. */
export type KnownObject = PartObject & {
  readonly owner: Owner
  readonly isDevice: boolean
  readonly partition: number
  /** Properties of the registers of the object; null if they are unknown. */
  readonly rule: RegisterRule | null
  validUntil: number
  /** A later read did not find the object. */
  isDeleted: boolean
}

const validityMs = 30_000
const timeoutMs = 5_000
/** Timeout of a read of cached objects. */
const refreshTimeoutMs = 1_000
/** After a failed read, the store is not asked about cached objects for this time. */
const retryDelayMs = 1_000

const noPartition = -1

type ObjectCache = {
  readonly findActive: FindActive
  readonly partitionOf: (accountId: string, locationId: string) => number
  readonly maxObjects: number
  readonly known: Map<string, KnownObject>
  readonly table: IdTable<KnownObject>
  readonly owners: Map<string, Owner>
  /** Until this time, on the clock of the process, the store is not asked about cached objects. */
  quietUntil: number
}

const isUnavailable = (error: unknown): boolean => isFailure(error) && error.retriable

const ownerOf = ({ owners }: ObjectCache, tenant: Tenant): Owner => {
  const name = tenantKey(tenant)
  const owner = owners.get(name) ?? { tenant: { accountId: tenant.accountId, liveMode: tenant.liveMode } }
  owners.set(name, owner)
  return owner
}

const isOf = ({ owner: { tenant } }: KnownObject, { accountId, liveMode }: Tenant): boolean =>
  accountId === tenant.accountId && liveMode === tenant.liveMode

const findValid = ({ known }: ObjectCache, tenant: Tenant, id: string, at: number): KnownObject | undefined => {
  const entry = known.get(id)
  if (entry === undefined || at >= entry.validUntil) return undefined
  return isOf(entry, tenant) ? entry : undefined
}

const forget = ({ known }: ObjectCache, entry: KnownObject): void => {
  known.delete(entry.id)
  entry.validUntil = Number.NEGATIVE_INFINITY
}

const forgetOldest = (cache: ObjectCache): void => {
  for (const entry of cache.known.values()) {
    if (cache.known.size <= cache.maxObjects) return
    forget(cache, entry)
  }
}

/** Store the result of a read. `partition` null: the object does not exist. */
const remember = (
  cache: ObjectCache,
  tenant: Tenant,
  { id, partition, rule }: Pick<KnownObject, 'id' | 'rule'> & { readonly partition: number | null },
  at: number,
): KnownObject | null => {
  const { known, table } = cache
  const entry = known.get(id)
  const isOwn = entry !== undefined && isOf(entry, tenant)
  if (entry !== undefined && (isOwn || partition !== null)) {
    forget(cache, entry)
    entry.isDeleted = partition === null
  }
  if (partition === null) return null
  const made = {
    ...bitsOf(id),
    id,
    owner: ownerOf(cache, tenant),
    isDevice: partition === noPartition,
    partition,
    rule,
    validUntil: at + validityMs,
    isDeleted: false,
    mark: 0,
    index: 0,
  }
  known.set(id, made)
  table.put(made, known.size)
  return made
}

/** Return the cached objects of some ids, also outdated ones; null if one is not cached. */
const cachedOf = ({ known }: ObjectCache, tenant: Tenant, ids: UncertainIds): Found | null => {
  const cached = new Map<string, KnownObject>()
  for (const id of [...ids.locations, ...ids.devices]) {
    const entry = known.get(id)
    if (entry === undefined || !isOf(entry, tenant)) return null
    cached.set(id, entry)
  }
  return cached
}

/** Extend the validity of outdated objects, except of those that another read did not find. */
const extendValidity = ({ known }: ObjectCache, cached: Found, until: number): Found => {
  const found = new Map<string, KnownObject>()
  for (const [id, earlier] of cached) {
    const entry = known.get(id) ?? earlier
    if (entry.isDeleted) continue
    entry.validUntil = Math.max(entry.validUntil, until)
    found.set(id, entry)
  }
  return found
}

const readFromStore = async (cache: ObjectCache, tenant: Tenant, ids: UncertainIds, at: number): Promise<Found> => {
  const found = new Map<string, KnownObject>()
  try {
    const activeIds = await withTimeout(timeoutMs, () => cache.findActive(tenant, ids))
    cache.quietUntil = Number.NEGATIVE_INFINITY
    const note = (id: string, partition: number): void => {
      const rule = activeIds.get(id) ?? null
      const made = remember(cache, tenant, { id, rule, partition: activeIds.has(id) ? partition : null }, at)
      if (made !== null) found.set(id, made)
    }
    for (const id of ids.locations) note(id, cache.partitionOf(tenant.accountId, id))
    for (const id of ids.devices) note(id, noPartition)
    forgetOldest(cache)
    return found
  } catch (error) {
    if (isUnavailable(error)) cache.quietUntil = performance.now() + retryDelayMs
    throw error
  }
}

/**
 * Return the answer of the store if it arrives in time, else null. While the answer is late, other requests use their
 * cached objects.
 */
const answerInTime = async (cache: ObjectCache, startedAt: number, answer: Promise<Found>): Promise<Found | null> => {
  try {
    if (await isDoneWithin(refreshTimeoutMs, answer)) return await answer
    cache.quietUntil = Math.max(cache.quietUntil, startedAt + timeoutMs)
    return null
  } catch (error) {
    if (isUnavailable(error)) return null
    throw error
  }
}

const resolve = async (cache: ObjectCache, tenant: Tenant, ids: UncertainIds, at: number): Promise<Found> => {
  const cached = cachedOf(cache, tenant, ids)
  if (cached === null) return readFromStore(cache, tenant, ids, at)
  const startedAt = performance.now()
  const answer =
    startedAt >= cache.quietUntil ? await answerInTime(cache, startedAt, readFromStore(cache, tenant, ids, at)) : null
  return answer ?? extendValidity(cache, cached, at + (performance.now() - startedAt) + retryDelayMs)
}

/**
 * Create the cache of objects. Above `maxObjects`, the oldest are dropped. `partitionOf` returns the partition of a
 * location.
 */
export const knownObjects = (
  findActive: FindActive,
  partitionOf: (accountId: string, locationId: string) => number,
  maxObjects = 400_000,
): KnownObjects => {
  const known = new Map<string, KnownObject>()
  const table = idTable<KnownObject>(id => known.get(id))
  const cache: ObjectCache = {
    findActive,
    partitionOf,
    maxObjects,
    known,
    table,
    owners: new Map(),
    quietUntil: Number.NEGATIVE_INFINITY,
  }
  return {
    partitionOf: (tenant, locationId, at) => findValid(cache, tenant, locationId, at)?.partition,
    hasDevice: (tenant, deviceId, at) => findValid(cache, tenant, deviceId, at) !== undefined,
    ruleOf: (tenant, id, at) => findValid(cache, tenant, id, at)?.rule ?? null,
    ownerOf: tenant => ownerOf(cache, tenant),
    find: (owner, isDevice, bits, at) => {
      const entry = table.get(isDevice, bits)
      return entry !== undefined && entry.owner === owner && at < entry.validUntil ? entry : undefined
    },
    resolve: (tenant, ids, at) => resolve(cache, tenant, ids, at),
  }
}

export const noLocation = refused(
  'location_not_found',
  'location_id must be the id of a location that exists',
  'location_id',
)
const noDevice = refused('device_not_found', 'device_id must be the id of a device that exists', 'device_id')

/** Location and device of a record or register. */
type ObjectIds = { readonly locationId: string; readonly deviceId: string | null }

/**
 * Return the partition of the location of one record, after its location and device are found. Reads the store only
 * for objects that are not cached.
 */
export const findPartition = async (
  known: KnownObjects,
  tenant: Tenant,
  { locationId, deviceId }: ObjectIds,
  at: number,
): Promise<Result<number>> => {
  if (!isId('location', locationId)) return noLocation
  if (deviceId !== null && !isId('device', deviceId)) return noDevice
  const cached = known.partitionOf(tenant, locationId, at)
  if (cached !== undefined && (deviceId === null || known.hasDevice(tenant, deviceId, at))) return accepted(cached)
  const found = await findRegister(known, tenant, { locationId, deviceId }, at)
  return found.ok ? accepted(found.value.partition) : found
}

/** Partition of a register, and the properties that its device has, or its location if it has no device. */
export type KnownRegister = { readonly partition: number; readonly rule: RegisterRule | null }

/**
 * Return the partition and the properties of a register, after its location and device are found. Reads the store each
 * time, so that changed properties apply at once. While the store is unavailable, cached objects are used.
 */
export const findRegister = async (
  known: KnownObjects,
  tenant: Tenant,
  { locationId, deviceId }: ObjectIds,
  at: number,
): Promise<Result<KnownRegister>> => {
  if (!isId('location', locationId)) return noLocation
  if (deviceId !== null && !isId('device', deviceId)) return noDevice
  const ids = { locations: new Set([locationId]), devices: new Set(deviceId === null ? [] : [deviceId]) }
  const found = await known.resolve(tenant, ids, at)
  const location = found.get(locationId)
  if (location === undefined) return noLocation
  const owner = deviceId === null ? location : found.get(deviceId)
  return owner === undefined ? noDevice : accepted({ partition: location.partition, rule: owner.rule })
}
