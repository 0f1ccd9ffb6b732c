import { setTimeout as sleep } from 'node:timers/promises'
import { defaultLoadLimits } from '../domain/recost/recost-load.ts'
import { isFailure } from '../platform/failure.ts'
import type { StoredRowRequest } from '../platform/log/messages.ts'
import type { StepResult } from './cost-step.ts'
import { countOutcomes } from './count-outcomes.ts'
import { isEraseRequest } from './erase.ts'
import { type CostWorkerOptions, openWorker, type Worker } from './open-worker.ts'
import { commitPointsOf } from './partition-buffer.ts'
import { type PendingStep, pendingStep } from './pending-steps.ts'
import { slowTasksOfRequests, splitStep } from './slow-work/split-step.ts'
import { heavyLocations } from './slow-work/step-load.ts'
import { completeStep, dropErased, type FetchedMessages, readStep, type Step, summaryOf } from './step.ts'
import { nextStepBytes } from './step-pace.ts'
import { type RestOfStep, writeReceipts } from './store-step.ts'

/** Running worker. It is live if its partitions have no messages, or if it made progress within the last 60 s. */
export type CostWorker = AsyncDisposable & { readonly isLive: () => boolean }

/** Worker waits for more records before a step of fewer bytes. */
const smallStepBytes = 1_000_000
/** Minimum time between two commits: while steps follow each other, and while no message waits. */
const commitEveryMs = 300
const quietCommitEveryMs = 100
const stuckMs = 60_000
const capacityPollMs = 20
/** Shorter than the time that a process has to stop. */
const drainMs = 8_000
const maxBackoffMs = 5_000

const requestsOf = ({ requests }: Pick<Step, 'requests'>): readonly StoredRowRequest[] =>
  requests.map(({ request }) => request)

/** Gather: decode the messages of a step, cost its plain records, and remove the records of erased objects. */
const readWithoutErased = async (
  { options: { codec, at }, costStep, eraser, slowLoop }: Worker,
  fetched: readonly FetchedMessages[],
): Promise<Step> => {
  const read = await readStep(fetched, codec, at())
  await eraser.loadRequested(requestsOf(read))
  const step = await completeStep(read, records =>
    costStep.costPlain(records, place => slowLoop.isBusy(place.locationId) || !eraser.isActive(place)),
  )
  return dropErased(step, eraser)
}

/**
 * Act: store the effects of a step: rows, dead letters and the rest, erasures. Its records and rows are no longer
 * referenced.
 */
const finishStoring = async (
  { options: { metrics }, store, eraser, slowLoop }: Worker,
  rowsStored: Promise<void>,
  pending: PendingStep,
  requests: readonly StoredRowRequest[],
  result: RestOfStep,
  startedAt: number,
): Promise<void> => {
  await rowsStored
  pending.deadLetters.push(...(await store.storeRest(pending.summary, result)))
  // Slow work can have rows of an erased object, so it pauses.
  if (requests.some(isEraseRequest)) await slowLoop.whilePaused(() => eraser.erase(requests))
  metrics.stepSeconds.observe({ phase: 'store' }, (performance.now() - startedAt) / 1000)
  pending.poison = result.poison
  pending.isStored = true
}

const startStoring = (
  worker: Worker,
  pending: PendingStep,
  requests: readonly StoredRowRequest[],
  { rows, plain, corrections, ...result }: StepResult,
): Promise<void> => {
  const startedAt = performance.now()
  // An erasure during the calculation removes the rows of its objects. The plain rows have none: their calculation left out
  // the erased objects, and the next step loads the next erasures.
  const rowsStored = worker.store.storeRows(worker.eraser.withoutErasedRows(rows), corrections, plain)
  return finishStoring(worker, rowsStored, pending, requests, result, startedAt)
}

