import { isDoneWithin, withTimeout } from '../platform/concurrency/timeout.ts'
import { isFailure } from '../platform/failure.ts'
import type { PartObject } from '../platform/log/avro/fast-path/record-part.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import { bitsOf, idTable } from './fast-path/id-table.ts'

/** Ids that a submission names and that are not known for certain. */
export type UncertainIds = { readonly locations: ReadonlySet<string>; readonly devices: ReadonlySet<string> }

/** Find which of some ids name living objects of a tenant, in one statement. Throws `Failure` while the store is away. */
export type FindActive = (tenant: Tenant, ids: UncertainIds) => Promise<ReadonlySet<string>>

/**
 * Which locations and devices records may name. Devices belong to an account, not to a location.
 * What was found alive is believed for 30 s, so a deleted object is refused within 60 s; what was not found is asked for each time, so
 * a new object may be used at once. While the store is away (it refuses, or has not answered after 5 s), objects once found go on; nobody waits
 * for what is known of them already longer than a second, and nobody at all while an answer is overdue or a failure less than a second ago.
 */
export type KnownObjects = {
  /** The lane of a location; undefined: not known for certain. */
  readonly partitionOf: (tenant: Tenant, locationId: string, at: number) => number | undefined
  readonly hasDevice: (tenant: Tenant, deviceId: string, at: number) => boolean
  /** The one value that stands for a tenant in `find`. */
  readonly ownerOf: (tenant: Tenant) => Owner
  /** A location or device by the bits of its id; undefined: not known for certain. */
  readonly find: (owner: Owner, isDevice: boolean, bits: Int32Array, at: number) => KnownObject | undefined
  /**
   * Make certain of some ids, and return those that exist, by their ids: who asked need not find them again later, when they may be
   * forgotten. Throws `Failure` where that cannot be told.
   */
  readonly resolve: (tenant: Tenant, ids: UncertainIds, at: number) => Promise<Found>
}

/** Objects that exist, by their ids. */
export type Found = ReadonlyMap<string, KnownObject>

/** Equal for the same tenant alone. */
export type Owner = { readonly tenant: Tenant }

/** A location or device that lives; devices have no lane of their own. */
export type KnownObject = PartObject & {
  readonly owner: Owner
  readonly isDevice: boolean
  readonly partition: number
  validUntil: number
  /** A look-up has found no such object. */
  isDeleted: boolean
}

const validityMs = 30_000
/** A store that has not answered by then is away. */
const timeoutMs = 5_000
/** How long a request waits to learn again of objects that were found before. */
const refreshTimeoutMs = 1_000
/** After a failed look-up the store is left alone for a while. */
const retryDelayMs = 1_000

const noPartition = -1

