import type { MeterBatch } from '../contract/metering/meter-batch.ts'
import type { SubmissionWarning, WarningCode } from '../domain/record/warnings.ts'
import type { BatchIds } from '../platform/ids/batch-id.ts'
import type { ImportOfSubmission, Reading, ReadingPart, RefusedRecord, Submission } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { EncodedPart } from '../record-bytes/record-part.ts'
import type { ChunkWriter } from './chunk-writer.ts'
import type { ReadingWriter } from './reading-writer.ts'
import { type WriteLimit, writeLimit } from './write-limit.ts'

/** Counters of the gateway. */
export type GatewayCounters = {
  /** Called when records are durable in a partition, even if the caller receives no answer. */
  readonly accepted: (partition: number, records: number) => void
  readonly refused: (records: number) => void
  /** Called with the length of a decompressed body. */
  readonly bytes: (bytes: number) => void
  /** Called when records with a warning are durable. */
  readonly warned: (code: WarningCode, records: number) => void
}

/** A submission: its account and mode, its id, its arrival in ms, and its import. All its records carry these members. */
export type Batch = Tenant & Pick<Submission, 'ofImport'> & { readonly batchId: string; readonly receivedAt: number }

/** Return the import that the parameters of a submission name. */
export const importOf = ({
  import_id: id,
}: {
  readonly import_id?: string | undefined
}): ImportOfSubmission | undefined => (id === undefined ? undefined : { id, isUndo: false })

/**
 * Normalised records of a batch: validated, numbered from 1, with the ids of existing objects and with record ids.
 * Energy is in 1e-6 Wh, instants are in ms. `parts`: the accepted records by partition, in the order of their numbers.
 */
export type NormalisedRecords = {
  readonly kind: 'records'
  readonly parts: ReadonlyMap<number, readonly EncodedPart[]>
  readonly refused: readonly RefusedRecord[]
  readonly warnings: readonly SubmissionWarning[]
}

/** Normalised readings of one register, in the order of their numbers, and the partition of its location. */
export type NormalisedReadings = {
  readonly kind: 'readings'
  readonly partition: number
  readonly register: Omit<ReadingPart, 'accountId' | 'liveMode' | 'batchId' | 'receivedAt' | 'readings'>
  readonly readings: readonly Reading[]
  readonly refused: readonly RefusedRecord[]
}

/** Numbers of a batch. `recordsSubmitted` is `recordsAccepted` plus the number of refused records. */
export type BatchCounts = { readonly recordsSubmitted: number; readonly recordsAccepted: number }

/**
 * The only way into the partitions for normalised records of a batch, from any source: HTTP, a file, a device protocol.
 * A new source reads its format into records, validates them (`validateRecords`), and calls `accept`.
 */
export type RecordEntrance = {
  /** Begin a batch that arrives at `at` (ms): create its id. Nothing is stored. */
  readonly begin: (tenant: Tenant, at: number, ofImport?: ImportOfSubmission) => Batch
  /**
   * Make a batch durable, with its header and its refused records. Return the receipt, before any record is costed.
   * Law: after the receipt, each accepted record is in its partition once or more, and costs the same as once.
   * Throws `Failure`: `gateway_full` (retriable) if too many records wait, `gateway_late` (retriable) if the log takes
   * more than 4 s, `generation_unknown` or the log's failure.
   * Then parts of the batch can be durable, nothing is acknowledged, and the caller can submit the whole batch again.
   */
  readonly accept: (
    batch: Batch,
    content: NormalisedRecords | NormalisedReadings,
    counts: BatchCounts,
  ) => Promise<MeterBatch>
}

export type RecordEntranceDependencies = {
  readonly writer: ChunkWriter
  readonly readings: ReadingWriter
  readonly batchIds: BatchIds
  readonly counts: Pick<GatewayCounters, 'refused' | 'warned'>
  readonly writeLimitMs?: number
}

/**
 * Wait for both, even if one fails: only the time limit answers while an append is in progress.
 * Rejects with the error of the first one, if both fail. `allSettled` would cost more time in each submission.
 */
const awaitBoth = async (first: Promise<unknown>, second: Promise<unknown>): Promise<void> => {
  const secondEnd = second.catch(() => undefined)
  try {
    await first
  } finally {
    await secondEnd
  }
  await second
}

/** Create the entrance over the writers of the log. Source: docs/rules/metering.md #acknowledgement. */
export const recordEntrance = ({
  writer,
  readings,
  batchIds,
  counts,
  writeLimitMs,
}: RecordEntranceDependencies): RecordEntrance => {
  const withWriteLimit = writeLimit(writeLimitMs)
  const write = (batch: Batch, content: NormalisedRecords | NormalisedReadings, limit: WriteLimit): Promise<unknown> =>
    content.kind === 'records'
      ? writer.write(content.parts, limit)
      : readings.write(content.partition, { ...batch, ...content.register, readings: content.readings }, limit)

  return {
    begin: ({ accountId, liveMode }, at, ofImport) => {
      const tenant = { accountId, liveMode }
      const batch = { ...tenant, batchId: batchIds.create(tenant, at, ofImport !== undefined), receivedAt: at }
      return ofImport === undefined ? batch : { ...batch, ofImport }
    },
    accept: async (batch, content, { recordsSubmitted, recordsAccepted }) => {
      const { refused } = content
      const warnings = content.kind === 'records' ? content.warnings : []
      const header = { kind: 'submission', ...batch, recordsSubmitted, recordsAccepted, refused, warnings } as const
      await withWriteLimit(limit => awaitBoth(write(batch, content, limit), writer.writeHeader(header, limit)))
      counts.refused(refused.length)
      for (const { code, records } of warnings) counts.warned(code, records)
      const { accountId, liveMode, batchId: id, receivedAt: createdAt } = batch
      return {
        accountId,
        liveMode,
        id,
        recordsSubmitted,
        recordsAccepted,
        recordsProcessed: 0,
        recordsReplaced: 0,
        failed: refused,
        warnings,
        createdAt,
      }
    },
  }
}
