import { setTimeout as sleep } from 'node:timers/promises'
import { isFailure } from '../platform/failure.ts'
import type { Order } from '../platform/log/messages.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import type { SlowBacklog } from '../platform/slow-backlog.ts'
import { createEraser, type EraserOptions, isErase } from './erase.ts'
import { type FailingLimits, type FailingWindow, judgeFailing, laneOutcomes, slideWindow } from './failing-share.ts'
import { openLaneBuffer, reachedBy } from './lane-buffer.ts'
import { enterLane } from './ledger.ts'
import { type OwedStep, owedStep, owedSteps } from './owed-steps.ts'
import { writeReceipts } from './receipt.ts'
import type { SliceBounds } from './settle-slices.ts'
import { createSettler, type Settled } from './settle-step.ts'
import { openSlowLoop } from './slow-loop.ts'
import type { SlowBounds } from './slow-work.ts'
import { portionsOfOrders, splitStep } from './split-step.ts'
import { accountOf, readStep, type Step, type Taken, withoutErased } from './step.ts'
import { heavyLocations, type LoadBounds, usualLoad } from './step-load.ts'
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
  readonly load?: LoadBounds
  readonly slow?: SlowBounds
  /** Is told what waits beside the steps, for the gateway of the same process. */
  readonly slowBacklog?: Pick<SlowBacklog, 'follow'>
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
const roomEveryMs = 20
const drainMs = 8_000
const mostBackoffMs = 5_000
/** So many steps of a lane tell whether too many of its locations fail. */
const judgedSteps = 50

const ordersOf = ({ orders }: Step): readonly Order[] => orders.map(({ order }) => order)

