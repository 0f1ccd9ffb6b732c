import { piecesAbout } from '../domain/cost/cost-record.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import { endPortion, type OwedStep } from './owed-steps.ts'
import { isLong, type LaneRecord } from './settle.ts'
import type { Arrived } from './settle-step.ts'
import type { Portion, SplitStep } from './split-step.ts'

/** A portion that waits, of a step whose rows before it are stored once `after` settles. */
type Waiting = Portion & { readonly step: OwedStep; readonly after: Promise<void> }

/** What is settled together: of each location what came first. `ended`: portions that are settled to their end with it. */
export type SlowBatch = {
  readonly arrived: Arrived
  readonly after: Promise<unknown>
  readonly ended: readonly Waiting[]
  /** By location. */
  readonly stepOf: ReadonlyMap<string, OwedStep>
}

type Taken = { readonly own: Waiting; readonly isEnded: boolean }

/**
 * Work of locations that may take long, kept beside the steps: each location's in order, accounts in turn, a bounded amount at a time.
 * Nothing of it is committed before it is stored.
 */
export type SlowWork = {
  readonly isBusy: (locationId: string) => boolean
  /** Tell whether so much waits that no more messages should be taken. */
  readonly isFull: () => boolean
  readonly add: (split: Pick<SplitStep, 'portions' | 'slowChunks'>, step: OwedStep, after: Promise<void>) => void
  /** Take the next batch; null if nothing waits. */
  readonly next: () => SlowBatch | null
  /** The batch that was taken last is stored. */
  readonly end: (batch: SlowBatch) => void
  readonly clear: () => void
}

/** A batch has about so many pieces, at least one record, and so many records at most. */
const batchBounds = { pieces: 50_000, records: 1_000 }
/** Records and readings that may wait. */
const maxWaiting = 100_000
/** A long record whose prices are not known yet. */
const unknownPieces = 5_000

const sizeOf = ({ records, readings }: Portion): number => records.length + readings.length

const firstOf = (ids: Iterable<string>, isFit: (id: string) => boolean): string | undefined => {
  for (const id of ids) if (isFit(id)) return id
  return undefined
}

/** Make an empty store of slow work. */
export const slowWork = (pricing: Pick<PricingBook, 'held'>): SlowWork => {
  /** Portions in order, by location, by account; the account and location that come next are first. */
  const accounts = new Map<string, Map<string, Waiting[]>>()
  const busy = new Map<string, number>()
  let waiting = 0

  const piecesOf = (entry: LaneRecord): number => {
    if (!isLong(entry)) return 1
    const { locationId, tariffDirection, start, end } = entry.record
    const held = pricing.held(locationId, start)
    return held === undefined ? unknownPieces : piecesAbout(held.snapshot, tariffDirection, start, end - start)
  }

  /** Cut off the records of a portion that fit; what else it has goes with the last of them. */
  const cut = (portion: Waiting, room: { pieces: number; records: number }): { readonly own: Waiting; readonly rest: Waiting | null } => {
    let count = 0
    for (const entry of portion.records) {
      if (room.records <= 0 || room.pieces <= 0) break
      room.pieces -= piecesOf(entry)
      room.records -= 1
      count += 1
    }
    if (count === portion.records.length) {
      // What a reading brings is not known before it is looked at.
      room.pieces -= portion.readings.length
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
      own.push({ ...portion, step, after })
      locations.set(locationId, own)
      busy.set(locationId, (busy.get(locationId) ?? 0) + 1)
      step.slowLanes.set(partition, (step.slowLanes.get(partition) ?? 0) + 1)
      waiting += sizeOf(portion)
    }
  }

  /** Take the first portion of a location, or a part of it. What is left of the location goes behind the others of its account. */
  const takeFrom = (locations: Map<string, Waiting[]>, locationId: string, room: { pieces: number; records: number }): Taken => {
    const [first, ...others] = locations.get(locationId) as [Waiting, ...Waiting[]]
    const { own, rest } = cut(first, room)
    const left = rest === null ? others : [rest, ...others]
    locations.delete(locationId)
    if (left.length > 0) locations.set(locationId, left)
    return { own, isEnded: rest === null }
  }

  /** Take from one location of each account in turn, until there is no more room; from each location once. */
  const takeBatch = (): readonly Taken[] => {
    const room = { ...batchBounds }
    const taken = new Map<string, Taken>()
    for (let hasTaken = true; hasTaken; ) {
      hasTaken = false
      for (const [accountId, locations] of [...accounts]) {
        const locationId = firstOf(locations.keys(), id => !taken.has(id))
        if (locationId === undefined || room.pieces <= 0 || room.records <= 0) continue
        taken.set(locationId, takeFrom(locations, locationId, room))
        // The account goes behind all others.
        accounts.delete(accountId)
        if (locations.size > 0) accounts.set(accountId, locations)
        hasTaken = true
      }
    }
    return [...taken.values()]
  }

  const next: SlowWork['next'] = () => {
    if (accounts.size === 0) return null
    const taken = takeBatch()
    const parts = taken.map(({ own }) => own)
    return {
      arrived: {
        records: new Map(parts.filter(({ records }) => records.length > 0).map(({ locationId, records }) => [locationId, records])),
        readings: parts.flatMap(({ readings }) => readings),
        orders: parts.flatMap(({ orders }) => orders),
      },
      after: Promise.all(parts.map(({ after }) => after)),
      ended: taken.filter(({ isEnded }) => isEnded).map(({ own }) => own),
      stepOf: new Map(parts.map(({ locationId, step }) => [locationId, step])),
    }
  }

  const end: SlowWork['end'] = ({ arrived, ended }) => {
    for (const entries of arrived.records.values()) waiting -= entries.length
    waiting -= arrived.readings.length
    for (const { step, accountId, locationId, partition } of ended) {
      endPortion(step, accountId, partition)
      const left = (busy.get(locationId) ?? 1) - 1
      if (left > 0) busy.set(locationId, left)
      else busy.delete(locationId)
    }
  }

  return {
    isBusy: locationId => busy.has(locationId),
    isFull: () => waiting >= maxWaiting,
    add,
    next,
    end,
    clear: () => {
      accounts.clear()
      busy.clear()
      waiting = 0
    },
  }
}
