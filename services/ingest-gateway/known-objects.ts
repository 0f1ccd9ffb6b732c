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
  /**
   * Make certain of some ids, and return those that exist, by their ids: who asked need not find them again later, when they may be
   * forgotten. Throws `Failure` where that cannot be told.
   */
  readonly ask: (tenant: Tenant, ids: Unsure, at: number) => Promise<Found>
}

/** Objects that exist, by their ids. */
export type Found = ReadonlyMap<string, KnownObject>

/** Equal for the same tenant alone. */
export type Owner = { readonly tenant: Tenant }

/** A location or device that lives; devices have no lane of their own. */
export type KnownObject = PartObject & {
  readonly owner: Owner
  readonly isDevice: boolean
  readonly lane: number
  believedUntil: number
  /** A look-up has found no such object. */
  isGone: boolean
}

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

  const settle = (tenant: Tenant, id: string, lane: number | null, at: number): KnownObject | null => {
    const entry = known.get(id)
    const isOwn = entry !== undefined && isOf(entry, tenant)
    if (entry !== undefined && (isOwn || lane !== null)) {
      forget(entry)
      entry.isGone = lane === null
    }
    if (lane === null) return null
    const made = {
      ...bitsOf(id),
      id,
      owner: ownerOf(tenant),
      isDevice: lane === noLane,
      lane,
      believedUntil: at + believedMs,
      isGone: false,
      mark: 0,
      index: 0,
    }
    known.set(id, made)
    table.put(made, known.size)
    return made
  }

  /** What is held of some ids; null where that is not all of them. */
  const heldOf = (tenant: Tenant, ids: Unsure): Found | null => {
    const held = new Map<string, KnownObject>()
    for (const id of [...ids.locations, ...ids.devices]) {
      const entry = known.get(id)
      if (entry === undefined || !isOf(entry, tenant)) return null
      held.set(id, entry)
    }
    return held
  }

  /** Believe what was held a while ago. Objects that another look-up has found gone meanwhile stay so. */
  const goOn = (held: Found, until: number): Found => {
    const found = new Map<string, KnownObject>()
    for (const [id, before] of held) {
      const entry = known.get(id) ?? before
      if (entry.isGone) continue
      entry.believedUntil = Math.max(entry.believedUntil, until)
      found.set(id, entry)
    }
    return found
  }

  const forgetOldest = (): void => {
    for (const entry of known.values()) {
      if (known.size <= most) return
      forget(entry)
    }
  }

  /** Until when, by the process's own clock, the store is not asked about objects that were found before. */
  let quietUntil = Number.NEGATIVE_INFINITY

  const lookUp = async (tenant: Tenant, ids: Unsure, at: number): Promise<Found> => {
    const found = new Map<string, KnownObject>()
    const note = (id: string, lane: number | null): void => {
      const made = settle(tenant, id, lane, at)
      if (made !== null) found.set(id, made)
    }
    try {
      const living = await answerWithin(answerMs, () => findLiving(tenant, ids))
      quietUntil = Number.NEGATIVE_INFINITY
      for (const id of ids.locations) note(id, living.has(id) ? laneOf(tenant.accountId, id) : null)
      for (const id of ids.devices) note(id, living.has(id) ? noLane : null)
      forgetOldest()
      return found
    } catch (error) {
      if (isAway(error)) quietUntil = performance.now() + pauseMs
      throw error
    }
  }

  /** What the store has told in good time, else null; until it can, nobody else asks it about what is held. */
  const toldSoon = async (begun: number, told: Promise<Found>): Promise<Found | null> => {
    try {
      if (await isDoneWithin(patienceMs, told)) return await told
      quietUntil = Math.max(quietUntil, begun + answerMs)
      return null
    } catch (error) {
      if (isAway(error)) return null
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
      const held = heldOf(tenant, ids)
      if (held === null) return lookUp(tenant, ids, at)
      const begun = performance.now()
      const told = begun >= quietUntil ? await toldSoon(begun, lookUp(tenant, ids, at)) : null
      return told ?? goOn(held, at + (performance.now() - begun) + pauseMs)
    },
  }
}

const isAway = (error: unknown): boolean => isFailure(error) && error.retriable
