import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../platform/clickhouse/meter-cost-block.ts'
import { encodeMeterReadings, meterReadingColumns } from '../platform/clickhouse/meter-readings.ts'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import type { Codec } from '../platform/log/codec.ts'
import type { Log } from '../platform/log/log.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import { versionParts } from '../platform/log/version.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Logger } from '../platform/telemetry.ts'
import { deadLetterOf, deadLetterOfRecord } from './dead-letter.ts'
import type { FailedOrder, LaneOrder } from './plan-orders.ts'
import { writeFailures } from './receipt.ts'
import type { Settled } from './settle-step.ts'
import type { Step } from './step.ts'

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

/** Make what stores a settled step: cost rows, dead letters, what is left of orders, then failures and, last of all, readings. */
export const stepStore = ({ log, codec, clickHouse, metrics, logger, at }: StoreOptions) => {
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

  const lettersOf = (step: Step, settled: Settled): readonly DeadLetter[] => [
    ...step.poison,
    ...settled.poison.flatMap(one => deadLetterOfRecord(one, codec, at()) ?? []),
    ...failedOrders(settled.failedOrders).map(({ of, reason }) =>
      deadLetterOf(of.origin, { position: -1, code: 'order_failed', reason, at: at() }),
    ),
  ]

  return async (step: Step, settled: Settled): Promise<void> => {
    if (settled.rows.length > 0) await clickHouse.insert(meterCostBlock(settled.rows))
    const letters = lettersOf(step, settled)
    await writeDeadLetters(letters)
    await putBack(settled.rest)
    await writeFailures(clickHouse, settled.failures)
    if (settled.readings.length > 0) {
      const bytes = encodeMeterReadings(settled.readings)
      await clickHouse.insert({ table: 'meter_readings', columns: meterReadingColumns, bytes })
    }
    observe(metrics, step, settled.rows, letters, at())
  }
}

/** Each order once, with the first of its reasons. */
const failedOrders = (failed: readonly FailedOrder[]): readonly FailedOrder[] => [
  ...new Map(failed.toReversed().map(one => [one.of.version, one])).values(),
]

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
