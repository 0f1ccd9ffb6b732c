import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { type BlockColumn, encodeBlocksInSteps } from '../platform/clickhouse/encoding/fast-path/native-block.ts'
import {
  type BatchFailureRow,
  batchColumns,
  batchFailureColumns,
  batchPartColumns,
} from '../platform/clickhouse/readings/receipts.ts'
import { runInTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { StepSummary } from './step.ts'

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

const insertRows = async <Row>(
  db: ClickHouse,
  table: string,
  columns: readonly BlockColumn<Row>[],
  rows: readonly Row[],
): Promise<void> => {
  if (rows.length > 0)
    await db.insert({ table, columns, bytes: await runInTimeSlices(encodeBlocksInSteps(columns, rows)) })
}

/** Write failed records. They stay in the receipts. */
export const writeFailures = (db: ClickHouse, failures: readonly BatchFailureRow[]): Promise<void> =>
  insertRows(db, 'meter_batch_failures', batchFailureColumns, failures)

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
  await insertRows(db, 'meter_batches', batchColumns, batches)
}
