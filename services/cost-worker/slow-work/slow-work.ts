import { estimateEdges } from '../../domain/recost/recost-load.ts'
import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { StepInput } from '../cost-step.ts'
import { finishSlowTask, type PendingStep } from '../pending-steps.ts'
import { isCounted, type MessageOrigin, type RecordToCost } from '../record-to-cost.ts'
import type { SlowTask, SplitStep } from './split-step.ts'

/** Task that waits. `after` resolves when the rows before it are stored. */
type WaitingTask = SlowTask & {
  readonly step: PendingStep
  readonly after: Promise<void>
  readonly load: SlowAccountLoad
}

/** Waiting records and readings of an account, and the estimate of their cost pieces. */
type SlowAccountLoad = { records: number; pieces: number }

/** Tasks that are costed together, as if one step had brought them: the first tasks of each location. */
export type SlowBatch = {
  readonly input: StepInput
  readonly after: Promise<unknown>
  /** Tasks that the batch finishes. */
  readonly finished: readonly WaitingTask[]
  /** Return the step that a record, or the interval of a reading, came with. */
  readonly stepOf: (entry: RecordToCost) => PendingStep | undefined
  /** One step for each partition. */
  readonly stepsByPartition: ReadonlyMap<number, PendingStep>
}

type TakenTask = { readonly task: WaitingTask; readonly isFinished: boolean }

/** Remaining size of a batch. */
type BatchCapacity = { pieces: number; records: number }

/**
 * Slow work: tasks of locations that can take long, costed in parallel with the steps. Tasks of a location stay in
 * order, accounts take turns, and a batch has a limited size. The offsets of a task are committed after its rows are
 * stored.
 */
export type SlowWork = {
  readonly isBusy: (locationId: string) => boolean
  /** Return whether so much work waits that the worker must not take more messages. */
  readonly isFull: () => boolean
  /** Return whether so much work of an account waits that the gateway must not accept more of its records. */
  readonly isAccountFull: (accountId: string) => boolean
  /** Return whether work of a partition waits or is being costed. */
  readonly isPartitionBusy: (partition: number) => boolean
  readonly add: (split: Pick<SplitStep, 'slowTasks' | 'slowChunks'>, step: PendingStep, after: Promise<void>) => void
  /** Take the next batch; null if no task waits. */
  readonly next: () => SlowBatch | null
  /** Finish the batch that was taken last: it is stored. */
  readonly end: (batch: SlowBatch) => void
  readonly clear: () => void
}

/** Approximate number of cost pieces, and maximum number of records, of a batch. A batch has at least one record. */
const batchLimits = { pieces: 50_000, records: 20_000 }
/** Pieces of a batch of a tiered location, as a multiple of the pieces of its batches before. */
const batchGrowth = 3

/**
 * Maximum number of waiting records and readings, in all and per account, and of pieces per account. These take about
 * 10 s.
 */
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
/** Assumed pieces of a record whose prices are not cached. */
const unknownPieces = 1_000
/** Assumed pieces of a reading: its interval is not known yet. */
const readingPieces = 100

type Pricing = Pick<PricingCache, 'cached'>

/** Tasks by account and location. */
type SlowQueue = {
  readonly pricing: Pricing
  /** Tasks in order, by location, by account. The first account, and its first location, are next. */
  readonly accounts: Map<string, Map<string, WaitingTask[]>>
  /** Number of tasks of a location that wait or are being costed. */
  readonly busy: Map<string, number>
  readonly loads: Map<string, SlowAccountLoad>
  /** Number of tasks of a partition that wait or are being costed. */
  readonly partitions: Map<number, number>
  /** Pieces of the batches of a tiered location since it became busy. */
  readonly takenPieces: Map<string, number>
  /** Records and readings that wait or are being costed. */
  waiting: number
}

const recordCountOf = ({ records, readings }: SlowTask): number => records.length + readings.length

const hasCapacity = ({ pieces, records }: BatchCapacity): boolean => pieces > 0 && records > 0

const piecesOf = (
  pricing: Pricing,
  { record: { locationId, tariffDirection, start, end } }: RecordToCost,
  piecesIfUnknown: number,
): number => {
  const prices = pricing.cached(locationId, start)
  const length = { from: start, to: end, lengthMs: end - start, longestMs: end - start }
  return 1 + (prices === undefined ? piecesIfUnknown : estimateEdges(prices, tariffDirection, length))
}

