import { isFailure } from '../platform/failure.ts'
import type { PartObject } from '../platform/log/record-part.ts'
import { answerWithin, isDoneWithin } from '../platform/patience.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import { bitsOf, idTable } from './id-table.ts'

/** Ids that a submission names and that are not known for certain. */
export type Unsure = { readonly locations: ReadonlySet<string>; readonly devices: ReadonlySet<string> }

/** Find which of some ids name living objects of a tenant, in one statement. Throws `Failure` while the store is away. */
export type FindLiving = (tenant: Tenant, ids: Unsure) => Promise<ReadonlySet<string>>

/**
 * Which locations and devices records may name. Devices belong to an account, not to a location.
 * What was found alive is believed for 30 s, so a deleted object is refused within 60 s; what was not found is asked for each time, so
 * a new object may be used at once. While the store is away (it refuses, or has not answered after 5 s), objects once found go on; nobody waits
 * for what is known of them already longer than a second, and nobody at all while an answer is overdue or a failure less than a second ago.
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
/** A store that has not answered by then is away. */
const answerMs = 5_000
/** How long a request waits to learn again of objects that were found before. */
const patienceMs = 1_000
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

  const areHeld = (tenant: Tenant, ids: Unsure): boolean => {
    const isHeld = (id: string): boolean => {
      const entry = known.get(id)
      return entry !== undefined && isOf(entry, tenant)
    }
    return [...ids.locations].every(isHeld) && [...ids.devices].every(isHeld)
  }

  /** Objects that another look-up has found gone meanwhile stay so. */
  const goOn = (tenant: Tenant, ids: Unsure, until: number): void => {
    for (const id of [...ids.locations, ...ids.devices]) {
      const entry = known.get(id)
      if (entry !== undefined && isOf(entry, tenant)) entry.believedUntil = Math.max(entry.believedUntil, until)
    }
  }

  const forgetOldest = (): void => {
    for (const entry of known.values()) {
      if (known.size <= most) return
      forget(entry)
    }
  }

  /** Until when, by the process's own clock, the store is not asked about objects that were found before. */
  let quietUntil = Number.NEGATIVE_INFINITY

  const lookUp = async (tenant: Tenant, ids: Unsure, at: number): Promise<void> => {
    try {
      const living = await answerWithin(answerMs, () => findLiving(tenant, ids))
      quietUntil = Number.NEGATIVE_INFINITY
      for (const id of ids.locations) settle(tenant, id, living.has(id) ? laneOf(tenant.accountId, id) : null, at)
      for (const id of ids.devices) settle(tenant, id, living.has(id) ? noLane : null, at)
      forgetOldest()
    } catch (error) {
      if (isAway(error)) quietUntil = performance.now() + pauseMs
      throw error
    }
  }

  /** Tell whether the store has told of the objects in good time; until it can, nobody else asks it about what is held. */
  const isTold = async (begun: number, told: Promise<void>): Promise<boolean> => {
    try {
      const isDone = await isDoneWithin(patienceMs, told)
      if (!isDone) quietUntil = Math.max(quietUntil, begun + answerMs)
      return isDone
    } catch (error) {
      if (isAway(error)) return false
      throw error
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
      if (!areHeld(tenant, ids)) return lookUp(tenant, ids, at)
      const begun = performance.now()
      if (begun >= quietUntil && (await isTold(begun, lookUp(tenant, ids, at)))) return
      goOn(tenant, ids, at + (performance.now() - begun) + pauseMs)
    },
  }
}

const isAway = (error: unknown): boolean => isFailure(error) && error.retriable