/** Act, last: write receipts of stored steps, then commit their offsets. */
const writeReceiptsAndCommit = async ({ options, clickHouse, buffer, pending, state }: Worker): Promise<void> => {
  const { metrics } = options
  const startedAt = performance.now()
  const { receipts, commitPoints, endedSteps } = pending.findDue()
  state.commitStartedAt = startedAt
  if (receipts.length + commitPoints.length === 0) return
  if (receipts.length > 0) await writeReceipts(clickHouse, receipts)
  pending.markReceipted(receipts)
  const nextOffsets = new Map(commitPoints.map(({ assignment, nextOffset }) => [assignment.partition, nextOffset]))
  await buffer.commit(commitPoints, partition => {
    for (const { summary, deadLetters } of endedSteps.get(partition) ?? [])
      countOutcomes(metrics, partition, { step: summary, deadLetters })
    pending.markCommitted(partition, nextOffsets.get(partition) ?? 0)
  })
  state.commitStartedAt = performance.now()
  state.busySince = null
  metrics.stepSeconds.observe({ phase: 'receipts' }, (performance.now() - startedAt) / 1000)
}

const commitIfDue = async (worker: Worker, everyMs: number): Promise<void> => {
  const { pending, state } = worker
  if (!pending.isEmpty() && performance.now() - state.commitStartedAt >= everyMs) await writeReceiptsAndCommit(worker)
}

/**
 * One step, in the order of its effects: gather its records, cost them, insert rows, write receipts, commit last.
 * The inserts run during the next step. Receipts and commits of a step follow its inserts, in a later call of
 * `commitIfDue`.
 * Slow work of the step is costed in parallel with later steps.
 */
const runStep = async (worker: Worker, fetched: readonly FetchedMessages[]): Promise<void> => {
  const { options, costStep, store, eraser, slowLoop, failures, pending, readUpTo, state } = worker
  const startedAt = performance.now()
  const input = await readWithoutErased(worker, fetched)
  const heavy = await heavyLocations(input, costStep.newestReadings, options.pricing, options.load ?? defaultLoadLimits)
  const split = splitStep(input, slowLoop.isBusy, heavy)
  const step = split.fast
  const stepToStore = pendingStep(summaryOf(step), commitPointsOf(fetched))
  for (const { assignment, nextOffset } of stepToStore.uncommitted) readUpTo.set(assignment.partition, nextOffset)
  pending.add(stepToStore)
  slowLoop.add(split, stepToStore, state.storing)
  const result = await costStep.run(step, {
    stored: state.storing,
    store: (rows, corrections) => store.storeRows(eraser.withoutErasedRows(rows), corrections),
    canDefer: !state.isLogFull,
  })
  state.nextBytes = nextStepBytes(state.nextBytes, fetched, result.costed.pieces)
  await state.storing
  await commitIfDue(worker, commitEveryMs)
  if (failures.mustStop(step.records, result.poison, step.poison, step.plainPartitions)) return
  options.metrics.stepSeconds.observe({ phase: 'settle' }, (performance.now() - startedAt) / 1000)
  const requests = requestsOf(step)
  state.storing = startStoring(worker, stepToStore, requests, result)
  // The next `await state.storing` receives the error.
  state.storing.catch(() => undefined)
  if (requests.some(isEraseRequest)) {
    await state.storing
    await slowLoop.whilePaused(async () => costStep.drop())
  }
  const slowTasks = slowTasksOfRequests(result.slowRequests)
  slowLoop.add({ slowTasks, slowChunks: new Map() }, stepToStore, state.storing)
}

/**
 * Wait for more records after a step has started. Messages that are taken early would only wait for the inserts of that
 * step.
 */
const gatherMore = async ({ buffer, pace, stopping, state }: Worker): Promise<void> => {
  const isLarge = (): boolean => buffer.readyBytes() >= smallStepBytes
  if (!isLarge()) await state.storing
  await pace.wait(isLarge, stopping.signal)
}

/** Wait while too much slow work waits. Meanwhile the worker writes receipts and commits. */
const waitForCapacity = async (worker: Worker): Promise<void> => {
  const { buffer, slowLoop, failures, stopping } = worker
  while (slowLoop.isFull() && !stopping.signal.aborted && !failures.hasStopped() && !buffer.hasLostPartition()) {
    await commitIfDue(worker, commitEveryMs)
    await sleep(capacityPollMs)
  }
}

/** Return a signal that aborts when the worker stops or the next commit is due. */
const commitDueSignal = ({ stopping, state }: Worker): AbortSignal => {
  const wait = Math.max(0, Math.ceil(state.commitStartedAt + quietCommitEveryMs - performance.now()))
  return AbortSignal.any([stopping.signal, AbortSignal.timeout(wait)])
}

