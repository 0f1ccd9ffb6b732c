import type { ClickHouse, NativeRows } from '../platform/clickhouse/clickhouse.ts'
import { meterCostBlockInSteps } from '../platform/clickhouse/meter-cost-block.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { encodeMeterReadings, meterReadingColumns } from '../platform/clickhouse/meter-readings.ts'
import { inTurns } from '../platform/event-loop-turn.ts'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import { versionParts } from '../platform/log/version.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Logger } from '../platform/telemetry.ts'
import { deadLetterOf, deadLetterOfRecord } from './dead-letter.ts'
import type { PutAside } from './ledger.ts'
import type { FailedOrder, LaneOrder } from './plan-orders.ts'
import { writeFailures } from './receipt.ts'
import type { Settled } from './settle-step.ts'
import { isReplay, type StepAccount } from './step.ts'

export type StoreOptions = {
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly metrics: Metrics
  readonly logger: Logger
  /** The present instant in ms. */
  readonly at: () => number
}

const deadLetters = 'meter.dead-letters.v1'

/** What makes rows and the rest of settled steps last. */
export type StepStore = {
  /** Store cost rows, some maybe before their step is settled to its end. They are encoded before it returns, and held no longer. */
  readonly storeRows: (rows: readonly MeterCostRow[]) => Promise<void>
  /** Store dead letters, what is left of orders, then failures and, last of all, readings. Gives what was put aside. */
  readonly storeRest: (step: StepAccount, settled: Omit<Settled, 'rows'>) => Promise<readonly PutAside[]>
}

/** Make what stores settled steps. */
export const stepStore = ({ log, codec, clickHouse, metrics, logger, at }: StoreOptions): StepStore => {
  const writeDeadLetters = async (letters: readonly DeadLetter[]): Promise<void> => {
    for (const letter of letters) {
      logger.error({ code: letter.code, reason: letter.reason, lane: letter.partition, offset: letter.offset }, 'a record was put aside')
      const message = { key: letter.key, value: codec.encodeDeadLetter(letter), headers: letter.headers }
      await log.append(deadLetters, letter.partition % log.partitions(deadLetters), message)
    }
  }

  const putBack = async (rest: readonly LaneOrder[]): Promise<void> => {
    await Promise.all(
      rest.map(({ order, version, origin: { lane, message } }) => {
        const headers = toHeaders({ generation: versionParts(version).generation, chunkId: order.orderId, batches: [] })
        return log.append(lane.topic, lane.partition, { key: message.key, value: codec.encodeLane(order), headers })
      }),
    )
  }

  const asideOf = (step: StepAccount, settled: Omit<Settled, 'rows'>): readonly PutAside[] => [
    ...step.poison.map(letter => ({ letter, of: 'unreadable' as const, isReplay: false })),
    ...settled.poison.flatMap((one): readonly PutAside[] => {
      const { origin, isWithdrawn } = one.entry
      const letter = deadLetterOfRecord(one, codec, at())
      if (letter === null || origin === null) return []
      return [{ letter, of: isWithdrawn === undefined ? 'record' : 'readings', isReplay: isReplay(origin) }]
    }),
    ...onceEach(settled.failedOrders).map(({ of, reason }) => ({
      letter: deadLetterOf(of.origin, { position: -1, code: 'order_failed', reason, at: at() }),
      ...{ of: 'order' as const, isReplay: false },
    })),
  ]

  const storeBlock = async (block: NativeRows, unpriced: number): Promise<void> => {
    await clickHouse.insert(block)
    if (unpriced > 0) metrics.unpriced.inc(unpriced)
  }

  const storeRest: StepStore['storeRest'] = async (step, settled) => {
    const aside = asideOf(step, settled)
    await writeDeadLetters(aside.map(({ letter }) => letter))
    await putBack(settled.rest)
    await writeFailures(clickHouse, settled.failures)
    if (settled.readings.length > 0) {
      const bytes = encodeMeterReadings(settled.readings)
      await clickHouse.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes })
    }
    for (const { appendedAt } of step.lanes.values()) for (const since of appendedAt) metrics.visibleLag.observe((at() - since) / 1000)
    metrics.stepRows.observe(settled.costed.rows)
    return aside
  }

  return {
    // No frame that waits for the store holds rows.
    storeRows: rows => {
      if (rows.length === 0) return Promise.resolve()
      const unpriced = countUnpriced(rows)
      return inTurns(meterCostBlockInSteps(rows)).then(block => storeBlock(block, unpriced))
    },
    storeRest,
  }
}

const countUnpriced = (rows: readonly MeterCostRow[]): number =>
  rows.reduce((count, { status }) => (status === 'UNPRICED' ? count + 1 : count), 0)

/** Each order once, with the first of its reasons. */
const onceEach = (failed: readonly FailedOrder[]): readonly FailedOrder[] => [
  ...new Map(failed.toReversed().map(one => [one.of.version, one])).values(),
]
