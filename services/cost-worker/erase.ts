import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { eraseRows } from '../platform/clickhouse/erase-rows.ts'
import { placesOfDevices } from '../platform/clickhouse/meter-object-reads.ts'
import type { Order } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import { type Erasure, findErasure, loadErasures } from '../platform/postgres/erasures.ts'
import type { LaneRecord } from './settle.ts'

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
  readonly costAgain: (lost: readonly LostEnergy[]) => Promise<void>
  /** Called when something was done: an erasure may take longer than other steps. */
  readonly onProgress?: () => void
}

/** What a location, or a device there, has sent. */
type Metered = { readonly locationId: string; readonly deviceId: string | null }

type Records = ReadonlyMap<string, readonly LaneRecord[]>

/** Keeps erased objects out of the store, and takes them out of it. */
export type Eraser = {
  /** Load the marks that hold: before the first step, and when a lane is assigned. Throws `Failure` while the store is away. */
  readonly load: () => Promise<void>
  /** Load the marks that the erase orders of a step name; before its records are settled. */
  readonly learn: (orders: readonly Order[]) => Promise<void>
  /** Leave out what is of erased objects: rows that were costed again beside an erasure, readings. */
  readonly living: <T extends Metered>(metered: readonly T[]) => readonly T[]
  /** Leave out records of erased objects. */
  readonly withoutErased: (records: Records) => Records
  /**
   * Do the erase orders of a step, once everything that stands before them in their lanes is stored: delete all rows of the objects, have
   * locations that lost a device's energy costed again. Repeats change nothing; a crash in between is repaired by the repeat.
   */
  readonly erase: (orders: readonly Order[]) => Promise<void>
}

const keyOf = ({ accountId, liveMode }: Pick<Erasure, 'accountId' | 'liveMode'>, objectId: string): string =>
  `${accountId}/${liveMode}/${objectId}`

export const isErase = (order: Order): boolean => order.orderKind === 'ERASE' && order.accountId !== null && order.objectId !== null

const erasureOf = ({ accountId, liveMode, objectId }: Order): string => keyOf({ accountId: accountId ?? '', liveMode }, objectId ?? '')

/** At least the rest of any local month: its records were counted behind what is lost, if tiers count. */
const restOfMonthMs = 32 * 86_400_000

/** Locations that stay, and lose what devices that go have counted there. */
const lostBy = async (db: ClickHouse, erasure: Erasure): Promise<readonly LostEnergy[]> => {
  const { accountId, liveMode, locationIds, deviceIds } = erasure
  const gone = new Set(locationIds)
  const lost = new Map<string, LostEnergy>()
  for (const place of await placesOfDevices(db, erasure, deviceIds)) {
    const { locationId, firstStart, lastEnd } = place
    if (gone.has(locationId)) continue
    const known = lost.get(locationId)
    const from = Math.min(firstStart, known?.from ?? firstStart)
    lost.set(locationId, { accountId, liveMode, locationId, from, to: Math.max(lastEnd + restOfMonthMs, known?.to ?? 0) })
  }
  return [...lost.values()]
}

/** Make an eraser that knows no mark yet. */
export const createEraser = ({ database, clickHouse, costAgain, onProgress }: EraserOptions): Eraser => {
  const marks = new Map<string, Erasure>()
  const erased = new Set<string>()

  const remember = (erasure: Erasure): void => {
    marks.set(keyOf(erasure, erasure.objectId), erasure)
    for (const id of [...erasure.locationIds, ...erasure.deviceIds]) erased.add(id)
  }

  // Ids are never given twice, so they need no account beside them.
  const lives = ({ locationId, deviceId }: Metered): boolean => !erased.has(locationId) && (deviceId === null || !erased.has(deviceId))

  const eraseOne = async (erasure: Erasure): Promise<void> => {
    const lost = await lostBy(clickHouse, erasure)
    await eraseRows(clickHouse, erasure, { keepPlaces: lost.length > 0, onProgress })
    if (lost.length === 0) return
    // The places go last: until they do, a repeat finds again what is to be costed again.
    await costAgain(lost)
    await eraseRows(clickHouse, erasure, { keepPlaces: false, onProgress })
  }

  return {
    load: async () => {
      for (const erasure of await loadErasures(database.operator)) remember(erasure)
    },
    learn: async orders => {
      for (const { accountId, liveMode, objectId } of orders.filter(isErase)) {
        const erasure = await findErasure(database.operator, { accountId: accountId ?? '', liveMode }, objectId ?? '')
        if (erasure !== null) remember(erasure)
      }
    },
    living: metered => (erased.size === 0 ? metered : metered.filter(lives)),
    withoutErased: records => {
      if (erased.size === 0) return records
      const kept = [...records].map(([locationId, entries]) => [locationId, entries.filter(({ record }) => lives(record))] as const)
      return new Map(kept.filter(([, entries]) => entries.length > 0))
    },
    erase: async orders => {
      for (const key of new Set(orders.filter(isErase).map(erasureOf))) {
        const erasure = marks.get(key)
        if (erasure !== undefined) await eraseOne(erasure)
      }
    },
  }
}
