import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { encodeMeterCostRows, meterCostColumns } from '../platform/clickhouse/meter-cost-rows.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { PricingBook } from '../platform/pricing-book.ts'
import type { Logger } from '../platform/telemetry.ts'
import { deadLetterOfRecord } from './dead-letter.ts'
import { openLaneBuffer } from './lane-buffer.ts'
import { writeReceipts } from './receipt.ts'
import { createSettler } from './settle-step.ts'
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
const stuckMs = 60_000
const mostBackoffMs = 5_000

/**
 * Start the worker: take what waits, settle it, write rows, dead letters and receipts, commit last. A step that fails is begun again
 * from the committed offsets with nothing kept of it; its rows are the same then.
 */
export const startCostWorker = async (options: CostWorkerOptions): Promise<CostWorker> => {
  const { log, codec, clickHouse, pricing, metrics, logger, at } = options
  const buffer = await openLaneBuffer(log, 'cost-worker')
  const settler = createSettler(clickHouse, pricing)
  const stopping = new AbortController()
  let busySince: number | null = null

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
    for (const letter of letters) {
      logger.error({ code: letter.code, reason: letter.reason, lane: letter.partition, offset: letter.offset }, 'a record was put aside')
      const value = codec.encodeDeadLetter(letter)
      await log.append('meter.dead-letters.v1', letter.partition % log.partitions('meter.dead-letters.v1'), {
        key: letter.key,
        value,
        headers: letter.headers,
      })
    }
  }

  const work = async (taken: readonly Taken[]): Promise<void> => {
    const startedAt = performance.now()
    const step = await readStep(taken, codec, at())
    applyOrders(step)
    const { rows, poison } = await settler.settle(step.records)
    const settledAt = performance.now()
    if (rows.length > 0) await clickHouse.insert({ table: 'meter_cost', columns: meterCostColumns, bytes: encodeMeterCostRows(rows) })
    const insertedAt = performance.now()
    const letters = [...step.poison, ...poison.map(one => deadLetterOfRecord(one, codec, at()))]
    await writeDeadLetters(letters)
    await writeReceipts(clickHouse, step, poison)
    await buffer.commit(taken)
    metrics.stepSeconds.observe({ phase: 'settle' }, (settledAt - startedAt) / 1000)
    metrics.stepSeconds.observe({ phase: 'insert' }, (insertedAt - settledAt) / 1000)
    metrics.stepSeconds.observe({ phase: 'rest' }, (performance.now() - insertedAt) / 1000)
    observe(metrics, step, rows, letters, at())
  }

  const run = async (): Promise<void> => {
    let backoffMs = 0
    while (!stopping.signal.aborted) {
      try {
        const taken = await buffer.take(stepBytes, stopping.signal)
        if (taken.length === 0) continue
        busySince ??= at()
        await work(taken)
        busySince = null
        backoffMs = 0
      } catch (error) {
        backoffMs = Math.min(mostBackoffMs, Math.max(100, backoffMs * 2))
        logger.error({ err: error, again_in_ms: backoffMs }, 'a step failed and is begun again')
        settler.drop()
        await sleep(backoffMs, undefined, { signal: stopping.signal }).catch(() => undefined)
        await buffer.rewind()
      }
    }
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
