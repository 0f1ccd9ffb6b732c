import type { PricingCache } from '../../platform/pricing-cache/pricing-cache.ts'
import type { CostStep, StepInput, StepResult } from '../cost-step.ts'
import type { PoisonRecord } from '../dead-letter.ts'
import type { Eraser } from '../erase.ts'
import { emptySummary, type PendingStep } from '../pending-steps.ts'
import type { RestOfStep, StepStore } from '../store-step.ts'
import { defaultSlowWorkLimits, type SlowBatch, type SlowWork, type SlowWorkLimits, slowWork } from './slow-work.ts'

export type SlowLoopDependencies = StepStore & {
  readonly costStep: CostStep
  readonly pricing: Pick<PricingCache, 'cached'>
  readonly eraser: Pick<Eraser, 'withoutErasedRows' | 'withoutErasedRecords'>
  readonly canDefer: () => boolean
  readonly limits?: SlowWorkLimits | undefined
  /**
   * Called with the records and the result of a batch. Returns true if the worker must stop; the result is then
   * discarded.
   */
  readonly mustStop: (records: StepInput['records'], result: RestOfStep) => boolean
  /** The current instant in ms. */
  readonly at: () => number
}

/**
 * Costs slow work in batches, in parallel with the steps. A failed batch ends the loop until `clear`; the work then
 * starts again.
 */
export type SlowLoop = Pick<SlowWork, 'isBusy' | 'add' | 'isAccountFull' | 'isPartitionBusy'> & {
  /** Throw the error of a failed batch. */
  readonly check: () => void
  /** Return whether so much work waits that no more may be added. */
  readonly isFull: () => boolean
  /** Return whether no batch runs. */
  readonly isIdle: () => boolean
  /** Last progress of the running batch, in ms; null if no batch runs. */
  readonly busySince: () => number | null
  /** Do something between two batches. */
  readonly whilePaused: (work: () => Promise<void>) => Promise<void>
  /** End after the running batch. */
  readonly stop: () => Promise<void>
  /** Discard all waiting work. */
  readonly clear: () => Promise<void>
}

type LoopState = {
  readonly work: SlowWork
  running: Promise<void> | null
  pauses: number
  failure: { readonly error: unknown } | null
  busySince: number | null
}

/** Store the rows of a batch, and note the progress. */
const storeRows = async (
  { storeRows: store, at }: SlowLoopDependencies,
  state: LoopState,
  { rows, corrections }: Pick<StepResult, 'rows' | 'corrections'>,
): Promise<void> => {
  await store(rows, corrections)
  state.busySince = at()
}

/** Write the dead letters of a batch, and assign each to its step. */
const storePoison = async (
  { storeRest }: SlowLoopDependencies,
  { stepOf }: SlowBatch,
  result: RestOfStep,
): Promise<void> => {
  const poisonByStep = Map.groupBy(result.poison, ({ entry }: PoisonRecord): PendingStep | undefined => stepOf(entry))
  const nothingElse = { deferred: [], failedRequests: [], failures: [], readings: [] }
  for (const [step, poison] of poisonByStep) {
    const deadLetters = await storeRest(emptySummary, { ...result, ...nothingElse, poison })
    step?.deadLetters.push(...deadLetters)
    for (const one of poison) step?.slowByAccount.get(one.entry.part.accountId)?.poison.push(one)
  }
}

/** Cost a batch and store its effects, in the order of a step: rows, dead letters, the rest. */
const costBatch = async (dependencies: SlowLoopDependencies, state: LoopState, batch: SlowBatch): Promise<void> => {
  const { costStep, eraser, storeRest, canDefer, mustStop, at } = dependencies
  state.busySince = at()
  await batch.after
  const { records, readings, requests } = batch.input
  const activeRows = new Set(eraser.withoutErasedRows(readings.map(({ row }) => row)))
  const input = {
    records: eraser.withoutErasedRecords(records),
    readings: readings.filter(({ row }) => activeRows.has(row)),
    requests,
  }
  const activeOf = (all: StepResult['rows']) => eraser.withoutErasedRows(all)
  const {
    rows,
    plain: _,
    corrections,
    ...result
  } = await costStep.run(input, {
    stored: Promise.resolve(),
    store: (buffered, own) => storeRows(dependencies, state, { rows: activeOf(buffered), corrections: own }),
    canDefer: canDefer(),
    isSlowWork: true,
  })
  // The worker stops, and the result is discarded.
  if (mustStop(input.records, result)) throw new Error('Too many locations fail.')
  await storeRows(dependencies, state, { rows: activeOf(rows), corrections })
  await storePoison(dependencies, batch, result)
  for (const one of await storeRest(emptySummary, { ...result, poison: [] }))
    batch.stepsByPartition.get(one.letter.partition)?.deadLetters.push(one)
  state.work.end(batch)
}

const run = async (dependencies: SlowLoopDependencies, state: LoopState): Promise<void> => {
  for (;;) {
    const batch = state.pauses === 0 && state.failure === null ? state.work.next() : null
    if (batch === null) {
      // In the same turn: a task that is added next must start the loop again.
      state.running = null
      state.busySince = null
      return
    }
    try {
      await costBatch(dependencies, state, batch)
    } catch (error) {
      state.failure = { error }
    }
  }
}

const start = (dependencies: SlowLoopDependencies, state: LoopState): void => {
  if (state.running !== null || state.pauses > 0 || state.failure !== null) return
  const { promise, resolve } = Promise.withResolvers<void>()
  state.running = promise
  void run(dependencies, state).then(resolve)
}

const pause = async (state: LoopState): Promise<void> => {
  state.pauses += 1
  await state.running
}

/** Open the loop. It runs while tasks wait. */
export const openSlowLoop = (dependencies: SlowLoopDependencies): SlowLoop => {
  const work = slowWork(dependencies.pricing, dependencies.limits ?? defaultSlowWorkLimits)
  const state: LoopState = { work, running: null, pauses: 0, failure: null, busySince: null }
  return {
    isBusy: work.isBusy,
    isAccountFull: work.isAccountFull,
    isPartitionBusy: work.isPartitionBusy,
    add: (split, step, after) => {
      if (split.slowTasks.length === 0) return
      work.add(split, step, after)
      start(dependencies, state)
    },
    check: () => {
      if (state.failure !== null) throw state.failure.error
    },
    isFull: () => work.isFull() && state.failure === null,
    isIdle: () => state.running === null,
    busySince: () => state.busySince,
    whilePaused: async act => {
      await pause(state)
      try {
        await act()
      } finally {
        state.pauses -= 1
        start(dependencies, state)
      }
    },
    stop: () => pause(state),
    clear: async () => {
      await pause(state)
      state.pauses -= 1
      work.clear()
      state.failure = null
    },
  }
}
