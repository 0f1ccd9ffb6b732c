import type { LoadLimits } from '../domain/recost/recost-load.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import type { SlowBacklog } from '../platform/role-module.ts'
import { type CostStep, createCostStep } from './cost-step.ts'
import { createEraser, type Eraser, type EraserOptions } from './erase.ts'
import { type FailingLimits, type FailureWatch, failureWatch } from './failing-share.ts'
import { openPartitionBuffer, type PartitionBuffer } from './partition-buffer.ts'
import { type PendingSteps, pendingSteps } from './pending-steps.ts'
import type { RowRangeLimits } from './recost/cost-ranges.ts'
import { openSlowLoop, type SlowLoop } from './slow-work/slow-loop.ts'
import type { SlowWorkLimits } from './slow-work/slow-work.ts'
import { maxStepBytes, openStepPace, type StepPace } from './step-pace.ts'
import { type StepStore, type StoreOptions, stepStore } from './store-step.ts'

/** `onProgress` is called after each read, each block of a long read, each stored insert and each command. */
type ClickHouseHooks = {
  readonly onProgress: () => void
  /** Called before each insert. Throws if the worker must not store rows. */
  readonly checkStore: () => void
}

/** Report the progress of a worker's calls to ClickHouse. Reads have no account: a step is for many accounts. */
const watchedClickHouse = (clickHouse: ClickHouse, { onProgress, checkStore }: ClickHouseHooks): ClickHouse => {
  const reportWhenDone = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer
    onProgress()
    return value
  }
  return {
    ...clickHouse,
    command: sql => reportWhenDone(clickHouse.command(sql)),
    insert: async rows => {
      checkStore()
      await reportWhenDone(clickHouse.insert(rows))
    },
    rows: sql => reportWhenDone(clickHouse.rows(sql)),
    lines: sql => reportWhenDone(clickHouse.lines(sql)),
    stream: async function* (sql) {
      for await (const block of clickHouse.stream(sql)) {
        onProgress()
        yield block
      }
      onProgress()
    },
  }
}

export type CostWorkerOptions = StoreOptions & {
  readonly pricing: PricingCache
  readonly database: Pick<Database, 'operator'>
  /** Append requests to recost locations to their partitions. */
  readonly requestRecosts: EraserOptions['requestRecosts']
  readonly failing: Pick<FailingLimits, 'share' | 'minLocations'>
  readonly rowRanges?: RowRangeLimits
  readonly load?: LoadLimits
  readonly slowWorkLimits?: SlowWorkLimits
  /** Receives the amount of waiting slow work, for the gateway of the same process. */
  readonly slowBacklog?: Pick<SlowBacklog, 'setSource'>
}

/** Changing state of a worker. */
export type WorkerState = {
  /** Last progress of the current work, in ms; null if there is none. */
  busySince: number | null
  /** Effects of the last step. Resolves when they are stored. */
  storing: Promise<void>
  commitStartedAt: number
  /**
   * The partition takes no more messages. The worker must read on, so it finishes its requests instead of deferring
   * them.
   */
  isLogFull: boolean
  isLogFullForSlowWork: boolean
  nextBytes: number
  /** Number of assignments whose caches and erasures are loaded. */
  handledAssignments: number
}

/** Parts of a worker, and its state. */
export type Worker = {
  readonly options: CostWorkerOptions
  readonly clickHouse: ClickHouse
  readonly buffer: PartitionBuffer
  readonly costStep: CostStep
  readonly store: StepStore
  readonly eraser: Eraser
  readonly slowLoop: SlowLoop
  readonly failures: FailureWatch
  readonly pending: PendingSteps
  readonly pace: StepPace
  readonly stopping: AbortController
  /** Offset up to which each partition was read. */
  readonly readUpTo: Map<number, number>
  readonly state: WorkerState
}

/** Open the parts of a worker. */
export const openWorker = async (options: CostWorkerOptions): Promise<Worker> => {
  const { log, pricing, logger, at, database, requestRecosts } = options
  const state: WorkerState = {
    busySince: null,
    storing: Promise.resolve(),
    commitStartedAt: Number.NEGATIVE_INFINITY,
    nextBytes: maxStepBytes,
    isLogFull: false,
    isLogFullForSlowWork: false,
    handledAssignments: Number.NaN,
  }
  const onProgress = (): void => {
    if (state.busySince !== null) state.busySince = at()
  }
  const buffer = await openPartitionBuffer(log, 'cost-worker')
  // A long step is live while it makes progress: another worker would not be faster.
  const clickHouse = watchedClickHouse(options.clickHouse, { onProgress, checkStore: buffer.check })
  const store = stepStore({ ...options, clickHouse })
  const costStep = createCostStep(clickHouse, pricing, options.rowRanges, options.load)
  const eraser = createEraser({ database, clickHouse, requestRecosts, onProgress })
  await eraser.loadAll()
  const failures = failureWatch(options.failing, logger)
  const slowLoop = openSlowLoop({
    ...store,
    costStep,
    pricing,
    eraser,
    at,
    limits: options.slowWorkLimits,
    canDefer: () => !state.isLogFullForSlowWork,
    mustStop: (records, { poison }) => failures.mustStop(records, poison, []),
  })
  const readUpTo = new Map<number, number>()
  options.slowBacklog?.setSource({
    isLogFull: slowLoop.isAccountFull,
    readUpTo: partition => (slowLoop.isPartitionBusy(partition) ? (readUpTo.get(partition) ?? null) : null),
  })
  return {
    options,
    clickHouse,
    buffer,
    costStep,
    store,
    eraser,
    slowLoop,
    failures,
    readUpTo,
    state,
    pending: pendingSteps(),
    pace: openStepPace(),
    stopping: new AbortController(),
  }
}