/** Make the memory of objects; the oldest are forgotten above `most`. `laneOf` gives the lane of a location's records. */
export const knownObjects = (
  findActive: FindActive,
  partitionOf: (accountId: string, locationId: string) => number,
  maxObjects = 400_000,
): KnownObjects => {
  const known = new Map<string, KnownObject>()
  const table = idTable<KnownObject>(id => known.get(id))
  const owners = new Map<string, Owner>()

  const ownerOf = (tenant: Tenant): Owner => {
    const name = `${tenant.accountId}/${tenant.liveMode}`
    const owner = owners.get(name) ?? { tenant: { accountId: tenant.accountId, liveMode: tenant.liveMode } }
    owners.set(name, owner)
    return owner
  }

  const isOf = ({ owner: { tenant } }: KnownObject, { accountId, liveMode }: Tenant): boolean =>
    accountId === tenant.accountId && liveMode === tenant.liveMode

  const findValid = (tenant: Tenant, id: string, at: number): KnownObject | undefined => {
    const entry = known.get(id)
    if (entry === undefined || at >= entry.validUntil) return undefined
    return isOf(entry, tenant) ? entry : undefined
  }

  const forget = (entry: KnownObject): void => {
    known.delete(entry.id)
    entry.validUntil = Number.NEGATIVE_INFINITY
  }

  const remember = (tenant: Tenant, id: string, partition: number | null, at: number): KnownObject | null => {
    const entry = known.get(id)
    const isOwn = entry !== undefined && isOf(entry, tenant)
    if (entry !== undefined && (isOwn || partition !== null)) {
      forget(entry)
      entry.isDeleted = partition === null
    }
    if (partition === null) return null
    const made = {
      ...bitsOf(id),
      id,
      owner: ownerOf(tenant),
      isDevice: partition === noPartition,
      partition,
      validUntil: at + validityMs,
      isDeleted: false,
      mark: 0,
      index: 0,
    }
    known.set(id, made)
    table.put(made, known.size)
    return made
  }

  /** What is held of some ids; null where that is not all of them. */
  const cachedOf = (tenant: Tenant, ids: UncertainIds): Found | null => {
    const cached = new Map<string, KnownObject>()
    for (const id of [...ids.locations, ...ids.devices]) {
      const entry = known.get(id)
      if (entry === undefined || !isOf(entry, tenant)) return null
      cached.set(id, entry)
    }
    return cached
  }

  /** Believe what was held a while ago. Objects that another look-up has found gone meanwhile stay so. */
  const extendValidity = (cached: Found, until: number): Found => {
    const found = new Map<string, KnownObject>()
    for (const [id, earlier] of cached) {
      const entry = known.get(id) ?? earlier
      if (entry.isDeleted) continue
      entry.validUntil = Math.max(entry.validUntil, until)
      found.set(id, entry)
    }
    return found
  }

  const forgetOldest = (): void => {
    for (const entry of known.values()) {
      if (known.size <= maxObjects) return
      forget(entry)
    }
  }

  /** Until when, by the process's own clock, the store is not asked about objects that were found before. */
  let quietUntil = Number.NEGATIVE_INFINITY

  const readFromStore = async (tenant: Tenant, ids: UncertainIds, at: number): Promise<Found> => {
    const found = new Map<string, KnownObject>()
    const note = (id: string, partition: number | null): void => {
      const made = remember(tenant, id, partition, at)
      if (made !== null) found.set(id, made)
    }
    try {
      const activeIds = await withTimeout(timeoutMs, () => findActive(tenant, ids))
      quietUntil = Number.NEGATIVE_INFINITY
      for (const id of ids.locations) note(id, activeIds.has(id) ? partitionOf(tenant.accountId, id) : null)
      for (const id of ids.devices) note(id, activeIds.has(id) ? noPartition : null)
      forgetOldest()
      return found
    } catch (error) {
      if (isUnavailable(error)) quietUntil = performance.now() + retryDelayMs
      throw error
    }
  }

  /** What the store has told in good time, else null; until it can, nobody else asks it about what is held. */
  const answerInTime = async (startedAt: number, answer: Promise<Found>): Promise<Found | null> => {
    try {
      if (await isDoneWithin(refreshTimeoutMs, answer)) return await answer
      quietUntil = Math.max(quietUntil, startedAt + timeoutMs)
      return null
    } catch (error) {
      if (isUnavailable(error)) return null
      throw error
    }
  }

  return {
    partitionOf: (tenant, locationId, at) => findValid(tenant, locationId, at)?.partition,
    hasDevice: (tenant, deviceId, at) => findValid(tenant, deviceId, at) !== undefined,
    ownerOf,
    find: (owner, isDevice, bits, at) => {
      const entry = table.get(isDevice, bits)
      return entry !== undefined && entry.owner === owner && at < entry.validUntil ? entry : undefined
    },
    resolve: async (tenant, ids, at) => {
      const cached = cachedOf(tenant, ids)
      if (cached === null) return readFromStore(tenant, ids, at)
      const startedAt = performance.now()
      const answer = startedAt >= quietUntil ? await answerInTime(startedAt, readFromStore(tenant, ids, at)) : null
      return answer ?? extendValidity(cached, at + (performance.now() - startedAt) + retryDelayMs)
    },
  }
}

const isUnavailable = (error: unknown): boolean => isFailure(error) && error.retriable