const addLoad = ({ loads }: SlowQueue, accountId: string, records: number, pieces: number): void => {
  const load = loads.get(accountId) ?? { records: 0, pieces: 0 }
  load.records += records
  load.pieces += pieces
  if (load.records > 0) loads.set(accountId, load)
  else loads.delete(accountId)
}

const addTask = (queue: SlowQueue, slowTask: SlowTask, step: PendingStep, after: Promise<void>): void => {
  const { accountId, locationId, partition, records } = slowTask
  const locations = queue.accounts.get(accountId) ?? new Map<string, WaitingTask[]>()
  queue.accounts.set(accountId, locations)
  const tasks = locations.get(locationId) ?? []
  const pieces = records.reduce((sum, entry) => sum + piecesOf(queue.pricing, entry, 0), 0)
  const load = { records: recordCountOf(slowTask), pieces }
  addLoad(queue, accountId, load.records, load.pieces)
  queue.partitions.set(partition, (queue.partitions.get(partition) ?? 0) + 1)
  tasks.push({ ...slowTask, step, after, load })
  locations.set(locationId, tasks)
  queue.busy.set(locationId, (queue.busy.get(locationId) ?? 0) + 1)
  step.slowTasksByPartition.set(partition, (step.slowTasksByPartition.get(partition) ?? 0) + 1)
  queue.waiting += load.records
}

/** Add the tasks of a step, and the receipts that wait for them. */
const addTasks = (
  queue: SlowQueue,
  { slowTasks, slowChunks }: Pick<SplitStep, 'slowTasks' | 'slowChunks'>,
  step: PendingStep,
  after: Promise<void>,
): void => {
  for (const [accountId, tasks] of Map.groupBy(slowTasks, task => task.accountId)) {
    const accountWork = step.slowByAccount.get(accountId)
    const chunks = slowChunks.get(accountId) ?? []
    if (accountWork === undefined) step.slowByAccount.set(accountId, { remaining: tasks.length, chunks, poison: [] })
    else accountWork.remaining += tasks.length
  }
  for (const slowTask of slowTasks) addTask(queue, slowTask, step, after)
}

/** Take the records of a task that fit. Its readings and requests go with its last record. */
const cutTask = (
  pricing: Pricing,
  waitingTask: WaitingTask,
  capacity: BatchCapacity,
): { readonly task: WaitingTask; readonly rest: WaitingTask | null } => {
  const { records, readings } = waitingTask
  let count = 0
  for (const entry of records) {
    if (capacity.records <= 0 || capacity.pieces <= 0) break
    capacity.pieces -= piecesOf(pricing, entry, unknownPieces)
    capacity.records -= 1
    count += 1
  }
  if (count === records.length) {
    capacity.pieces -= readings.length * readingPieces
    capacity.records -= readings.length
    return { task: waitingTask, rest: null }
  }
  const task = { ...waitingTask, records: records.slice(0, count), readings: [], requests: [] }
  return { task, rest: { ...waitingTask, records: records.slice(count) } }
}

/**
 * Take the first tasks of a location that fit, the last one possibly in part. Requests for the same rows become one
 * request only if they are done together. The location then becomes the last one of its account.
 */
