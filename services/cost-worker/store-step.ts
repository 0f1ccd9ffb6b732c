import type { ClickHouse, NativeRows } from '../platform/clickhouse/clickhouse.ts'
import { meterCostBlockInSteps } from '../platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import type { PlainRows } from '../platform/clickhouse/encoding/fast-path/plain-rows.ts'
import { insertRows } from '../platform/clickhouse/insert-rows.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost/meter-cost-row.ts'
import { earlierValueColumns } from '../platform/clickhouse/readings/earlier-values.ts'
import { type ImportBatchRow, importBatchColumns } from '../platform/clickhouse/readings/import-batches.ts'
import { meterReadingColumns } from '../platform/clickhouse/readings/meter-readings.ts'
import {
  type BatchFailureRow,
  batchColumns,
  batchFailureColumns,
  batchPartColumns,
} from '../platform/clickhouse/readings/receipts.ts'
import { replacedReadingColumns } from '../platform/clickhouse/readings/replaced-readings.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { Codec } from '../platform/log/avro/codec.ts'
import { toHeaders } from '../platform/log/chunk-headers.ts'
import { deadLetterTopic, type Log } from '../platform/log/log.ts'
import type { DeadLetter, Submission } from '../platform/log/messages.ts'
import { rowVersionParts } from '../platform/log/row-version.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import { type Corrections, storeCorrections } from './correction-finder.ts'
import type { StepResult } from './cost-step.ts'
import type { DeadLetterEntry } from './count-outcomes.ts'
import { deadLetterOf, deadLetterOfRecord, type PoisonRecord } from './dead-letter.ts'
import type { ReceivedRequest } from './recost/merge-requests.ts'
import type { FailedRequest } from './recost/plan-recosts.ts'
import { isReplay, type StepSummary } from './step.ts'

export type StoreOptions = {
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly metrics: Metrics
  readonly logger: Logger
  /** The current instant in ms. */
  readonly at: () => number
}

/** Result of a step without its rows and their corrections. */
export type RestOfStep = Omit<StepResult, 'rows' | 'plain' | 'corrections'>

/** Stores the effects of steps durably. */
export type StepStore = {
  /**
   * Store cost rows and plain rows, after the corrections of their records. A step can store some rows before it ends.
   * The rows are encoded before the function waits for the store.
   */
  readonly storeRows: (
    rows: readonly MeterCostRow[],
    corrections: Corrections,
    plain?: PlainRows | null,
  ) => Promise<void>
  /** Store dead letters, deferred requests, failures and, last, readings. Return the dead letters. */
  readonly storeRest: (step: StepSummary, result: RestOfStep) => Promise<readonly DeadLetterEntry[]>
}

const countUnpriced = (rows: readonly MeterCostRow[]): number =>
  rows.reduce((count, { status }) => (status === 'UNPRICED' ? count + 1 : count), 0)

const storeBlock = async (
  { clickHouse, metrics }: StoreOptions,
  block: NativeRows,
  unpriced: number,
): Promise<void> => {
  await clickHouse.insert(block)
  if (unpriced > 0) metrics.unpriced.inc(unpriced)
}

/** Return the request of each message once, with its first reason. Partitions have equal offsets and versions. */
const firstReasons = (failed: readonly FailedRequest[]): readonly FailedRequest[] => [
  ...new Map(
    failed.toReversed().map(one => {
      const { assignment, message } = one.received.origin
      return [`${assignment.partition}/${message.offset}`, one]
    }),
  ).values(),
]

const deadLettersOf = (
  { codec, at }: StoreOptions,
  step: StepSummary,
  result: RestOfStep,
): readonly DeadLetterEntry[] => [
  ...step.poison.map(letter => ({ letter, of: 'unreadable' as const, isReplay: false })),
  ...result.poison.flatMap((one): readonly DeadLetterEntry[] => {
    const { origin, isWithdrawn } = one.entry
    const letter = deadLetterOfRecord(one, codec, at())
    if (letter === null || origin === null) return []
    return [{ letter, of: isWithdrawn === undefined ? 'record' : 'readings', isReplay: isReplay(origin) }]
  }),
  ...firstReasons(result.failedRequests).map(({ received, reason }) => ({
    letter: deadLetterOf(received.origin, { position: -1, code: 'order_failed', reason, at: at() }),
    of: 'order' as const,
    isReplay: false,
  })),
]

const writeDeadLetters = async (
  { log, codec, logger }: StoreOptions,
  letters: readonly DeadLetter[],
): Promise<void> => {
  for (const letter of letters) {
    const { code, reason, partition, offset } = letter
    logger.error({ code, reason, lane: partition, offset }, 'Record dead-lettered')
    const message = { key: letter.key, value: codec.encodeDeadLetter(letter), headers: letter.headers }
    await log.append(deadLetterTopic, partition % log.partitions(deadLetterTopic), message)
  }
}

/** Append deferred requests to the end of their partitions. */
const appendDeferred = async ({ log, codec }: StoreOptions, deferred: readonly ReceivedRequest[]): Promise<void> => {
  await Promise.all(
    deferred.map(({ request, version, origin: { assignment, message } }) => {
      const { generation } = rowVersionParts(version)
      return log.append(assignment.topic, assignment.partition, {
        key: message.key,
        value: codec.encodeMeterMessage(request),
        headers: toHeaders({ generation, chunkId: request.orderId, batches: [] }),
      })
    }),
  )
}

