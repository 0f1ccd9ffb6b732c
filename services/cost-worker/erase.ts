import type { Tenant } from '../domain/tenant.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { eraseRows } from '../platform/clickhouse/meter-cost/erase-rows.ts'
import { locationsOfDevices } from '../platform/clickhouse/meter-cost/meter-object-reads.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { type Erasure, findErasure, loadErasures } from '../platform/postgres/registry/erasures.ts'
import type { RecordToCost } from './record-to-cost.ts'

/** Location that lost counted energy, and the interval [from, to) in ms whose records can have counted after it. */
export type LostEnergy = Tenant & {
  readonly locationId: string
  readonly from: number
  readonly to: number
}

export type EraserOptions = {
  readonly database: Pick<Database, 'operator'>
  readonly clickHouse: ClickHouse
  /** Append requests to recost locations to their partitions. Resolves when the requests are durable. */
  readonly requestRecosts: (lost: readonly LostEnergy[]) => Promise<void>
  /** Called after each part: an erasure can take longer than other steps. */
  readonly onProgress?: () => void
}

/** Row or record of a location, and of a device there. */
type LocationAndDevice = { readonly locationId: string; readonly deviceId: string | null }

type Records = ReadonlyMap<string, readonly RecordToCost[]>

/** Removes erased objects from the store, and from the records and rows of steps. */
export type Eraser = {
  /**
   * Load all erasures: before the first step and after an assignment. Throws `Failure` while the store is unavailable.
   */
  readonly loadAll: () => Promise<void>
  /** Load the erasures that the requests of a step name, before its records are costed. */
  readonly loadRequested: (requests: readonly StoredRowRequest[]) => Promise<void>
  /** Return rows or readings without those of erased objects. An erasure can start while rows are being costed. */
  readonly withoutErasedRows: <T extends LocationAndDevice>(objects: readonly T[]) => readonly T[]
  /** Return whether no erasure names the location or the device. */
  readonly isActive: (object: LocationAndDevice) => boolean
  /** Return records without those of erased objects. */
  readonly withoutErasedRecords: (records: Records) => Records
  /**
   * Do the erase requests of a step, after all earlier messages of their partitions are stored. Delete all rows of the
   * objects, and request recosts of the locations that lost a device's energy. A repeat changes nothing, and completes
   * an interrupted erasure.
   */
  readonly erase: (requests: readonly StoredRowRequest[]) => Promise<void>
}

const keyOf = ({ accountId, liveMode }: Pick<Erasure, 'accountId' | 'liveMode'>, objectId: string): string =>
  `${accountId}/${liveMode}/${objectId}`

export const isEraseRequest = (request: StoredRowRequest): boolean =>
  request.orderKind === 'ERASE' && request.accountId !== null && request.objectId !== null

const erasureKeyOf = ({ accountId, liveMode, objectId }: StoredRowRequest): string =>
  keyOf({ accountId: accountId ?? '', liveMode }, objectId ?? '')

/** Longer than any local month: with tiers, later records of the month counted after the lost energy. */
const restOfMonthMs = 32 * 86_400_000

/** Return the remaining locations that lose the energy of erased devices. */
const lostEnergyOf = async (db: ClickHouse, erasure: Erasure): Promise<readonly LostEnergy[]> => {
  const { accountId, liveMode, locationIds, deviceIds } = erasure
  const erasedLocations = new Set(locationIds)
  const lost = new Map<string, LostEnergy>()
  for (const metered of await locationsOfDevices(db, erasure, deviceIds)) {
    const { locationId, firstStart, lastEnd } = metered
    if (erasedLocations.has(locationId)) continue
    const earlier = lost.get(locationId)
    const from = Math.min(firstStart, earlier?.from ?? firstStart)
    lost.set(locationId, {
      accountId,
      liveMode,
      locationId,
      from,
      to: Math.max(lastEnd + restOfMonthMs, earlier?.to ?? 0),
    })
  }
  return [...lost.values()]
}

/** Create an eraser without any erasures. */
export const createEraser = ({ database, clickHouse, requestRecosts, onProgress }: EraserOptions): Eraser => {
  const marks = new Map<string, Erasure>()
  const erased = new Set<string>()

  const remember = (erasure: Erasure): void => {
    marks.set(keyOf(erasure, erasure.objectId), erasure)
    for (const id of [...erasure.locationIds, ...erasure.deviceIds]) erased.add(id)
  }

  // An id is unique over all accounts.
  const isActive = ({ locationId, deviceId }: LocationAndDevice): boolean =>
    erased.size === 0 || (!erased.has(locationId) && (deviceId === null || !erased.has(deviceId)))

  const eraseOne = async (erasure: Erasure): Promise<void> => {
    const lost = await lostEnergyOf(clickHouse, erasure)
    await eraseRows(clickHouse, erasure, { keepDeviceLocations: lost.length > 0, onProgress })
    if (lost.length === 0) return
    // The locations of the devices are last. Until then, a repeat finds the same lost energy.
    await requestRecosts(lost)
    await eraseRows(clickHouse, erasure, { keepDeviceLocations: false, onProgress })
  }

  return {
    loadAll: async () => {
      for (const erasure of await loadErasures(database.operator)) remember(erasure)
    },
    loadRequested: async requests => {
      for (const { accountId, liveMode, objectId } of requests.filter(isEraseRequest)) {
        const erasure = await findErasure(database.operator, { accountId: accountId ?? '', liveMode }, objectId ?? '')
        if (erasure !== null) remember(erasure)
      }
    },
    isActive,
    withoutErasedRows: objects => (erased.size === 0 ? objects : objects.filter(isActive)),
    withoutErasedRecords: records => {
      if (erased.size === 0) return records
      const retained = [...records].map(
        ([locationId, entries]) => [locationId, entries.filter(({ record }) => isActive(record))] as const,
      )
      return new Map(retained.filter(([, entries]) => entries.length > 0))
    },
    erase: async requests => {
      for (const key of new Set(requests.filter(isEraseRequest).map(erasureKeyOf))) {
        const erasure = marks.get(key)
        if (erasure !== undefined) await eraseOne(erasure)
      }
    },
  }
}
