import { resolveReference, unknownReferenceMessage } from '../contract/reference.ts'
import { isId } from '../domain/identifier.ts'
import {
  type FindReferences,
  noReferenceIds,
  type OwnReference,
  type ReferenceIds,
  readReference,
} from '../domain/reference.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { referencePlaceholderId } from '../platform/ids/new-id.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'

type ObjectKind = 'location' | 'device'

/** The location and device that a record or a register names. */
type LocationAndDevice = { readonly locationId: string; readonly deviceId: string | null }

/** Locations and devices that the records of a submission name, by id or by own reference. */
export type NamedObjects = {
  /** Note the name of an object, before `resolve`. An id needs no search. */
  readonly note: (kind: ObjectKind, text: string | null) => void
  /**
   * Find all noted references in one search; without references, nothing is searched. Throws `Failure` if the store is
   * unavailable.
   */
  readonly resolve: (find: FindReferences) => Promise<void>
  /** Return whether a reference was noted. */
  readonly hasReferences: () => boolean
  /**
   * Return the ids of noted objects: an id unchanged, a reference as the id of its object. Refuses an unknown
   * reference.
   */
  readonly idsOf: (objects: LocationAndDevice) => Result<LocationAndDevice>
  /** Return the id to store with the failure of a record; null if the text is neither an id nor a reference. */
  readonly failureIdOf: (kind: ObjectKind, text: string | null) => string | null
}

const allowedKinds = { location: ['location'], device: ['device'] } as const

/** Create the names of one submission. */
export const namedObjects = (tenant: Tenant): NamedObjects => {
  const noted = { location: new Map<string, OwnReference>(), device: new Map<string, OwnReference>() }
  let found: ReferenceIds = noReferenceIds

  const idOf = (kind: ObjectKind, text: string): Result<string> => {
    const reference = noted[kind].get(text)
    if (reference === undefined) return accepted(text)
    const id = resolveReference(reference, found)
    if (!id.ok || id.value !== null) return id as Result<string>
    return refused(`${kind}_not_found`, unknownReferenceMessage(reference), `${kind}_id`)
  }

  return {
    note: (kind, text) => {
      const reference = text === null ? null : readReference(text, allowedKinds[kind])
      if (text !== null && reference !== null) noted[kind].set(text, reference)
    },
    resolve: async find => {
      const wanted = [...noted.location.values(), ...noted.device.values()]
      if (wanted.length > 0) found = await find(tenant, wanted)
    },
    hasReferences: () => noted.location.size + noted.device.size > 0,
    idsOf: ({ locationId, deviceId }) => {
      const location = idOf('location', locationId)
      if (!location.ok) return location
      const device = deviceId === null ? accepted(null) : idOf('device', deviceId)
      return device.ok ? accepted({ locationId: location.value, deviceId: device.value }) : device
    },
    failureIdOf: (kind, text) => {
      if (text === null) return null
      const id = idOf(kind, text)
      if (!id.ok) return referencePlaceholderId(tenant, kind, noted[kind].get(text)?.reference ?? '')
      return isId(kind, id.value) ? id.value : null
    },
  }
}

/**
 * Replace the references of one record or register by ids. Refuses an unknown reference. Throws `Failure` if the store
 * is unavailable.
 */
export const withObjectIds = async <T extends LocationAndDevice>(
  tenant: Tenant,
  objects: T,
  find: FindReferences,
): Promise<Result<T>> => {
  const named = namedObjects(tenant)
  named.note('location', objects.locationId)
  named.note('device', objects.deviceId)
  if (!named.hasReferences()) return accepted(objects)
  await named.resolve(find)
  const ids = named.idsOf(objects)
  return ids.ok ? accepted({ ...objects, ...ids.value }) : ids
}