const takeFrom = (
  pricing: Pricing,
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
    // A step has each record id once.
    if (first.records.some(({ record }) => ids.has(record.recordId))) break
    const { task, rest } = cutTask(pricing, first, capacity)
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

const hasTiers = (pricing: Pricing, { locationId, records }: SlowTask): boolean =>
  records.some(entry => {
    const prices = pricing.cached(locationId, entry.record.start)
    return prices !== undefined && isCounted(prices, entry)
  })

/**
 * Take tasks of one location that fit into a batch. Records of a tiered location can recost all its earlier records.
 * Therefore each of its batches is larger than the batches before: the total work then grows in proportion to the
 * records.
 */
const takeLocation = (
  { pricing, takenPieces }: SlowQueue,
  locations: Map<string, WaitingTask[]>,
  locationId: string,
  capacity: BatchCapacity,
): readonly TakenTask[] => {
  const [first] = locations.get(locationId) ?? []
  if (first === undefined || !hasTiers(pricing, first)) return takeFrom(pricing, locations, locationId, capacity)
  const before = takenPieces.get(locationId) ?? 0
  const maxPieces = Math.max(capacity.pieces, batchGrowth * before)
  const ownCapacity = { ...capacity, pieces: maxPieces }
  const taken = takeFrom(pricing, locations, locationId, ownCapacity)
  const pieces = maxPieces - ownCapacity.pieces
  takenPieces.set(locationId, before + pieces)
  capacity.pieces -= pieces
  capacity.records = ownCapacity.records
  return taken
}

const findFirst = (ids: Iterable<string>, isFit: (id: string) => boolean): string | undefined => {
  for (const id of ids) if (isFit(id)) return id
  return undefined
}

/** Take tasks of one location of each account in turn, until the batch is full. Each location has one turn. */
const takeTasks = (queue: SlowQueue): readonly TakenTask[] => {
  const { accounts } = queue
  const capacity = { ...batchLimits }
  const taken = new Map<string, readonly TakenTask[]>()
  for (let hasTaken = true; hasTaken; ) {
    hasTaken = false
    for (const [accountId, locations] of [...accounts]) {
      const locationId = findFirst(locations.keys(), id => !taken.has(id))
      if (locationId === undefined || !hasCapacity(capacity)) continue
      taken.set(locationId, takeLocation(queue, locations, locationId, capacity))
      // The account becomes the last one.
      accounts.delete(accountId)
      if (locations.size > 0) accounts.set(accountId, locations)
      hasTaken = true
    }
  }
  return [...taken.values()].flat()
}

const recordsOf = (tasks: readonly WaitingTask[]): StepInput['records'] => {
  const found = new Map<string, RecordToCost[]>()
  for (const { locationId, records } of tasks) {
    if (records.length === 0) continue
    const known = found.get(locationId)
    if (known === undefined) found.set(locationId, [...records])
    else for (const entry of records) known.push(entry)
  }
  return found
}

/** Messages belong to one step each. An interval without a message belongs to the first step of its location. */
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

const takeBatch = (queue: SlowQueue): SlowBatch | null => {
  if (queue.accounts.size === 0) return null
  const taken = takeTasks(queue)
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

const endBatch = (queue: SlowQueue, { input, finished }: SlowBatch): void => {
  const { busy, partitions, takenPieces } = queue
  for (const entries of input.records.values()) queue.waiting -= entries.length
  queue.waiting -= input.readings.length
  for (const { step, accountId, locationId, partition, load } of finished) {
    finishSlowTask(step, accountId, partition)
    addLoad(queue, accountId, -load.records, -load.pieces)
    partitions.set(partition, (partitions.get(partition) ?? 1) - 1)
    const remaining = (busy.get(locationId) ?? 1) - 1
    if (remaining > 0) busy.set(locationId, remaining)
    else {
      busy.delete(locationId)
      takenPieces.delete(locationId)
    }
  }
}

/** Create an empty queue of slow work. */
export const slowWork = (pricing: Pricing, limits: SlowWorkLimits = defaultSlowWorkLimits): SlowWork => {
  const queue: SlowQueue = {
    pricing,
    accounts: new Map(),
    busy: new Map(),
    loads: new Map(),
    partitions: new Map(),
    takenPieces: new Map(),
    waiting: 0,
  }
  return {
    isBusy: locationId => queue.busy.has(locationId),
    isFull: () => queue.waiting >= limits.maxRecords,
    isAccountFull: accountId => {
      const { records, pieces } = queue.loads.get(accountId) ?? { records: 0, pieces: 0 }
      return records >= limits.maxRecordsPerAccount || pieces >= limits.maxPiecesPerAccount
    },
    isPartitionBusy: partition => (queue.partitions.get(partition) ?? 0) > 0,
    add: (split, step, after) => addTasks(queue, split, step, after),
    next: () => takeBatch(queue),
    end: batch => endBatch(queue, batch),
    clear: () => {
      for (const map of [queue.accounts, queue.busy, queue.loads, queue.partitions, queue.takenPieces]) map.clear()
      queue.waiting = 0
    },
  }
}