/**
 * Prepare new assignments before their messages are costed: drop all caches and load the erasures. The reader before
 * can have done requests that this worker did not see.
 */
const takeOverPartitions = async (worker: Worker): Promise<void> => {
  const { options, clickHouse, buffer, costStep, eraser, slowLoop, state } = worker
  const assignments = buffer.assignmentCount()
  if (assignments === state.handledAssignments) return
  await state.storing
  await slowLoop.whilePaused(async () => {
    costStep.drop()
    options.pricing.clear()
    await clickHouse.catchUp()
    await eraser.loadAll()
  })
  state.handledAssignments = assignments
}

const runTurn = async (worker: Worker): Promise<void> => {
  const { options, buffer, slowLoop, pending, pace, stopping, state } = worker
  if (buffer.readyBytes() === 0) {
    await state.storing
    await commitIfDue(worker, quietCommitEveryMs)
    // Without pending steps there is no work, also after a failed step or a lost assignment.
    if (pending.isEmpty()) state.busySince = null
  }
  await gatherMore(worker)
  await waitForCapacity(worker)
  const fetched = await buffer.take(state.nextBytes, pending.isEmpty() ? stopping.signal : commitDueSignal(worker))
  slowLoop.check()
  if (fetched.length === 0) return
  state.busySince ??= options.at()
  pace.begin()
  await takeOverPartitions(worker)
  await runStep(worker, fetched)
}

/** Discard all work that is not committed, and read again from the committed offsets. The rows are then the same. */
const restart = async (worker: Worker, backoffMs: number): Promise<void> => {
  const { buffer, costStep, slowLoop, pending, stopping, state } = worker
  await state.storing.catch(() => undefined)
  state.storing = Promise.resolve()
  await slowLoop.clear()
  costStep.drop()
  pending.clear()
  await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  await buffer.rewind()
  state.handledAssignments = Number.NaN
}

const finish = async (worker: Worker): Promise<void> => {
  await worker.state.storing
  await worker.slowLoop.stop()
  if (!worker.pending.isEmpty()) await writeReceiptsAndCommit(worker)
}

/** Run steps until the worker stops. */
const run = async (worker: Worker): Promise<void> => {
  const { options, slowLoop, failures, stopping, state } = worker
  let backoffMs = 0
  while (!stopping.signal.aborted && !failures.hasStopped()) {
    try {
      await runTurn(worker)
      backoffMs = 0
      state.isLogFull = false
      state.isLogFullForSlowWork &&= !slowLoop.isIdle()
    } catch (error) {
      state.isLogFull = isFailure(error) && error.code === 'log_full'
      state.isLogFullForSlowWork ||= state.isLogFull
      backoffMs = Math.min(maxBackoffMs, Math.max(100, backoffMs * 2))
      // Partitions move when a worker joins or leaves. Their next reader repeats the step.
      if (isFailure(error) && error.code === 'lane_lost')
        options.logger.info(
          { reason: error.message, again_in_ms: backoffMs },
          'Partitions were reassigned, reading again',
        )
      else options.logger.error({ err: error, again_in_ms: backoffMs }, 'Step failed, retrying')
      await restart(worker, backoffMs)
    }
  }
  await finish(worker).catch(error =>
    options.logger.error({ err: error }, 'Last step not stored; it runs again at the next start'),
  )
}

/**
 * Start the worker. It runs steps (`runStep`) and commits last. A step is costed while the step before is stored.
 * After an error, the worker starts again from the committed offsets, without any cache.
 */
export const startCostWorker = async (options: CostWorkerOptions): Promise<CostWorker> => {
  const { at, logger } = options
  const worker = await openWorker(options)
  const { buffer, slowLoop, failures, stopping, state } = worker
  const running = run(worker)
  const isRecent = (since: number | null): boolean => since === null || at() - since < stuckMs
  return {
    isLive: () => !failures.hasStopped() && isRecent(state.busySince) && isRecent(slowLoop.busySince()),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      // The next reader of the partitions repeats a step that waits for a store.
      const hasEnded = await Promise.race([running.then(() => true), sleep(drainMs, false, { ref: false })])
      if (!hasEnded)
        logger.warn(`Last step not stored within ${drainMs} ms; the next reader of its partitions repeats it`)
      await buffer.close()
    },
  }
}
