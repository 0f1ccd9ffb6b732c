import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../platform/clickhouse/meter-cost-block.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import type { Logger } from '../platform/telemetry.ts'
import { deadLetterOfRecord, type PoisonRecord } from './dead-letter.ts'
import { openLaneBuffer } from './lane-buffer.ts'
import { writeReceipts } from './receipt.ts'
import { createSettler, type Settled } from './settle-step.ts'
import { readStep, type Step, type Taken } from './step.ts'

export type CostWorkerOptions = {
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly pricing: PricingBook
  readonly metrics: Metrics
  readonly logger: Logger
  /** The present instant in ms. */
  readonly at: () => number
}

/** A worker that runs; it is live as long as its lanes have no work or it commits some within a minute. */
export type CostWorker = AsyncDisposable & { readonly isLive: () => boolean }

/** About 10,000 records. */
const stepBytes = 1_000_000
/** Small steps begin at most so often, because the engine takes as long for ten rows as for a thousand; the first one begins at once. */
const smallStepEveryMs = 40
const smallStepBytes = 250_000
/** Receipts and commits wait about so long while steps follow each other; quiet lanes have them at once. */
const receiptDelayMs = 300
const stuckMs = 60_000
const mostBackoffMs = 5_000

/** Steps whose rows and dead letters are stored, and whose receipts and commits are owed. */
type Owed = { readonly taken: Taken[]; readonly steps: { readonly step: Step; readonly poison: readonly PoisonRecord[] }[]; since: number }

/**
 * Start the worker: take what waits, settle it, write rows, dead letters and receipts, commit last. A step is settled while the one
 * before it is stored. One that fails is begun again from the committed offsets with nothing kept of it; its rows are the same then.
 */
export const startCostWorker = async (options: CostWorkerOptions): Promise<CostWorker> => {
  const { log, codec, clickHouse, pricing, metrics, logger, at } = options
  const buffer = await openLaneBuffer(log, 'cost-worker')
  const settler = createSettler(clickHouse, pricing)
  const stopping = new AbortController()
  const owed: Owed = { taken: [], steps: [], since: 0 }
  let busySince: number | null = null
  let steppedAt = Number.NEGATIVE_INFINITY
  let storing: Promise<void> = Promise.resolve()

  /** Let a few more records gather behind a step that has just begun. */
  const pace = async (): Promise<void> => {
    const wait = steppedAt + smallStepEveryMs - performance.now()
    if (wait > 0 && buffer.readyBytes() < smallStepBytes) {
      await sleep(wait, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  const applyOrders = ({ orders }: Step): void => {
    for (const order of orders) {
      if (order.sourceId !== null && order.priceRevision !== null) pricing.raiseSource(order.sourceId, order.priceRevision)
      for (const locationId of order.locationIds) {
        pricing.raiseLocation(locationId, order.locationRevision ?? 0)
        settler.dropLocation(locationId)
      }
    }
  }

  const writeDeadLetters = async (letters: readonly DeadLetter[]): Promise<void> => {
    const topic = 'meter.dead-letters.v1'
    for (const letter of letters) {
      logger.error({ code: letter.code, reason: letter.reason, lane: letter.partition, offset: letter.offset }, 'a record was put aside')
      const message = { key: letter.key, value: codec.encodeDeadLetter(letter), headers: letter.headers }
      await log.append(topic, letter.partition % log.partitions(topic), message)
    }
  }

  const store = async (step: Step, { rows, poison }: Settled, taken: readonly Taken[], startedAt: number): Promise<void> => {
    const settledAt = performance.now()
    if (rows.length > 0) await clickHouse.insert(meterCostBlock(rows))
    const letters = [...step.poison, ...poison.map(one => deadLetterOfRecord(one, codec, at()))]
    await writeDeadLetters(letters)
    metrics.stepSeconds.observe({ phase: 'settle' }, (settledAt - startedAt) / 1000)
    metrics.stepSeconds.observe({ phase: 'store' }, (performance.now() - settledAt) / 1000)
    observe(metrics, step, rows, letters, at())
    if (owed.steps.length === 0) owed.since = startedAt
    owed.taken.push(...taken)
    owed.steps.push({ step, poison })
  }

  const settleAccounts = async (): Promise<void> => {
    const startedAt = performance.now()
    await writeReceipts(clickHouse, owed.steps)
    await buffer.commit(owed.taken)
    owed.taken.length = 0
    owed.steps.length = 0
    busySince = null
    metrics.stepSeconds.observe({ phase: 'receipts' }, (performance.now() - startedAt) / 1000)
  }

  /** Wait until the step before is stored, and pay what is owed for it if there is time or it is due. */
  const finish = async (isDue: boolean): Promise<void> => {
    await storing
    if (owed.steps.length > 0 && (isDue || performance.now() - owed.since > receiptDelayMs)) await settleAccounts()
  }

  const turn = async (): Promise<void> => {
    if (buffer.readyBytes() === 0) await finish(true)
    await pace()
    const taken = await buffer.take(stepBytes, stopping.signal)
    if (taken.length === 0) return
    busySince ??= at()
    const startedAt = performance.now()
    steppedAt = startedAt
    const step = await readStep(taken, codec, at())
    applyOrders(step)
    const settled = await settler.settle(step.records, storing)
    await finish(false)
    storing = store(step, settled, taken, startedAt)
    // Whoever waits for it next is told if it fails.
    storing.catch(() => undefined)
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted) {
      try {
        await turn()
        backoffMs = 0
      } catch (error) {
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'a step failed and is begun again')
        await storing.catch(() => undefined)
        storing = Promise.resolve()
        settler.drop()
        owed.taken.length = 0
        owed.steps.length = 0
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
        await buffer.rewind()
      }
    }
    await finish(true).catch(error => logger.error({ err: error }, 'the last step was not stored; it is begun again at the next start'))
  }
  const running = run()
  return {
    isLive: () => busySince === null || at() - busySince < stuckMs,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
      await buffer.close()
    },
  }
}

const observe = (
  metrics: Metrics,
  step: Step,
  rows: readonly { readonly status: string }[],
  letters: readonly DeadLetter[],
  at: number,
): void => {
  const dead = Map.groupBy(letters, letter => letter.partition)
  for (const [partition, tally] of step.lanes) {
    const lane = String(partition)
    const put = (dead.get(partition) ?? []).filter(({ position }) => position >= 0).length
    metrics.stored.inc({ lane }, tally.read - tally.superseded - put)
    if (tally.superseded > 0) metrics.superseded.inc({ lane }, tally.superseded)
    if (put > 0) metrics.deadLettered.inc({ lane }, put)
    for (const appendedAt of tally.appendedAt) metrics.visibleLag.observe((at - appendedAt) / 1000)
  }
  const unpriced = rows.reduce((count, { status }) => (status === 'UNPRICED' ? count + 1 : count), 0)
  if (unpriced > 0) metrics.unpriced.inc(unpriced)
  metrics.stepRows.observe(rows.length)
}
