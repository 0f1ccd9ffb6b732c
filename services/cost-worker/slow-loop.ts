import type { PricingBook } from '../platform/pricing-book.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { Eraser } from './erase.ts'
import type { OwedStep } from './owed-steps.ts'
import type { Arrived, Settled, Settler } from './settle-step.ts'
import { type SlowBatch, type SlowBounds, type SlowWork, slowWork, usualSlow } from './slow-work.ts'
import type { StepAccount } from './step.ts'
import type { StepStore } from './store-step.ts'

export type SlowLoopMeans = StepStore & {
  readonly settler: Settler
  readonly pricing: Pick<PricingBook, 'held'>
  readonly eraser: Pick<Eraser, 'living' | 'withoutErased'>
  readonly canPutBack: () => boolean
  readonly bounds?: SlowBounds | undefined
  /** Called with what a batch brought and what came of it; true if the worker must stop instead of keeping that. */
  readonly mustStop: (records: Arrived['records'], settled: Omit<Settled, 'rows'>) => boolean
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

const noAccount: StepAccount = { lanes: new Map(), submissions: [], chunks: [], unreadable: [], poison: [] }

/** Open the loop; it runs whenever something waits. */
export const openSlowLoop = (means: SlowLoopMeans): SlowLoop => {
  const { settler, pricing, eraser, storeRest, canPutBack, at } = means
  const work = slowWork(pricing, means.bounds ?? usualSlow)
  let running: Promise<void> | null = null
  let pauses = 0
  let failure: { readonly error: unknown } | null = null
  let since: number | null = null

  const storeRows: StepStore['storeRows'] = async rows => {
    await means.storeRows(rows)
    since = at()
  }

  /** Put aside what could not be costed, each on account of its step. */
  const storePoison = async ({ stepOf }: SlowBatch, settled: Omit<Settled, 'rows'>): Promise<void> => {
    const bySteps = Map.groupBy(settled.poison, ({ entry }: PoisonRecord): OwedStep | undefined => stepOf(entry))
    for (const [step, poison] of bySteps) {
      const aside = await storeRest(noAccount, { ...settled, poison, rest: [], failedOrders: [], failures: [], readings: [] })
      step?.aside.push(...aside)
      for (const one of poison) step?.slow.get(one.entry.part.accountId)?.poison.push(one)
    }
  }

  const settleBatch = async (batch: SlowBatch): Promise<void> => {
    since = at()
    await batch.after
    const { records, readings, orders } = batch.arrived
    const living = new Set(eraser.living(readings.map(({ row }) => row)))
    const arrived = { records: eraser.withoutErased(records), readings: readings.filter(({ row }) => living.has(row)), orders }
    const { rows, ...settled } = await settler.settle(arrived, {
      stored: Promise.resolve(),
      store: held => storeRows(eraser.living(held)),
      canPutBack: canPutBack(),
      isBeside: true,
    })
    // Nothing of it is kept: the worker ends.
    if (means.mustStop(arrived.records, settled)) throw new Error('too many locations fail')
    await storeRows(eraser.living(rows))
    await storePoison(batch, settled)
    for (const one of await storeRest(noAccount, { ...settled, poison: [] })) batch.lanes.get(one.letter.partition)?.aside.push(one)
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
        await settleBatch(batch)
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
      if (split.portions.length === 0) return
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
