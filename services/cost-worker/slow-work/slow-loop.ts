import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { CostStep, StepInput, StepResult } from '../cost-step.ts'
import type { PoisonRecord } from '../dead-letter.ts'
import type { Eraser } from '../erase.ts'
import type { PendingStep } from '../pending-steps.ts'
import type { StepSummary } from '../step.ts'
import type { StepStore } from '../store-step.ts'
import { defaultSlowWorkLimits, type SlowBatch, type SlowWork, type SlowWorkLimits, slowWork } from './slow-work.ts'

export type SlowLoopDependencies = StepStore & {
  readonly costStep: CostStep
  readonly pricing: Pick<PricingCache, 'cached'>
  readonly eraser: Pick<Eraser, 'withoutErasedRows' | 'withoutErasedRecords'>
  readonly canDefer: () => boolean
  readonly bounds?: SlowWorkLimits | undefined
  /** Called with what a batch brought and what came of it; true if the worker must stop instead of keeping that. */
  readonly mustStop: (records: StepInput['records'], result: Omit<StepResult, 'rows'>) => boolean
  /** The present instant in ms. */
  readonly at: () => number
}

/** Settles what may take long, batch by batch, beside the steps. A batch that fails ends it until `clear`: all is begun again then. */
export type SlowLoop = Pick<SlowWork, 'isBusy' | 'add' | 'isAccountFull' | 'isPartitionBusy'> & {
  /** Throw what a batch failed with. */
  readonly check: () => void
  /** Tell whether so much waits that nothing should be added. */
  readonly isFull: () => boolean
  /** Tell whether nothing waits or is under way. */
  readonly isIdle: () => boolean
  /** When a batch that is under way last got on, in ms; null: none is. */
  readonly busySince: () => number | null
  /** Do something between two batches. */
  readonly whilePaused: (work: () => Promise<void>) => Promise<void>
  /** End after the batch that is under way. */
  readonly stop: () => Promise<void>
  /** Forget all that waits. */
  readonly clear: () => Promise<void>
}

const emptySummary: StepSummary = {
  partitionCounts: new Map(),
  submissions: [],
  chunks: [],
  unreadableChunks: [],
  poison: [],
}

/** Open the loop; it runs whenever something waits. */
export const openSlowLoop = (dependencies: SlowLoopDependencies): SlowLoop => {
  const { costStep, pricing, eraser, storeRest, canDefer, at } = dependencies
  const work = slowWork(pricing, dependencies.bounds ?? defaultSlowWorkLimits)
  let running: Promise<void> | null = null
  let pauses = 0
  let failure: { readonly error: unknown } | null = null
  let since: number | null = null

  const storeRows: StepStore['storeRows'] = async rows => {
    await dependencies.storeRows(rows)
    since = at()
  }

  /** Put aside what could not be costed, each on account of its step. */
  const storePoison = async ({ stepOf }: SlowBatch, result: Omit<StepResult, 'rows'>): Promise<void> => {
    const poisonByStep = Map.groupBy(result.poison, ({ entry }: PoisonRecord): PendingStep | undefined => stepOf(entry))
    for (const [step, poison] of poisonByStep) {
      const deadLetters = await storeRest(emptySummary, {
        ...result,
        poison,
        deferred: [],
        failedRequests: [],
        failures: [],
        readings: [],
      })
      step?.deadLetters.push(...deadLetters)
      for (const one of poison) step?.slowByAccount.get(one.entry.part.accountId)?.poison.push(one)
    }
  }

  const costBatch = async (batch: SlowBatch): Promise<void> => {
    since = at()
    await batch.after
    const { records, readings, requests } = batch.input
    const activeRows = new Set(eraser.withoutErasedRows(readings.map(({ row }) => row)))
    const input = {
      records: eraser.withoutErasedRecords(records),
      readings: readings.filter(({ row }) => activeRows.has(row)),
      requests,
    }
    const { rows, ...result } = await costStep.run(input, {
      stored: Promise.resolve(),
      store: buffered => storeRows(eraser.withoutErasedRows(buffered)),
      canDefer: canDefer(),
      isSlowWork: true,
    })
    // Nothing of it is kept: the worker ends.
    if (dependencies.mustStop(input.records, result)) throw new Error('too many locations fail')
    await storeRows(eraser.withoutErasedRows(rows))
    await storePoison(batch, result)
    for (const one of await storeRest(emptySummary, { ...result, poison: [] }))
      batch.stepsByPartition.get(one.letter.partition)?.deadLetters.push(one)
    work.end(batch)
  }

  const run = async (): Promise<void> => {
    for (;;) {
      const batch = pauses === 0 && failure === null ? work.next() : null
      if (batch === null) {
        // At once: what is added next must find it ended.
        running = null
        since = null
        return
      }
      try {
        await costBatch(batch)
      } catch (error) {
        failure = { error }
      }
    }
  }

  const start = (): void => {
    if (running !== null || pauses > 0 || failure !== null) return
    const { promise, resolve } = Promise.withResolvers<void>()
    running = promise
    void run().then(resolve)
  }

  const pause = async (): Promise<void> => {
    pauses += 1
    await running
  }

  const check = (): void => {
    if (failure !== null) throw failure.error
  }

  return {
    isBusy: work.isBusy,
    isAccountFull: work.isAccountFull,
    isPartitionBusy: work.isPartitionBusy,
    add: (split, step, after) => {
      if (split.slowTasks.length === 0) return
      work.add(split, step, after)
      start()
    },
    check,
    isFull: () => work.isFull() && failure === null,
    isIdle: () => running === null,
    busySince: () => since,
    whilePaused: async act => {
      await pause()
      try {
        await act()
      } finally {
        pauses -= 1
        start()
      }
    },
    stop: pause,
    clear: async () => {
      await pause()
      pauses -= 1
      work.clear()
      failure = null
    },
  }
}
