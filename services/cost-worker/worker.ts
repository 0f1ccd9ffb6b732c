import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '../platform/failure.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import type { SlowBacklog } from '../platform/role-module.ts'
import { createCostStep, type StepResult } from './cost-step.ts'
import { countOutcomes } from './count-outcomes.ts'
import { createEraser, type EraserOptions, isEraseRequest } from './erase.ts'
import {
  decideOnFailures,
  type FailingLimits,
  type OutcomeWindow,
  partitionOutcomes,
  slideWindow,
} from './failing-share.ts'
import { commitPointsOf, openPartitionBuffer } from './partition-buffer.ts'
import { type PendingStep, pendingStep, pendingSteps } from './pending-steps.ts'
import type { RowRangeLimits } from './recost/cost-ranges.ts'
import { openSlowLoop } from './slow-work/slow-loop.ts'
import type { SlowWorkLimits } from './slow-work/slow-work.ts'
import { slowTasksOfRequests, splitStep } from './slow-work/split-step.ts'
import { defaultLoadLimits, heavyLocations, type LoadLimits } from './slow-work/step-load.ts'
import { dropErased, type FetchedMessages, readStep, type Step, summaryOf } from './step.ts'
import { maxStepBytes, nextStepBytes, openStepPace } from './step-pace.ts'
import { type StoreOptions, stepStore } from './store-step.ts'
import { watchedClickHouse } from './watched-clickhouse.ts'
import { writeReceipts } from './write-receipts.ts'

export type CostWorkerOptions = StoreOptions & {
  readonly pricing: PricingCache
  readonly database: Pick<Database, 'operator'>
  /** Put orders to cost locations again into their lanes. */
  readonly requestRecosts: EraserOptions['requestRecosts']
  readonly failing: Pick<FailingLimits, 'share' | 'minLocations'>
  readonly rowRanges?: RowRangeLimits
  readonly load?: LoadLimits
  readonly slowWorkLimits?: SlowWorkLimits
  /** Is told what waits beside the steps, for the gateway of the same process. */
  readonly slowBacklog?: Pick<SlowBacklog, 'setSource'>
}

/** A worker that runs; it is live as long as its lanes have no work or it gets on with some within a minute. */
export type CostWorker = AsyncDisposable & { readonly isLive: () => boolean }

/** A step of fewer bytes lets more records gather. */
const smallStepBytes = 1_000_000
/** Receipts and commits come at most so often while steps follow each other, and when nothing waits; quiet lanes have them at once. */
const receiptEveryMs = 300
const quietReceiptEveryMs = 100
const stuckMs = 60_000
/** Less than a process may take to stop. */
const capacityPollMs = 20
const drainMs = 8_000
const maxBackoffMs = 5_000
/** So many steps of a lane tell whether too many of its locations fail. */
const failureWindowSteps = 50

const requestsOf = ({ requests }: Step): readonly StoredRowRequest[] => requests.map(({ request: order }) => order)

/** A settled step while it is stored: its records and rows are let go of, which are most of it. */
type StoringStep = {
  readonly pending: PendingStep
  readonly requests: readonly StoredRowRequest[]
  readonly result: Omit<StepResult, 'rows'>
}

/**
 * Start the worker: take what waits, settle it, write rows, dead letters and receipts, commit last. A step is settled while the one
 * before it is stored. One that fails is begun again from the committed offsets with nothing kept of it; its rows are the same then.
 */
