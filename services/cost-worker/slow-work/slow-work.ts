import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { StepInput } from '../cost-step.ts'
import { finishSlowTask, type PendingStep } from '../pending-steps.ts'
import { isCounted, type MessageOrigin, type RecordToCost } from '../record-to-cost.ts'
import type { SlowTask, SplitStep } from './split-step.ts'
import { estimateEdges } from './step-load.ts'

/** A portion that waits, of a step whose rows before it are stored once `after` settles. */
type WaitingTask = SlowTask & {
  readonly step: PendingStep
  readonly after: Promise<void>
  readonly load: SlowAccountLoad
}

/** Records and readings of an account that wait, and about how many pieces they have. */
type SlowAccountLoad = { records: number; pieces: number }

/**
 * What is settled together: of each location what came first, as if one step had brought it. `ended`: portions that are settled to their end
 * with it.
 */
export type SlowBatch = {
  readonly input: StepInput
  readonly after: Promise<unknown>
  readonly finished: readonly WaitingTask[]
  /** Find the step that a record, or the interval of a reading, came with. */
  readonly stepOf: (entry: RecordToCost) => PendingStep | undefined
  /** A step of each lane, by partition. */
  readonly stepsByPartition: ReadonlyMap<number, PendingStep>
}

type TakenTask = { readonly task: WaitingTask; readonly isFinished: boolean }

/** How much a batch takes yet. */
type BatchCapacity = { pieces: number; records: number }

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
  readonly add: (split: Pick<SplitStep, 'slowTasks' | 'slowChunks'>, step: PendingStep, after: Promise<void>) => void
  /** Take the next batch; null if nothing waits. */
  readonly next: () => SlowBatch | null
  /** The batch that was taken last is stored. */
  readonly end: (batch: SlowBatch) => void
  readonly clear: () => void
}

/** A batch has about so many pieces, at least one record, and so many records at most. */
const batchLimits = { pieces: 50_000, records: 20_000 }
/** Pieces of a batch of a location with tiers, as a multiple of those before it. */
const growthOfBatch = 3
/** Records and readings that may wait, in all and of one account, and their pieces of one account: these take some ten seconds. */
export type SlowWorkLimits = {
  readonly maxRecords: number
  readonly maxRecordsPerAccount: number
  readonly maxPiecesPerAccount: number
}

export const defaultSlowWorkLimits: SlowWorkLimits = {
  maxRecords: 100_000,
  maxRecordsPerAccount: 20_000,
  maxPiecesPerAccount: 2_000_000,
}
/** Of a record whose prices are not known yet. */
const unknownPieces = 1_000
/** Of a reading: what it brings is not known before it is looked at. */
const readingPieces = 100

const recordCountOf = ({ records, readings }: SlowTask): number => records.length + readings.length

const findFirst = (ids: Iterable<string>, isFit: (id: string) => boolean): string | undefined => {
  for (const id of ids) if (isFit(id)) return id
  return undefined
}

const hasCapacity = ({ pieces, records }: BatchCapacity): boolean => pieces > 0 && records > 0

const recordsOf = (tasks: readonly WaitingTask[]): StepInput['records'] => {
  const found = new Map<string, RecordToCost[]>()
  for (const { locationId, records } of tasks) {
    if (records.length === 0) continue
    const task = found.get(locationId)
    if (task === undefined) found.set(locationId, [...records])
    else for (const entry of records) task.push(entry)
  }
  return found
}

/** Messages are of one step each; an interval whose message is not known is told of with the first step of its location. */
const stepFinder = (tasks: readonly WaitingTask[]): SlowBatch['stepOf'] => {
  const byOrigin = new Map<MessageOrigin | null, PendingStep>()
  const byLocation = new Map<string, PendingStep>()
  for (const { step, locationId, records, readings } of tasks) {
    if (!byLocation.has(locationId)) byLocation.set(locationId, step)
    for (const { origin } of [...records, ...readings]) byOrigin.set(origin, step)
  }
  return ({ origin, record }) =>
    (origin === null ? undefined : byOrigin.get(origin)) ?? byLocation.get(record.locationId)
}

