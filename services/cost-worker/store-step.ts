import type { ClickHouse, NativeRows } from '../platform/clickhouse/clickhouse.ts'
import { meterCostBlockInSteps } from '../platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { encodeMeterReadings, meterReadingColumns } from '../platform/clickhouse/readings/meter-readings.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { deadLetterTopic, type Log } from '../platform/log/log.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import { rowVersionParts } from '../platform/log/row-version.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { StepResult } from './cost-step.ts'
import type { DeadLetterEntry } from './count-outcomes.ts'
import { deadLetterOf, deadLetterOfRecord } from './dead-letter.ts'
import type { FailedRequest, ReceivedRequest } from './recost/plan-recosts.ts'
import { isReplay, type StepSummary } from './step.ts'
import { writeFailures } from './write-receipts.ts'

export type StoreOptions = {
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly metrics: Metrics
  readonly logger: Logger
  /** The present instant in ms. */
  readonly at: () => number
}

/** What makes rows and the rest of settled steps last. */
export type StepStore = {
  /** Store cost rows, some maybe before their step is settled to its end. They are encoded before it returns, and held no longer. */
  readonly storeRows: (rows: readonly MeterCostRow[]) => Promise<void>
  /** Store dead letters, what is left of orders, then failures and, last of all, readings. Gives what was put aside. */
  readonly storeRest: (step: StepSummary, result: Omit<StepResult, 'rows'>) => Promise<readonly DeadLetterEntry[]>
}

/** Make what stores settled steps. */
export const stepStore = ({ log, codec, clickHouse, metrics, logger, at }: StoreOptions): StepStore => {
  const writeDeadLetters = async (letters: readonly DeadLetter[]): Promise<void> => {
    for (const letter of letters) {
      logger.error(
        { code: letter.code, reason: letter.reason, lane: letter.partition, offset: letter.offset },
        'a record was put aside',
      )
      const message = { key: letter.key, value: codec.encodeDeadLetter(letter), headers: letter.headers }
      await log.append(deadLetterTopic, letter.partition % log.partitions(deadLetterTopic), message)
    }
  }

  const appendDeferred = async (deferred: readonly ReceivedRequest[]): Promise<void> => {
    await Promise.all(
      deferred.map(({ request, version, origin: { assignment, message } }) => {
        const headers = toHeaders({
          generation: rowVersionParts(version).generation,
          chunkId: request.orderId,
          batches: [],
        })
        return log.append(assignment.topic, assignment.partition, {
          key: message.key,
          value: codec.encodeMeterMessage(request),
          headers,
        })
      }),
    )
  }

  const deadLettersOf = (step: StepSummary, result: Omit<StepResult, 'rows'>): readonly DeadLetterEntry[] => [
    ...step.poison.map(letter => ({ letter, of: 'unreadable' as const, isReplay: false })),
    ...result.poison.flatMap((one): readonly DeadLetterEntry[] => {
      const { origin, isWithdrawn } = one.entry
      const letter = deadLetterOfRecord(one, codec, at())
      if (letter === null || origin === null) return []
      return [{ letter, of: isWithdrawn === undefined ? 'record' : 'readings', isReplay: isReplay(origin) }]
    }),
    ...firstReasons(result.failedRequests).map(({ received: of, reason }) => ({
      letter: deadLetterOf(of.origin, { position: -1, code: 'order_failed', reason, at: at() }),
      ...{ of: 'order' as const, isReplay: false },
    })),
  ]

  const storeBlock = async (block: NativeRows, unpriced: number): Promise<void> => {
    await clickHouse.insert(block)
    if (unpriced > 0) metrics.unpriced.inc(unpriced)
  }

  const storeRest: StepStore['storeRest'] = async (step, result) => {
    const deadLetters = deadLettersOf(step, result)
    await writeDeadLetters(deadLetters.map(({ letter }) => letter))
    await appendDeferred(result.deferred)
    await writeFailures(clickHouse, result.failures)
    if (result.readings.length > 0) {
      const bytes = encodeMeterReadings(result.readings)
      await clickHouse.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes })
    }
    for (const { appendedAt } of step.partitionCounts.values())
      for (const since of appendedAt) metrics.visibleLag.observe((at() - since) / 1000)
    metrics.stepRows.observe(result.costed.rows)
    return deadLetters
  }

  return {
    // No frame that waits for the store holds rows.
    storeRows: rows => {
      if (rows.length === 0) return Promise.resolve()
      const unpriced = countUnpriced(rows)
      return runInTimeSlices(meterCostBlockInSteps(rows)).then(block => storeBlock(block, unpriced))
    },
    storeRest,
  }
}

const countUnpriced = (rows: readonly MeterCostRow[]): number =>
  rows.reduce((count, { status }) => (status === 'UNPRICED' ? count + 1 : count), 0)

/** Each order once, with the first of its reasons. */
const firstReasons = (failed: readonly FailedRequest[]): readonly FailedRequest[] => [
  ...new Map(failed.toReversed().map(one => [one.received.version, one])).values(),
]