/** Write failed records. They stay in the receipts. */
const writeFailures = (db: ClickHouse, failures: readonly BatchFailureRow[]): Promise<void> =>
  insertRows(db, 'meter_batch_failures', batchFailureColumns, failures)

/** Create the store of steps. */
export const stepStore = (options: StoreOptions): StepStore => {
  const { clickHouse, metrics, at } = options
  return {
    // The promise must not reference the rows: they would stay in memory during the insert.
    storeRows: (rows, corrections, plain = null) => {
      if (rows.length === 0 && plain === null) return Promise.resolve()
      const unpriced = countUnpriced(rows)
      const corrected = storeCorrections(clickHouse, corrections, rows)
      return Promise.all([runInTimeSlices(meterCostBlockInSteps(rows, plain)), corrected]).then(([block]) =>
        storeBlock(options, block, unpriced),
      )
    },
    storeRest: async (step, result) => {
      const deadLetters = deadLettersOf(options, step, result)
      await writeDeadLetters(
        options,
        deadLetters.map(({ letter }) => letter),
      )
      await appendDeferred(options, result.deferred)
      await writeFailures(clickHouse, result.failures)
      await insertRows(clickHouse, 'meter_replaced_readings', replacedReadingColumns, result.replaced)
      await insertRows(clickHouse, 'meter_earlier_values', earlierValueColumns, result.earlier)
      await insertRows(clickHouse, 'meter_readings', meterReadingColumns, result.readings)
      for (const { appendedAt } of step.partitionCounts.values())
        for (const since of appendedAt) metrics.visibleLag.observe((at() - since) / 1000)
      metrics.stepRows.observe(result.costed.rows)
      return deadLetters
    },
  }
}

/** Row of a submission of an import, or of its undo. */
const importBatchOf = ({ ofImport, ...batch }: Submission): readonly ImportBatchRow[] => {
  if (ofImport === undefined) return []
  const { accountId, liveMode, batchId, recordsAccepted, receivedAt } = batch
  return [
    {
      accountId,
      liveMode,
      importId: ofImport.id,
      isUndo: ofImport.isUndo,
      batchId,
      recordsAccepted,
      receivedAt,
    },
  ]
}

const refusedRows = ({ submissions }: StepSummary): readonly BatchFailureRow[] =>
  submissions.flatMap(({ refused, ...batch }) =>
    refused.map(({ locationId = null, deviceId = null, ...record }) => ({
      ...batch,
      ...record,
      locationId,
      deviceId,
      foundLater: false,
    })),
  )

/** A dead-lettered record counts as handled and as failed. */
const failedRecordRows = (poison: readonly PoisonRecord[]): readonly BatchFailureRow[] =>
  poison.flatMap(({ entry: { part, record }, reason }) => {
    const { recordNumber, recordReferenceId, locationId, deviceId } = record
    const { accountId, liveMode, batchId } = part
    return batchId === null || recordNumber === undefined
      ? []
      : [
          {
            accountId,
            liveMode,
            batchId,
            recordNumber,
            recordReferenceId,
            locationId,
            deviceId,
            foundLater: true,
            error: reason,
          },
        ]
  })

/** Failures of the records of unreadable chunks. The message headers contain their record numbers. */
const unreadableChunkRows = ({ unreadableChunks }: StepSummary): readonly BatchFailureRow[] =>
  unreadableChunks.flatMap(({ batches }) =>
    batches.flatMap(({ recordNumbers, ...batch }) =>
      recordNumbers.map(recordNumber => ({
        ...batch,
        recordNumber,
        recordReferenceId: null,
        locationId: null,
        deviceId: null,
        foundLater: true,
        error: 'The record could not be read from the log. The operator can replay it.',
      })),
    ),
  )

/** Write the receipts of steps, after their rows and dead letters are stored. A repeat writes the same rows. */
export const writeReceipts = async (
  db: ClickHouse,
  summaries: readonly { readonly summary: StepSummary; readonly poison: readonly PoisonRecord[] }[],
): Promise<void> => {
  const failures = summaries.flatMap(({ summary, poison }) => [
    ...refusedRows(summary),
    ...failedRecordRows(poison),
    ...unreadableChunkRows(summary),
  ])
  const parts = summaries.flatMap(({ summary }) =>
    [...summary.chunks, ...summary.unreadableChunks].flatMap(({ chunkId, batches }) =>
      batches.map(({ accountId, liveMode, batchId, recordCount }) => ({
        accountId,
        liveMode,
        batchId,
        chunkId,
        recordsHandled: recordCount,
      })),
    ),
  )
  const batches = summaries.flatMap(({ summary }) => summary.submissions)
  await writeFailures(db, failures)
  await insertRows(db, 'meter_batch_parts', batchPartColumns, parts)
  await insertRows(db, 'meter_import_batches', importBatchColumns, batches.flatMap(importBatchOf))
  await insertRows(db, 'meter_batches', batchColumns, batches)
}