/** Make an empty store of slow work. */
export const slowWork = (
  pricing: Pick<PricingCache, 'cached'>,
  limits: SlowWorkLimits = defaultSlowWorkLimits,
): SlowWork => {
  /** Portions in order, by location, by account; the account and location that come next are first. */
  const accounts = new Map<string, Map<string, WaitingTask[]>>()
  const busy = new Map<string, number>()
  const loads = new Map<string, SlowAccountLoad>()
  const partitions = new Map<number, number>()
  /** Pieces that batches have taken of a location with tiers since it became busy. */
  const passed = new Map<string, number>()
  let waiting = 0

  const piecesOf = (
    { record: { locationId, tariffDirection, start, end } }: RecordToCost,
    piecesIfUnknown = unknownPieces,
  ): number => {
    const cachedPricing = pricing.cached(locationId, start)
    const length = { from: start, to: end, lengthMs: end - start, longestMs: end - start }
    return 1 + (cachedPricing === undefined ? piecesIfUnknown : estimateEdges(cachedPricing, tariffDirection, length))
  }

  const loadOf = (waitingTask: SlowTask): SlowAccountLoad => ({
    records: recordCountOf(waitingTask),
    pieces: waitingTask.records.reduce((sum, entry) => sum + piecesOf(entry, 0), 0),
  })

  const count = (accountId: string, { records, pieces }: SlowAccountLoad): void => {
    const load = loads.get(accountId) ?? { records: 0, pieces: 0 }
    load.records += records
    load.pieces += pieces
    if (load.records > 0) loads.set(accountId, load)
    else loads.delete(accountId)
  }

  /** Cut off the records of a portion that fit; what else it has goes with the last of them. */
  const cutTask = (
    waitingTask: WaitingTask,
    capacity: BatchCapacity,
  ): { readonly task: WaitingTask; readonly rest: WaitingTask | null } => {
    let count = 0
    for (const entry of waitingTask.records) {
      if (capacity.records <= 0 || capacity.pieces <= 0) break
      capacity.pieces -= piecesOf(entry)
      capacity.records -= 1
      count += 1
    }
    if (count === waitingTask.records.length) {
      capacity.pieces -= waitingTask.readings.length * readingPieces
      capacity.records -= waitingTask.readings.length
      return { task: waitingTask, rest: null }
    }
    const task = { ...waitingTask, records: waitingTask.records.slice(0, count), readings: [], requests: [] }
    return { task, rest: { ...waitingTask, records: waitingTask.records.slice(count) } }
  }

  const add: SlowWork['add'] = ({ slowTasks, slowChunks }, step, after) => {
    for (const [accountId, task] of Map.groupBy(slowTasks, waitingTask => waitingTask.accountId)) {
      const accountWork = step.slowByAccount.get(accountId)
      if (accountWork === undefined)
        step.slowByAccount.set(accountId, {
          remaining: task.length,
          chunks: slowChunks.get(accountId) ?? [],
          poison: [],
        })
      else accountWork.remaining += task.length
    }
    for (const waitingTask of slowTasks) {
      const { accountId, locationId, partition } = waitingTask
      const locations = accounts.get(accountId) ?? new Map<string, WaitingTask[]>()
      accounts.set(accountId, locations)
      const task = locations.get(locationId) ?? []
      const load = loadOf(waitingTask)
      count(accountId, load)
      partitions.set(partition, (partitions.get(partition) ?? 0) + 1)
      task.push({ ...waitingTask, step, after, load })
      locations.set(locationId, task)
      busy.set(locationId, (busy.get(locationId) ?? 0) + 1)
      step.slowTasksByPartition.set(partition, (step.slowTasksByPartition.get(partition) ?? 0) + 1)
      waiting += recordCountOf(waitingTask)
    }
  }

  const isTiered = ({ locationId, records }: SlowTask): boolean =>
    records.some(entry => {
      const cachedPricing = pricing.cached(locationId, entry.record.start)
      return cachedPricing !== undefined && isCounted(cachedPricing, entry)
    })

  /**
   * Take from one location within the room of a batch. Records of a location with tiers may cause all before them to be costed again. A batch
   * therefore takes more of it than the batches before: the whole then grows in proportion to the records.
   */
  const takeWithin = (
    locations: Map<string, WaitingTask[]>,
    locationId: string,
    capacity: BatchCapacity,
  ): readonly TakenTask[] => {
    const [first] = locations.get(locationId) ?? []
    if (first === undefined || !isTiered(first)) return takeFrom(locations, locationId, capacity)
    const before = passed.get(locationId) ?? 0
    const task = { ...capacity, pieces: Math.max(capacity.pieces, growthOfBatch * before) }
    const most = task.pieces
    const taken = takeFrom(locations, locationId, task)
    passed.set(locationId, before + most - task.pieces)
    capacity.pieces -= most - task.pieces
    capacity.records = task.records
    return taken
  }

  /**
   * Take the first portions of a location that fit, the last of them maybe in part: orders that would each pass over the same rows become
   * one only where they are done together. What is left of the location goes behind the others of its account.
   */
  const takeFrom = (
    locations: Map<string, WaitingTask[]>,
    locationId: string,
    capacity: BatchCapacity,
  ): readonly TakenTask[] => {
    const remaining = [...(locations.get(locationId) as [WaitingTask, ...WaitingTask[]])]
    const taken: TakenTask[] = []
    const ids = new Set<string>()
    for (
      let [first] = remaining;
      first !== undefined && (taken.length === 0 || hasCapacity(capacity));
      [first] = remaining
    ) {
      // A step has each identity once.
      if (first.records.some(({ record }) => ids.has(record.recordId))) break
      const { task, rest } = cutTask(first, capacity)
      taken.push({ task, isFinished: rest === null })
      if (rest !== null) {
        remaining[0] = rest
        break
      }
      remaining.shift()
      for (const { record } of task.records) ids.add(record.recordId)
    }
    locations.delete(locationId)
    if (remaining.length > 0) locations.set(locationId, remaining)
    return taken
  }

  /** Take from one location of each account in turn, until there is no more room; from each location once. */
  const takeBatch = (): readonly TakenTask[] => {
    const capacity = { ...batchLimits }
    const taken = new Map<string, readonly TakenTask[]>()
    for (let hasTaken = true; hasTaken; ) {
      hasTaken = false
      for (const [accountId, locations] of [...accounts]) {
        const locationId = findFirst(locations.keys(), id => !taken.has(id))
        if (locationId === undefined || !hasCapacity(capacity)) continue
        taken.set(locationId, takeWithin(locations, locationId, capacity))
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
    const tasks = taken.map(({ task }) => task)
    return {
      input: {
        records: recordsOf(tasks),
        readings: tasks.flatMap(({ readings }) => readings),
        requests: tasks.flatMap(({ requests }) => requests),
      },
      after: Promise.all(tasks.map(({ after }) => after)),
      finished: taken.filter(({ isFinished }) => isFinished).map(({ task }) => task),
      stepOf: stepFinder(tasks),
      stepsByPartition: new Map(tasks.map(({ partition, step }) => [partition, step])),
    }
  }

  const end: SlowWork['end'] = ({ input, finished }) => {
    for (const entries of input.records.values()) waiting -= entries.length
    waiting -= input.readings.length
    for (const { step, accountId, locationId, partition, load } of finished) {
      finishSlowTask(step, accountId, partition)
      count(accountId, { records: -load.records, pieces: -load.pieces })
      partitions.set(partition, (partitions.get(partition) ?? 1) - 1)
      const remaining = (busy.get(locationId) ?? 1) - 1
      if (remaining > 0) busy.set(locationId, remaining)
      else {
        busy.delete(locationId)
        passed.delete(locationId)
      }
    }
  }

  return {
    isBusy: locationId => busy.has(locationId),
    isFull: () => waiting >= limits.maxRecords,
    isAccountFull: accountId => {
      const { records, pieces } = loads.get(accountId) ?? { records: 0, pieces: 0 }
      return records >= limits.maxRecordsPerAccount || pieces >= limits.maxPiecesPerAccount
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