/** A settled step while it is stored: its records and rows are let go of, which are most of it. */
type Storing = { readonly owed: OwedStep; readonly orders: readonly Order[]; readonly settled: Omit<Settled, 'rows'> }

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
  const buffer = await openLaneBuffer(log, 'cost-worker')
  // A long step that gets on is alive: begun again elsewhere it would take as long.
  const clickHouse = watchedClickHouse(options.clickHouse, { onProgress: progress, checkStore: buffer.check })
  const { storeRows, storeRest } = stepStore({ ...options, clickHouse })
  const settler = createSettler(clickHouse, pricing, options.slices, options.load)
  const eraser = createEraser({ database: options.database, clickHouse, costAgain: options.costAgain, onProgress: progress })
  let lanesOf = Number.NaN
  await eraser.load()
  const windows = new Map<number, FailingWindow>()
  const stopping = new AbortController()
  const owed = owedSteps()
  let settledAt = Number.NEGATIVE_INFINITY
  const pace = openStepPace()
  let storing: Promise<void> = Promise.resolve()
  // A lane that takes no more messages must be read on: then orders are done to their end instead of being put back.
  let isFull = false
  let isSlowFull = false
  let hasStopped = false
  let nextBytes = stepBytes

  const isLarge = (): boolean => buffer.readyBytes() >= smallStepBytes

  /** Let a few more records gather behind a step that has just begun: what is taken early waits until that step is stored. */
  const gatherMore = async (): Promise<void> => {
    if (!isLarge()) await storing
    await pace.wait(isLarge, stopping.signal)
  }

  const finishStep = async (rowsStored: Promise<void>, { owed: one, orders, settled }: Storing, startedAt: number): Promise<void> => {
    await rowsStored
    one.aside.push(...(await storeRest(one.account, settled)))
    // What is under way beside the steps may be of an erased object.
    if (orders.some(isErase)) await slow.whilePaused(() => eraser.erase(orders))
    metrics.stepSeconds.observe({ phase: 'store' }, (performance.now() - startedAt) / 1000)
    one.poison = settled.poison
    one.isStored = true
  }

  const startStoring = (one: OwedStep, orders: readonly Order[], { rows, ...settled }: Settled): Promise<void> => {
    const startedAt = performance.now()
    // Rows that were costed beside an erasure are of no object any more.
    const rowsStored = storeRows(eraser.living(rows))
    return finishStep(rowsStored, { owed: one, orders, settled }, startedAt)
  }

  const settleAccounts = async (): Promise<void> => {
    const startedAt = performance.now()
    const { receipts, reached, ended } = owed.due()
    settledAt = startedAt
    if (receipts.length + reached.length === 0) return
    if (receipts.length > 0) await writeReceipts(clickHouse, receipts)
    owed.receipted(receipts)
    const ends = new Map(reached.map(({ lane, next }) => [lane.partition, next]))
    await buffer.commit(reached, partition => {
      for (const one of ended.get(partition) ?? []) enterLane(metrics, partition, { step: one.account, aside: one.aside })
      owed.committed(partition, ends.get(partition) ?? 0)
    })
    settledAt = performance.now()
    busySince = null
    metrics.stepSeconds.observe({ phase: 'receipts' }, (performance.now() - startedAt) / 1000)
  }

  /** Pay what is owed, unless that was done a moment ago. */
  const settleIfDue = async (everyMs: number): Promise<void> => {
    if (!owed.isEmpty() && performance.now() - settledAt >= everyMs) await settleAccounts()
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
    await slow.whilePaused(async () => {
      settler.drop()
      pricing.drop()
      await clickHouse.catchUp()
      await eraser.load()
    })
    lanesOf = assigned
  }

  const readLiving = async (taken: readonly Taken[]): Promise<Step> => {
    const step = await readStep(taken, codec, at())
    await eraser.learn(ordersOf(step))
    return withoutErased(step, eraser)
  }

  /** Tell whether a lane fails at large: then nothing of the step is kept, and what waits is left where it is. */
  const mustStop = (step: Pick<Step, 'records' | 'poison'>, settled: Pick<Settled, 'poison'>): boolean => {
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

  const slow = openSlowLoop({
    ...{ settler, pricing, eraser, storeRows, storeRest, at, canPutBack: () => !isSlowFull, bounds: options.slow },
    mustStop: (records, settled) => mustStop({ records, poison: [] }, settled),
  })

  /** By partition, the offset up to which it was read. */
  const readUpTo = new Map<number, number>()
  options.slowBacklog?.follow({
    isFull: slow.isAccountFull,
    readUpTo: partition => (slow.isPartitionBusy(partition) ? (readUpTo.get(partition) ?? null) : null),
  })

  /** Wait while too much waits beside the steps; what is stored meanwhile is receipted and committed. */
  const awaitRoom = async (): Promise<void> => {
    while (slow.isFull() && !stopping.signal.aborted && !hasStopped && !buffer.hasLost()) {
      await settleIfDue(receiptEveryMs)
      await sleep(roomEveryMs)
    }
  }

  /** Settle what a step brings, and begin to store it; what may take long is settled beside the steps that follow. */
  const settleStep = async (taken: readonly Taken[]): Promise<void> => {
    const startedAt = performance.now()
    const arrived = await readLiving(taken)
    const heavy = await heavyLocations(arrived, settler.newest, pricing, options.load ?? usualLoad)
    const split = splitStep(arrived, slow.isBusy, heavy)
    const step = split.fast
    const one = owedStep(accountOf(step), reachedBy(taken))
    for (const { lane, next } of one.open) readUpTo.set(lane.partition, next)
    owed.add(one)
    slow.add(split, one, storing)
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
    const orders = ordersOf(step)
    storing = startStoring(one, orders, settled)
    // Whoever waits for it next is told if it fails.
    storing.catch(() => undefined)
    if (orders.some(isErase)) {
      await storing
      await slow.whilePaused(async () => settler.drop())
    }
    slow.add({ portions: portionsOfOrders(settled.slow), slowChunks: new Map() }, one, storing)
  }

  const turn = async (): Promise<void> => {
    if (buffer.readyBytes() === 0) {
      await storing
      await settleIfDue(quietReceiptEveryMs)
      // A step that failed is over: each attempt at it counts for itself, and lanes that were lost owe nothing.
      if (owed.isEmpty()) busySince = null
    }
    await gatherMore()
    await awaitRoom()
    const taken = await buffer.take(nextBytes, owed.isEmpty() ? stopping.signal : untilDue())
    slow.check()
    if (taken.length === 0) return
    busySince ??= at()
    pace.begin()
    await takeOver()
    await settleStep(taken)
  }

  const finish = async (): Promise<void> => {
    await storing
    await slow.stop()
    if (!owed.isEmpty()) await settleAccounts()
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted && !hasStopped) {
      try {
        await turn()
        backoffMs = 0
        isFull = false
        isSlowFull &&= !slow.isIdle()
      } catch (error) {
        isFull = isFailure(error) && error.code === 'log_full'
        isSlowFull ||= isFull
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'a step failed and is begun again')
        await storing.catch(() => undefined)
        storing = Promise.resolve()
        await slow.clear()
        settler.drop()
        owed.clear()
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
        await buffer.rewind()
        lanesOf = Number.NaN
      }
    }
    await finish().catch(error => logger.error({ err: error }, 'the last step was not stored; it is begun again at the next start'))
  }
  const running = run()
  return {
    isLive: () => !hasStopped && [busySince, slow.busySince()].every(since => since === null || at() - since < stuckMs),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      // A step that waits for a store is done again by whoever has its lanes next.
      const hasEnded = await Promise.race([running.then(() => true), sleep(drainMs, false, { ref: false })])
      if (!hasEnded) logger.warn(`the last step was not stored within ${drainMs} ms; it is begun again elsewhere, or at the next start`)
      await buffer.close()
    },
  }
}
