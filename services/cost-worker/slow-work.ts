import type { PricingBook } from '../platform/pricing-book.ts'
import { endPortion, type OwedStep } from './owed-steps.ts'
import { isCounted, type LaneRecord, type Origin } from './settle.ts'
import type { Arrived } from './settle-step.ts'
import type { Portion, SplitStep } from './split-step.ts'
import { edgesAbout } from './step-load.ts'

/** A portion that waits, of a step whose rows before it are stored once `after` settles. */
type Waiting = Portion & { readonly step: OwedStep; readonly after: Promise<void>; readonly load: AccountLoad }

/** Records and readings of an account that wait, and about how many pieces they have. */
type AccountLoad = { records: number; pieces: number }

/**
 * What is settled together: of each location what came first, as if one step had brought it. `ended`: portions that are settled to their end
 * with it.
 */
export type SlowBatch = {
  readonly arrived: Arrived
  readonly after: Promise<unknown>
  readonly ended: readonly Waiting[]
  /** Find the step that a record, or the interval of a reading, came with. */
  readonly stepOf: (entry: LaneRecord) => OwedStep | undefined
  /** A step of each lane, by partition. */
  readonly lanes: ReadonlyMap<number, OwedStep>
}

type Taken = { readonly own: Waiting; readonly isEnded: boolean }

/** How much a batch takes yet. */
type Room = { pieces: number; records: number }

/**
 * Work of locations that may take long, kept beside the steps: each location's in order, accounts in turn, a bounded amount at a time.
 * Nothing of it is committed before it is stored.
 */
export type SlowWork = {
  readonly isBusy: (locationId: string) => boolean
  /** Tell whether so much waits that no more messages should be taken. */
  readonly isFull: () => boolean
  /** Tell whether so much of one account waits that no more of its records should be accepted. */
  readonly isAccountFull: (accountId: string) => boolean
  /** Tell whether work of a partition waits or is under way. */
  readonly isPartitionBusy: (partition: number) => boolean
  readonly add: (split: Pick<SplitStep, 'portions' | 'slowChunks'>, step: OwedStep, after: Promise<void>) => void
  /** Take the next batch; null if nothing waits. */
  readonly next: () => SlowBatch | null
  /** The batch that was taken last is stored. */
  readonly end: (batch: SlowBatch) => void
  readonly clear: () => void
}

/** A batch has about so many pieces, at least one record, and so many records at most. */
const batchBounds = { pieces: 50_000, records: 20_000 }
/** Pieces of a batch of a location with tiers, as a multiple of those before it. */
const growthOfBatch = 3
/** Records and readings that may wait, in all and of one account, and their pieces of one account: these take some ten seconds. */
export type SlowBounds = { readonly records: number; readonly ofAccount: number; readonly piecesOfAccount: number }

export const usualSlow: SlowBounds = { records: 100_000, ofAccount: 20_000, piecesOfAccount: 2_000_000 }
/** Of a record whose prices are not known yet. */
const unknownPieces = 1_000
/** Of a reading: what it brings is not known before it is looked at. */
const readingPieces = 100

const sizeOf = ({ records, readings }: Portion): number => records.length + readings.length

const firstOf = (ids: Iterable<string>, isFit: (id: string) => boolean): string | undefined => {
  for (const id of ids) if (isFit(id)) return id
  return undefined
}

const hasRoom = ({ pieces, records }: Room): boolean => pieces > 0 && records > 0

const recordsOf = (parts: readonly Waiting[]): Arrived['records'] => {
  const found = new Map<string, LaneRecord[]>()
  for (const { locationId, records } of parts) {
    if (records.length === 0) continue
    const own = found.get(locationId)
    if (own === undefined) found.set(locationId, [...records])
    else for (const entry of records) own.push(entry)
  }
  return found
}

