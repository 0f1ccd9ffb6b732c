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

/** A record that was put aside counts as handled and as failed. */
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

/** The records of chunks that could not be read at all; their numbers stand in the message's headers. */
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
        error: 'the record could not be read back from the log; it is kept aside and can be replayed',
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

/** Write records that failed; they never vanish from their receipts. */
export const writeFailures = (db: ClickHouse, failures: readonly BatchFailureRow[]): Promise<void> =>
  insertRows(db, 'meter_batch_failures', batchFailureColumns, failures)

/** Write what steps mean for receipts: after their rows are stored and their poison is kept aside. Repeats write the same rows. */
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
