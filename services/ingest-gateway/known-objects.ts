import { isFailure } from '../platform/failure.ts'
import type { PartObject } from '../platform/log/record-part.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import { bitsOf, idTable } from './id-table.ts'

/** Ids that a submission names and that are not known for certain. */
export type Unsure = { readonly locations: ReadonlySet<string>; readonly devices: ReadonlySet<string> }

/** Find which of some ids name living objects of a tenant, in one statement. Throws `Failure` while the store is away. */
export type FindLiving = (tenant: Tenant, ids: Unsure) => Promise<ReadonlySet<string>>

/**
 * Which locations and devices records may name. Devices belong to an account, not to a location.
 * What was found alive is believed for 30 s, so a deleted object is refused within 60 s; what was not found is asked for each time, so
 * a new object may be used at once. While the store is away, objects once found go on.
 */
export type KnownObjects = {
  /** The lane of a location; undefined: not known for certain. */
  readonly laneOf: (tenant: Tenant, locationId: string, at: number) => number | undefined
  readonly hasDevice: (tenant: Tenant, deviceId: string, at: number) => boolean
  /** The one value that stands for a tenant in `find`. */
  readonly ownerOf: (tenant: Tenant) => Owner
  /** A location or device by the bits of its id; undefined: not known for certain. */
  readonly find: (owner: Owner, isDevice: boolean, bits: Int32Array, at: number) => KnownObject | undefined
  /** Make certain of some ids: afterwards, at the same `at`, they are known or do not exist. Throws `Failure` where that cannot be told. */
  readonly ask: (tenant: Tenant, ids: Unsure, at: number) => Promise<void>
}

/** Equal for the same tenant alone. */
export type Owner = { readonly tenant: Tenant }

/** A location or device that lives; devices have no lane of their own. */
export type KnownObject = PartObject & { readonly owner: Owner; readonly isDevice: boolean; readonly lane: number; believedUntil: number }

const believedMs = 30_000
/** After a failed look-up the store is left alone for a while. */
const pauseMs = 1_000

const noLane = -1

/** Make the memory of objects; the oldest are forgotten above `most`. `laneOf` gives the lane of a location's records. */
export const knownObjects = (
  findLiving: FindLiving,
  laneOf: (accountId: string, locationId: string) => number,
  most = 400_000,
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

  const believed = (tenant: Tenant, id: string, at: number): KnownObject | undefined => {
    const entry = known.get(id)
    if (entry === undefined || at >= entry.believedUntil) return undefined
    return isOf(entry, tenant) ? entry : undefined
  }

  const forget = (entry: KnownObject): void => {
    known.delete(entry.id)
    entry.believedUntil = Number.NEGATIVE_INFINITY
  }

  const settle = (tenant: Tenant, id: string, lane: number | null, at: number): void => {
    const entry = known.get(id)
    const isOwn = entry !== undefined && isOf(entry, tenant)
    if (entry !== undefined && (isOwn || lane !== null)) forget(entry)
    if (lane === null) return
    const made = {
      ...bitsOf(id),
      id,
      owner: ownerOf(tenant),
      isDevice: lane === noLane,
      lane,
      believedUntil: at + believedMs,
      mark: 0,
      index: 0,
    }
    known.set(id, made)
    table.put(made, known.size)
  }

  const goOn = (tenant: Tenant, ids: Iterable<string>, at: number): boolean => {
    for (const id of ids) {
      const entry = known.get(id)
      if (entry === undefined || !isOf(entry, tenant)) return false
      entry.believedUntil = Math.max(entry.believedUntil, at + pauseMs)
    }
    return true
  }

  const forgetOldest = (): void => {
    for (const entry of known.values()) {
      if (known.size <= most) return
      forget(entry)
    }
  }

  return {
    laneOf: (tenant, locationId, at) => believed(tenant, locationId, at)?.lane,
    hasDevice: (tenant, deviceId, at) => believed(tenant, deviceId, at) !== undefined,
    ownerOf,
    find: (owner, isDevice, bits, at) => {
      const entry = table.get(isDevice, bits)
      return entry !== undefined && entry.owner === owner && at < entry.believedUntil ? entry : undefined
    },
    ask: async (tenant, ids, at) => {
      let living: ReadonlySet<string>
      try {
        living = await findLiving(tenant, ids)
      } catch (error) {
        if (isFailure(error) && error.retriable && goOn(tenant, ids.locations, at) && goOn(tenant, ids.devices, at)) return
        throw error
      }
      for (const id of ids.locations) settle(tenant, id, living.has(id) ? laneOf(tenant.accountId, id) : null, at)
      for (const id of ids.devices) settle(tenant, id, living.has(id) ? noLane : null, at)
      forgetOldest()
    },
  }
}