/** Messages are of one step each; an interval whose message is not known is told of with the first step of its location. */
const stepIndex = (parts: readonly Waiting[]): SlowBatch['stepOf'] => {
  const byOrigin = new Map<Origin | null, OwedStep>()
  const byLocation = new Map<string, OwedStep>()
  for (const { step, locationId, records, readings } of parts) {
    if (!byLocation.has(locationId)) byLocation.set(locationId, step)
    for (const { origin } of [...records, ...readings]) byOrigin.set(origin, step)
  }
  return ({ origin, record }) => (origin === null ? undefined : byOrigin.get(origin)) ?? byLocation.get(record.locationId)
}

/** Make an empty store of slow work. */
export const slowWork = (pricing: Pick<PricingBook, 'held'>, bounds: SlowBounds = usualSlow): SlowWork => {
  /** Portions in order, by location, by account; the account and location that come next are first. */
  const accounts = new Map<string, Map<string, Waiting[]>>()
  const busy = new Map<string, number>()
  const loads = new Map<string, AccountLoad>()
  const partitions = new Map<number, number>()
  /** Pieces that batches have taken of a location with tiers since it became busy. */
  const passed = new Map<string, number>()
  let waiting = 0

  const piecesOf = ({ record: { locationId, tariffDirection, start, end } }: LaneRecord, unknown = unknownPieces): number => {
    const held = pricing.held(locationId, start)
    const length = { from: start, to: end, lengthMs: end - start, longestMs: end - start }
    return 1 + (held === undefined ? unknown : edgesAbout(held, tariffDirection, length))
  }

  const loadOf = (portion: Portion): AccountLoad => ({
    records: sizeOf(portion),
    pieces: portion.records.reduce((sum, entry) => sum + piecesOf(entry, 0), 0),
  })

  const count = (accountId: string, { records, pieces }: AccountLoad): void => {
    const load = loads.get(accountId) ?? { records: 0, pieces: 0 }
    load.records += records
    load.pieces += pieces
    if (load.records > 0) loads.set(accountId, load)
    else loads.delete(accountId)
  }

  /** Cut off the records of a portion that fit; what else it has goes with the last of them. */
  const cut = (portion: Waiting, room: Room): { readonly own: Waiting; readonly rest: Waiting | null } => {
    let count = 0
    for (const entry of portion.records) {
      if (room.records <= 0 || room.pieces <= 0) break
      room.pieces -= piecesOf(entry)
      room.records -= 1
      count += 1
    }
    if (count === portion.records.length) {
      room.pieces -= portion.readings.length * readingPieces
      room.records -= portion.readings.length
      return { own: portion, rest: null }
    }
    const own = { ...portion, records: portion.records.slice(0, count), readings: [], orders: [] }
    return { own, rest: { ...portion, records: portion.records.slice(count) } }
  }

  const add: SlowWork['add'] = ({ portions, slowChunks }, step, after) => {
    for (const [accountId, own] of Map.groupBy(portions, portion => portion.accountId)) {
      const share = step.slow.get(accountId)
      if (share === undefined) step.slow.set(accountId, { left: own.length, chunks: slowChunks.get(accountId) ?? [], poison: [] })
      else share.left += own.length
    }
    for (const portion of portions) {
      const { accountId, locationId, partition } = portion
      const locations = accounts.get(accountId) ?? new Map<string, Waiting[]>()
      accounts.set(accountId, locations)
      const own = locations.get(locationId) ?? []
      const load = loadOf(portion)
      count(accountId, load)
      partitions.set(partition, (partitions.get(partition) ?? 0) + 1)
      own.push({ ...portion, step, after, load })
      locations.set(locationId, own)
      busy.set(locationId, (busy.get(locationId) ?? 0) + 1)
      step.slowLanes.set(partition, (step.slowLanes.get(partition) ?? 0) + 1)
      waiting += sizeOf(portion)
    }
  }

  const isTiered = ({ locationId, records }: Portion): boolean =>
    records.some(entry => {
      const held = pricing.held(locationId, entry.record.start)
      return held !== undefined && isCounted(held, entry)
    })

  /**
   * Take from one location within the room of a batch. Records of a location with tiers may cause all before them to be costed again. A batch
   * therefore takes more of it than the batches before: the whole then grows in proportion to the records.
   */
  const takeWithin = (locations: Map<string, Waiting[]>, locationId: string, room: Room): readonly Taken[] => {
    const [first] = locations.get(locationId) ?? []
    if (first === undefined || !isTiered(first)) return takeFrom(locations, locationId, room)
    const before = passed.get(locationId) ?? 0
    const own = { ...room, pieces: Math.max(room.pieces, growthOfBatch * before) }
    const most = own.pieces
    const taken = takeFrom(locations, locationId, own)
    passed.set(locationId, before + most - own.pieces)
    room.pieces -= most - own.pieces
    room.records = own.records
    return taken
  }

  /**
   * Take the first portions of a location that fit, the last of them maybe in part: orders that would each pass over the same rows become
   * one only where they are done together. What is left of the location goes behind the others of its account.
   */
  const takeFrom = (locations: Map<string, Waiting[]>, locationId: string, room: Room): readonly Taken[] => {
    const left = [...(locations.get(locationId) as [Waiting, ...Waiting[]])]
    const taken: Taken[] = []
    const ids = new Set<string>()
    for (let [first] = left; first !== undefined && (taken.length === 0 || hasRoom(room)); [first] = left) {
      // A step has each identity once.
      if (first.records.some(({ record }) => ids.has(record.recordId))) break
      const { own, rest } = cut(first, room)
      taken.push({ own, isEnded: rest === null })
      if (rest !== null) {
        left[0] = rest
        break
      }
      left.shift()
      for (const { record } of own.records) ids.add(record.recordId)
    }
    locations.delete(locationId)
    if (left.length > 0) locations.set(locationId, left)
    return taken
  }

  /** Take from one location of each account in turn, until there is no more room; from each location once. */
  const takeBatch = (): readonly Taken[] => {
    const room = { ...batchBounds }
    const taken = new Map<string, readonly Taken[]>()
    for (let hasTaken = true; hasTaken; ) {
      hasTaken = false
      for (const [accountId, locations] of [...accounts]) {
        const locationId = firstOf(locations.keys(), id => !taken.has(id))
        if (locationId === undefined || !hasRoom(room)) continue
        taken.set(locationId, takeWithin(locations, locationId, room))
        // The account goes behind all others.
        accounts.delete(accountId)
        if (locations.size > 0) accounts.set(accountId, locations)
        hasTaken = true
      }
    }
    return [...taken.values()].flat()
  }

  const next: SlowWork['next'] = () => {
    if (accounts.size === 0) return null
    const taken = takeBatch()
    const parts = taken.map(({ own }) => own)
    return {
      arrived: {
        records: recordsOf(parts),
        readings: parts.flatMap(({ readings }) => readings),
        orders: parts.flatMap(({ orders }) => orders),
      },
      after: Promise.all(parts.map(({ after }) => after)),
      ended: taken.filter(({ isEnded }) => isEnded).map(({ own }) => own),
      stepOf: stepIndex(parts),
      lanes: new Map(parts.map(({ partition, step }) => [partition, step])),
    }
  }

  const end: SlowWork['end'] = ({ arrived, ended }) => {
    for (const entries of arrived.records.values()) waiting -= entries.length
    waiting -= arrived.readings.length
    for (const { step, accountId, locationId, partition, load } of ended) {
      endPortion(step, accountId, partition)
      count(accountId, { records: -load.records, pieces: -load.pieces })
      partitions.set(partition, (partitions.get(partition) ?? 1) - 1)
      const left = (busy.get(locationId) ?? 1) - 1
      if (left > 0) busy.set(locationId, left)
      else {
        busy.delete(locationId)
        passed.delete(locationId)
      }
    }
  }

  return {
    isBusy: locationId => busy.has(locationId),
    isFull: () => waiting >= bounds.records,
    isAccountFull: accountId => {
      const { records, pieces } = loads.get(accountId) ?? { records: 0, pieces: 0 }
      return records >= bounds.ofAccount || pieces >= bounds.piecesOfAccount
    },
    isPartitionBusy: partition => (partitions.get(partition) ?? 0) > 0,
    add,
    next,
    end,
    clear: () => {
      accounts.clear()
      busy.clear()
      loads.clear()
      partitions.clear()
      passed.clear()
      waiting = 0
    },
  }
}