export const startCostWorker = async (options: CostWorkerOptions): Promise<CostWorker> => {
  const { log, codec, pricing, metrics, logger, at } = options
  let busySince: number | null = null
  const progress = (): void => {
    if (busySince !== null) busySince = at()
  }
  const buffer = await openPartitionBuffer(log, 'cost-worker')
  // A long step that gets on is alive: begun again elsewhere it would take as long.
  const clickHouse = watchedClickHouse(options.clickHouse, { onProgress: progress, checkStore: buffer.check })
  const { storeRows, storeRest } = stepStore({ ...options, clickHouse })
  const costStep = createCostStep(clickHouse, pricing, options.rowRanges, options.load)
  const eraser = createEraser({
    database: options.database,
    clickHouse,
    requestRecosts: options.requestRecosts,
    onProgress: progress,
  })
  let handledAssignments = Number.NaN
  await eraser.loadAll()
  const windows = new Map<number, OutcomeWindow>()
  const stopping = new AbortController()
  const owed = pendingSteps()
  let commitStartedAt = Number.NEGATIVE_INFINITY
  const pace = openStepPace()
  let storing: Promise<void> = Promise.resolve()
  // A lane that takes no more messages must be read on: then orders are done to their end instead of being put back.
  let isLogFull = false
  let isLogFullForSlowWork = false
  let hasStopped = false
  let nextBytes = maxStepBytes

  const isLarge = (): boolean => buffer.readyBytes() >= smallStepBytes

  /** Let a few more records gather behind a step that has just begun: what is taken early waits until that step is stored. */
  const gatherMore = async (): Promise<void> => {
    if (!isLarge()) await storing
    await pace.wait(isLarge, stopping.signal)
  }

  const finishStep = async (
    rowsStored: Promise<void>,
    { pending, requests, result }: StoringStep,
    startedAt: number,
  ): Promise<void> => {
    await rowsStored
    pending.deadLetters.push(...(await storeRest(pending.summary, result)))
    // What is under way beside the steps may be of an erased object.
    if (requests.some(isEraseRequest)) await slowLoop.whilePaused(() => eraser.erase(requests))
    metrics.stepSeconds.observe({ phase: 'store' }, (performance.now() - startedAt) / 1000)
    pending.poison = result.poison
    pending.isStored = true
  }

  const startStoring = (
    pending: PendingStep,
    requests: readonly StoredRowRequest[],
    { rows, ...result }: StepResult,
  ): Promise<void> => {
    const startedAt = performance.now()
    // Rows that were costed beside an erasure are of no object any more.
    const rowsStored = storeRows(eraser.withoutErasedRows(rows))
    return finishStep(rowsStored, { pending, requests, result }, startedAt)
  }

  const writeReceiptsAndCommit = async (): Promise<void> => {
    const startedAt = performance.now()
    const { receipts, commitPoints, endedSteps } = owed.findDue()
    commitStartedAt = startedAt
    if (receipts.length + commitPoints.length === 0) return
    if (receipts.length > 0) await writeReceipts(clickHouse, receipts)
    owed.markReceipted(receipts)
    const nextOffsets = new Map(commitPoints.map(({ assignment, nextOffset }) => [assignment.partition, nextOffset]))
    await buffer.commit(commitPoints, partition => {
      for (const pending of endedSteps.get(partition) ?? [])
        countOutcomes(metrics, partition, { step: pending.summary, deadLetters: pending.deadLetters })
      owed.markCommitted(partition, nextOffsets.get(partition) ?? 0)
    })
    commitStartedAt = performance.now()
    busySince = null
    metrics.stepSeconds.observe({ phase: 'receipts' }, (performance.now() - startedAt) / 1000)
  }

  /** Pay what is owed, unless that was done a moment ago. */
  const commitIfDue = async (everyMs: number): Promise<void> => {
    if (!owed.isEmpty() && performance.now() - commitStartedAt >= everyMs) await writeReceiptsAndCommit()
  }

  const dueSignal = (): AbortSignal => {
    const wait = Math.max(0, Math.ceil(commitStartedAt + quietReceiptEveryMs - performance.now()))
    return AbortSignal.any([stopping.signal, AbortSignal.timeout(wait)])
  }

  /**
   * Whoever had a lane before may have done orders of it that this worker never saw: what was known under older ones is forgotten, and the
   * marks of erased objects are loaded, before anything of the lane is costed.
   */
  const takeOverPartitions = async (): Promise<void> => {
    const assignments = buffer.assignmentCount()
    if (assignments === handledAssignments) return
    await storing
    await slowLoop.whilePaused(async () => {
      costStep.drop()
      pricing.clear()
      await clickHouse.catchUp()
      await eraser.loadAll()
    })
    handledAssignments = assignments
  }

  const readWithoutErased = async (fetched: readonly FetchedMessages[]): Promise<Step> => {
    const step = await readStep(fetched, codec, at())
    await eraser.loadRequested(requestsOf(step))
    return dropErased(step, eraser)
  }

  /** Tell whether a lane fails at large: then nothing of the step is kept, and what waits is left where it is. */
  const mustStop = (step: Pick<Step, 'records' | 'poison'>, result: Pick<StepResult, 'poison'>): boolean => {
    for (const [partition, outcome] of partitionOutcomes(step.records, result.poison, step.poison)) {
      const window = slideWindow(windows.get(partition) ?? [], outcome, { steps: failureWindowSteps })
      windows.set(partition, window)
      const decision = decideOnFailures(window, options.failing)
      if (decision.kind !== 'stop') continue
      logger.fatal(
        { lane: partition, failing: decision.failing, seen: decision.seen },
        `the worker stops: ${decision.reason}`,
      )
      hasStopped = true
    }
    return hasStopped
  }

  const slowLoop = openSlowLoop({
    ...{
      costStep,
      pricing,
      eraser,
      storeRows,
      storeRest,
      at,
      canDefer: () => !isLogFullForSlowWork,
      bounds: options.slowWorkLimits,
    },
    mustStop: (records, result) => mustStop({ records, poison: [] }, result),
  })

  /** By partition, the offset up to which it was read. */
  const readUpTo = new Map<number, number>()
  options.slowBacklog?.setSource({
    isLogFull: slowLoop.isAccountFull,
    readUpTo: partition => (slowLoop.isPartitionBusy(partition) ? (readUpTo.get(partition) ?? null) : null),
  })

  /** Wait while too much waits beside the steps; what is stored meanwhile is receipted and committed. */
  const waitForCapacity = async (): Promise<void> => {
    while (slowLoop.isFull() && !stopping.signal.aborted && !hasStopped && !buffer.hasLostPartition()) {
      await commitIfDue(receiptEveryMs)
      await sleep(capacityPollMs)
    }
  }

  /** Settle what a step brings, and begin to store it; what may take long is settled beside the steps that follow. */
  const runStep = async (fetched: readonly FetchedMessages[]): Promise<void> => {
    const startedAt = performance.now()
    const input = await readWithoutErased(fetched)
    const heavy = await heavyLocations(input, costStep.newestReadings, pricing, options.load ?? defaultLoadLimits)
    const split = splitStep(input, slowLoop.isBusy, heavy)
    const step = split.fast
    const pending = pendingStep(summaryOf(step), commitPointsOf(fetched))
    for (const { assignment: lane, nextOffset } of pending.uncommitted) readUpTo.set(lane.partition, nextOffset)
    owed.add(pending)
    slowLoop.add(split, pending, storing)
    const result = await costStep.run(step, {
      stored: storing,
      store: rows => storeRows(eraser.withoutErasedRows(rows)),
      canDefer: !isLogFull,
    })
    nextBytes = nextStepBytes(nextBytes, fetched, result.costed.pieces)
    await storing
    await commitIfDue(receiptEveryMs)
    if (mustStop(step, result)) return
    metrics.stepSeconds.observe({ phase: 'settle' }, (performance.now() - startedAt) / 1000)
    const requests = requestsOf(step)
    storing = startStoring(pending, requests, result)
    // Whoever waits for it next is told if it fails.
    storing.catch(() => undefined)
    if (requests.some(isEraseRequest)) {
      await storing
      await slowLoop.whilePaused(async () => costStep.drop())
    }
    slowLoop.add({ slowTasks: slowTasksOfRequests(result.slowRequests), slowChunks: new Map() }, pending, storing)
  }

  const turn = async (): Promise<void> => {
    if (buffer.readyBytes() === 0) {
      await storing
      await commitIfDue(quietReceiptEveryMs)
      // A step that failed is over: each attempt at it counts for itself, and lanes that were lost owe nothing.
      if (owed.isEmpty()) busySince = null
    }
    await gatherMore()
    await waitForCapacity()
    const fetched = await buffer.take(nextBytes, owed.isEmpty() ? stopping.signal : dueSignal())
    slowLoop.check()
    if (fetched.length === 0) return
    busySince ??= at()
    pace.begin()
    await takeOverPartitions()
    await runStep(fetched)
  }

  const finish = async (): Promise<void> => {
    await storing
    await slowLoop.stop()
    if (!owed.isEmpty()) await writeReceiptsAndCommit()
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted && !hasStopped) {
      try {
        await turn()
        backoffMs = 0
        isLogFull = false
        isLogFullForSlowWork &&= !slowLoop.isIdle()
      } catch (error) {
        isLogFull = isFailure(error) && error.code === 'log_full'
        isLogFullForSlowWork ||= isLogFull
        backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'a step failed and is begun again')
        await storing.catch(() => undefined)
        storing = Promise.resolve()
        await slowLoop.clear()
        costStep.drop()
        owed.clear()
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
        await buffer.rewind()
        handledAssignments = Number.NaN
      }
    }
    await finish().catch(error =>
      logger.error({ err: error }, 'the last step was not stored; it is begun again at the next start'),
    )
  }
  const running = run()
  return {
    isLive: () =>
      !hasStopped && [busySince, slowLoop.busySince()].every(since => since === null || at() - since < stuckMs),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      // A step that waits for a store is done again by whoever has its lanes next.
      const hasEnded = await Promise.race([running.then(() => true), sleep(drainMs, false, { ref: false })])
      if (!hasEnded)
        logger.warn(
          `the last step was not stored within ${drainMs} ms; it is begun again elsewhere, or at the next start`,
        )
      await buffer.close()
    },
  }
}
