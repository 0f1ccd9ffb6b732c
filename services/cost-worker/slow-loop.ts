import { setTimeout as sleep } from 'node:timers/promises'
import type { PricingBook } from '../platform/pricing-book.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { Eraser } from './erase.ts'
import type { OwedStep } from './owed-steps.ts'
import type { Settled, Settler } from './settle-step.ts'
import { type SlowBatch, type SlowWork, slowWork } from './slow-work.ts'
import type { StepAccount } from './step.ts'
import type { StepStore } from './store-step.ts'

export type SlowLoopMeans = StepStore & {
  readonly settler: Settler
  readonly pricing: Pick<PricingBook, 'held'>
  readonly eraser: Pick<Eraser, 'living' | 'withoutErased'>
  readonly canPutBack: () => boolean
  /** Called when a batch is stored. */
  readonly progress: () => void
}

/** Settles what may take long, batch by batch, beside the steps. A batch that fails ends it until `clear`: all is begun again then. */
export type SlowLoop = Pick<SlowWork, 'isBusy' | 'add'> & {
  /** Throw what a batch failed with. */
  readonly check: () => void
  /** Wait while too much waits, until `signal` aborts. */
  readonly room: (signal: AbortSignal) => Promise<void>
  /** Do something between two batches. */
  readonly whilePaused: (work: () => Promise<void>) => Promise<void>
  /** End after the batch that is under way. */
  readonly stop: () => Promise<void>
  /** Forget all that waits. */
  readonly clear: () => Promise<void>
}

const noAccount: StepAccount = { lanes: new Map(), submissions: [], chunks: [], unreadable: [], poison: [] }
const lookMs = 20

/** Open the loop; it runs whenever something waits. */
export const openSlowLoop = ({ settler, pricing, eraser, storeRows, storeRest, canPutBack, progress }: SlowLoopMeans): SlowLoop => {
  const work = slowWork(pricing)
  let running: Promise<void> | null = null
  let pauses = 0
  let failure: { readonly error: unknown } | null = null

  /** Put aside what could not be costed, each on account of its step. */
  const storePoison = async ({ stepOf }: SlowBatch, settled: Omit<Settled, 'rows'>): Promise<void> => {
    const bySteps = Map.groupBy(settled.poison, ({ entry }: PoisonRecord): OwedStep | undefined => stepOf.get(entry.record.locationId))
    for (const [step, poison] of bySteps) {
      const aside = await storeRest(noAccount, { ...settled, poison, rest: [], failedOrders: [], failures: [], readings: [] })
      step?.aside.push(...aside)
      for (const one of poison) step?.slow.get(one.entry.part.accountId)?.poison.push(one)
    }
  }

  const settleBatch = async (batch: SlowBatch): Promise<void> => {
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
    await storeRows(eraser.living(rows))
    await storePoison(batch, settled)
    const aside = await storeRest(noAccount, { ...settled, poison: [] })
    batch.stepOf
      .values()
      .next()
      .value?.aside.push(...aside)
    work.end(batch)
    progress()
  }

  const run = async (): Promise<void> => {
    for (;;) {
      const batch = pauses === 0 && failure === null ? work.next() : null
      if (batch === null) {
        // At once: what is added next must find it ended.
        running = null
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
    add: (split, step, after) => {
      if (split.portions.length === 0) return
      work.add(split, step, after)
      start()
    },
    check,
    room: async signal => {
      while (work.isFull() && failure === null && !signal.aborted) await sleep(lookMs)
    },
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
