import type { MeterRecord } from '../domain/record/record.ts'
import type { Tenant } from '../domain/tenant.ts'

/** Records of one append. The position of a record is its index, from 0, among the records of all parts. */
export type RecordChunk = { readonly kind: 'records'; readonly parts: readonly RecordPart[] }

/** Records of one submission. `batchId` is null for a record that was submitted alone (instant cost). */
export type RecordPart = Tenant & {
  readonly batchId: string | null
  readonly receivedAt: number
  readonly records: readonly AcceptedRecord[]
}

/**
 * `recordId`: the 24 hexadecimal digits of the record's id, calculated when the gateway accepts the record.
 * `recordNumber`: place in the submission, from 1.
 */
export type AcceptedRecord = MeterRecord & { readonly recordId: string; readonly recordNumber: number }
