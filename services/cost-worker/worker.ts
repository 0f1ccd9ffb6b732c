import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '../platform/failure.ts'
import type { Order } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import type { PoisonRecord } from './dead-letter.ts'
import { createEraser, type EraserOptions } from './erase.ts'
import { type FailingLimits, type FailingWindow, judgeFailing, laneOutcomes, slideWindow } from './failing-share.ts'
import { openLaneBuffer, type Reached, reachedBy } from './lane-buffer.ts'
import { enterLane, type PutAside } from './ledger.ts'
import { writeReceipts } from './receipt.ts'
import type { SliceBounds } from './settle-slices.ts'
import { createSettler, type Settled } from './settle-step.ts'
import { accountOf, readStep, type Step, type StepAccount, type Taken, withoutErased } from './step.ts'
import { bytesAfter, openStepPace, stepBytes } from './step-pace.ts'
import { type StoreOptions, stepStore } from './store-step.ts'
import { watchedClickHouse } from './watched-clickhouse.ts'

export type CostWorkerOptions = StoreOptions & {
  readonly pricing: PricingBook
  readonly database: Pick<Database, 'operator'>
  /** Put orders to cost locations again into their lanes. */
  readonly costAgain: EraserOptions['costAgain']
  readonly failing: Pick<FailingLimits, 'share' | 'least'>
  readonly slices?: SliceBounds
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
const drainMs = 8_000
const mostBackoffMs = 5_000
/** So many steps of a lane tell whether too many of its locations fail. */
const judgedSteps = 50

/** Steps whose rows and dead letters are stored, and whose receipts and commits are owed. */
type Owed = {
  readonly reached: Reached[]
  readonly steps: { readonly step: StepAccount; readonly poison: readonly PoisonRecord[]; readonly aside: readonly PutAside[] }[]
}

const ordersOf = ({ orders }: Step): readonly Order[] => orders.map(({ order }) => order)

/** A settled step while it is stored: its records and rows are let go of, which are most of it. */
type Storing = {
  readonly account: StepAccount
  readonly orders: readonly Order[]
  readonly settled: Omit<Settled, 'rows'>
  readonly reached: readonly Reached[]
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
  // A long step that gets on is alive: begun again elsewhere it would take as long.
  const clickHouse = watchedClickHouse(options.clickHouse, progress)
  const { storeRows, storeRest } = stepStore({ ...options, clickHouse })
  const buffer = await openLaneBuffer(log, 'cost-worker')
  const settler = createSettler(clickHouse, pricing, options.slices)
  const eraser = createEraser({ database: options.database, clickHouse, costAgain: options.costAgain, onProgress: progress })
  let lanesOf = Number.NaN
  await eraser.load()
  const windows = new Map<number, FailingWindow>()
  const stopping = new AbortController()
  const owed: Owed = { reached: [], steps: [] }
  let settledAt = Number.NEGATIVE_INFINITY
  const pace = openStepPace()
  let storing: Promise<void> = Promise.resolve()
  // A lane that takes no more messages must be read on: then orders are done to their end instead of being put back.
  let isFull = false
  let hasStopped = false
  let nextBytes = stepBytes

  const isLarge = (): boolean => buffer.readyBytes() >= smallStepBytes

  /** Let a few more records gather behind a step that has just begun: what is taken early waits until that step is stored. */
  const gatherMore = async (): Promise<void> => {
    if (!isLarge()) await storing
    await pace.wait(isLarge, stopping.signal)
  }

  const finishStep = async (
    rowsStored: Promise<void>,
    { account, orders, settled, reached }: Storing,
    startedAt: number,
  ): Promise<void> => {
    await rowsStored
    const aside = await storeRest(account, settled)
    await eraser.erase(orders)
    metrics.stepSeconds.observe({ phase: 'store' }, (performance.now() - startedAt) / 1000)
    owed.reached.push(...reached)
    owed.steps.push({ step: account, poison: settled.poison, aside })
  }

  const startStoring = (step: Step, { rows, ...settled }: Settled, taken: readonly Taken[]): Promise<void> => {
    const startedAt = performance.now()
    // Rows that were costed beside an erasure are of no object any more.
    const rowsStored = storeRows(eraser.living(rows))
    return finishStep(rowsStored, { account: accountOf(step), orders: ordersOf(step), settled, reached: reachedBy(taken) }, startedAt)
  }

  const settleAccounts = async (): Promise<void> => {
    const startedAt = performance.now()
    await writeReceipts(clickHouse, owed.steps)
    const steps = [...owed.steps]
    await buffer.commit(owed.reached, lane => {
      for (const one of steps) enterLane(metrics, lane, one)
    })
    owed.reached.length = 0
    owed.steps.length = 0
    settledAt = performance.now()
    busySince = null
    metrics.stepSeconds.observe({ phase: 'receipts' }, (performance.now() - startedAt) / 1000)
  }

  /** Pay what is owed, unless that was done a moment ago. */
  const settleIfDue = async (everyMs: number): Promise<void> => {
    if (owed.steps.length > 0 && performance.now() - settledAt >= everyMs) await settleAccounts()
  }

  const untilDue = (): AbortSignal => {
    const wait = Math.max(0, Math.ceil(settledAt + quietReceiptEveryMs - performance.now()))
    return AbortSignal.any([stopping.signal, AbortSignal.timeout(wait)])
  }

  /**
   * Whoever had a lane before may have done orders of it that this worker never saw: what was known under older ones is forgotten, and the
   * marks of erased objects are loaded, before anything of the lane is costed.
   */
  const takeOver = async (): Promise<void> => {
    const assigned = buffer.assigned()
    if (assigned === lanesOf) return
    await storing
    settler.drop()
    pricing.drop()
    await clickHouse.catchUp()
    await eraser.load()
    lanesOf = assigned
  }

  const readLiving = async (taken: readonly Taken[]): Promise<Step> => {
    const step = await readStep(taken, codec, at())
    await eraser.learn(ordersOf(step))
    return withoutErased(step, eraser)
  }

  /** Tell whether a lane fails at large: then nothing of the step is kept, and what waits is left where it is. */
  const mustStop = (step: Step, settled: Settled): boolean => {
    for (const [lane, outcome] of laneOutcomes(step.records, settled.poison, step.poison)) {
      const window = slideWindow(windows.get(lane) ?? [], outcome, { steps: judgedSteps })
      windows.set(lane, window)
      const verdict = judgeFailing(window, options.failing)
      if (verdict.kind !== 'stop') continue
      logger.fatal({ lane, failing: verdict.failing, seen: verdict.seen }, `the worker stops: ${verdict.reason}`)
      hasStopped = true
    }
    return hasStopped
  }

  const turn = async (): Promise<void> => {
    if (buffer.readyBytes() === 0) {
      await storing
      await settleIfDue(quietReceiptEveryMs)
      // A step that failed is over: each attempt at it counts for itself, and lanes that were lost owe nothing.
      if (owed.steps.length === 0) busySince = null
    }
    await gatherMore()
    const taken = await buffer.take(nextBytes, owed.steps.length > 0 ? untilDue() : stopping.signal)
    if (taken.length === 0) return
    busySince ??= at()
    const startedAt = performance.now()
    pace.begin()
    await takeOver()
    const step = await readLiving(taken)
    const settled = await settler.settle(step, {
      stored: storing,
      store: rows => storeRows(eraser.living(rows)),
      canPutBack: !isFull,
    })
    nextBytes = bytesAfter(nextBytes, taken, settled.costed.pieces)
    await storing
    await settleIfDue(receiptEveryMs)
    if (mustStop(step, settled)) return
    metrics.stepSeconds.observe({ phase: 'settle' }, (performance.now() - startedAt) / 1000)
    storing = startStoring(step, settled, taken)
    // Whoever waits for it next is told if it fails.
    storing.catch(() => undefined)
    if (ordersOf(step).some(({ orderKind }) => orderKind === 'ERASE')) {
      await storing
      settler.drop()
    }
  }

  const finish = async (): Promise<void> => {
    await storing
    if (owed.steps.length > 0) await settleAccounts()
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted && !hasStopped) {
      try {
        await turn()
        backoffMs = 0
        isFull = false
      } catch (error) {
        isFull = isFailure(error) && error.code === 'log_full'
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'a step failed and is begun again')
        await storing.catch(() => undefined)
        storing = Promise.resolve()
        settler.drop()
        owed.reached.length = 0
        owed.steps.length = 0
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
        await buffer.rewind()
        lanesOf = Number.NaN
      }
    }
    await finish().catch(error => logger.error({ err: error }, 'the last step was not stored; it is begun again at the next start'))
  }
  const running = run()
  return {
    isLive: () => !hasStopped && (busySince === null || at() - busySince < stuckMs),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      // A step that waits for a store is done again by whoever has its lanes next.
      const hasEnded = await Promise.race([running.then(() => true), sleep(drainMs, false, { ref: false })])
      if (!hasEnded) logger.warn(`the last step was not stored within ${drainMs} ms; it is begun again elsewhere, or at the next start`)
      await buffer.close()
    },
  }
}
