import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { eraseRows } from '../platform/clickhouse/meter-cost/erase-rows.ts'
import { locationsOfDevices } from '../platform/clickhouse/meter-cost/meter-object-reads.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { type Erasure, findErasure, loadErasures } from '../platform/postgres/registry/erasures.ts'
import type { RecordToCost } from './record-to-cost.ts'

/** A location that lost counted energy, and the span whose records may have been counted behind it. Half-open, in ms. */
export type LostEnergy = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly locationId: string
  readonly from: number
  readonly to: number
}

export type EraserOptions = {
  readonly database: Pick<Database, 'operator'>
  readonly clickHouse: ClickHouse
  /** Put orders to cost locations again into their lanes; resolves once they are durable there. */
  readonly requestRecosts: (lost: readonly LostEnergy[]) => Promise<void>
  /** Called when something was done: an erasure may take longer than other steps. */
  readonly onProgress?: () => void
}

/** What a location, or a device there, has sent. */
type LocationAndDevice = { readonly locationId: string; readonly deviceId: string | null }

type Records = ReadonlyMap<string, readonly RecordToCost[]>

/** Keeps erased objects out of the store, and takes them out of it. */
export type Eraser = {
  /** Load the marks that hold: before the first step, and when a lane is assigned. Throws `Failure` while the store is away. */
  readonly loadAll: () => Promise<void>
  /** Load the marks that the erase orders of a step name; before its records are settled. */
  readonly loadRequested: (requests: readonly StoredRowRequest[]) => Promise<void>
  /** Leave out what is of erased objects: rows that were costed again beside an erasure, readings. */
  readonly withoutErasedRows: <T extends LocationAndDevice>(objects: readonly T[]) => readonly T[]
  /** Leave out records of erased objects. */
  readonly withoutErasedRecords: (records: Records) => Records
  /**
   * Do the erase orders of a step, once everything that stands before them in their lanes is stored: delete all rows of the objects, have
   * locations that lost a device's energy costed again. Repeats change nothing; a crash in between is repaired by the repeat.
   */
  readonly erase: (requests: readonly StoredRowRequest[]) => Promise<void>
}

const keyOf = ({ accountId, liveMode }: Pick<Erasure, 'accountId' | 'liveMode'>, objectId: string): string =>
  `${accountId}/${liveMode}/${objectId}`

export const isEraseRequest = (request: StoredRowRequest): boolean =>
  request.orderKind === 'ERASE' && request.accountId !== null && request.objectId !== null

const erasureKeyOf = ({ accountId, liveMode, objectId }: StoredRowRequest): string =>
  keyOf({ accountId: accountId ?? '', liveMode }, objectId ?? '')

/** At least the rest of any local month: its records were counted behind what is lost, if tiers count. */
const restOfMonthMs = 32 * 86_400_000

/** Locations that stay, and lose what devices that go have counted there. */
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

/** Make an eraser that knows no mark yet. */
export const createEraser = ({ database, clickHouse, requestRecosts, onProgress }: EraserOptions): Eraser => {
  const marks = new Map<string, Erasure>()
  const erased = new Set<string>()

  const remember = (erasure: Erasure): void => {
    marks.set(keyOf(erasure, erasure.objectId), erasure)
    for (const id of [...erasure.locationIds, ...erasure.deviceIds]) erased.add(id)
  }

  // Ids are never given twice, so they need no account beside them.
  const isActive = ({ locationId, deviceId }: LocationAndDevice): boolean =>
    !erased.has(locationId) && (deviceId === null || !erased.has(deviceId))

  const eraseOne = async (erasure: Erasure): Promise<void> => {
    const lost = await lostEnergyOf(clickHouse, erasure)
    await eraseRows(clickHouse, erasure, { keepDeviceLocations: lost.length > 0, onProgress })
    if (lost.length === 0) return
    // The places go last: until they do, a repeat finds again what is to be costed again.
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
