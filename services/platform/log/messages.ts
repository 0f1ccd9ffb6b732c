import type { RegisterRule } from '../../domain/record/reading-rules.ts'
import type { MeterRecord } from '../../domain/record/record.ts'
import type { SubmissionWarning } from '../../domain/record/warnings.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { RecordChunk } from '../../record-bytes/accepted-record.ts'
import type { Headers } from './log.ts'

/** Message of `meter.records.v1`. Mirrors the current `schemas/log/published/meter-records.*.avsc`. */
export type MeterMessage = RecordChunk | Submission | StoredRowRequest | ReadingChunk

/** Header of a submission: numbers of submitted and accepted records, and the refused records. */
export type Submission = Tenant & {
  readonly kind: 'submission'
  readonly batchId: string
  readonly receivedAt: number
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
  /** Warnings about accepted records; absent if there are none. They are in a header of the message. */
  readonly warnings?: readonly SubmissionWarning[]
  /** Import of the submission; absent if there is none. It is in headers of the message. */
  readonly ofImport?: ImportOfSubmission
}

/** Import of a submission. `id`: as the caller names it. `isUndo`: the submission belongs to the undo of the import. */
export type ImportOfSubmission = { readonly id: string; readonly isUndo: boolean }

/** A refused record. It has the location and device that it names, so that an erasure finds it. */
export type RefusedRecord = {
  readonly recordNumber: number
  readonly recordReferenceId: string | null
  readonly error: string
  readonly locationId?: string | null
  readonly deviceId?: string | null
}

/**
 * Request to change stored rows. `from` and `to` bound a half-open interval; null is open. `accountId` is null if the
 * locations belong to several accounts.
 */
export type StoredRowRequest = {
  readonly kind: 'order'
  readonly orderId: string
  readonly orderKind: StoredRowRequestKind
  readonly accountId: string | null
  readonly liveMode: boolean
  readonly locationIds: readonly string[]
  readonly locationRevision: number | null
  readonly sourceId: string | null
  readonly priceRevision: number | null
  readonly from: number | null
  readonly to: number | null
  readonly objectId: string | null
  /** JSON with the data of this request kind only. */
  readonly detail: string
}

/** UNKNOWN is any kind that a later release adds. */
export type StoredRowRequestKind = 'UNKNOWN' | 'RE_PRICE' | 'TIER' | 'ERASE'

export type ReadingChunk = { readonly kind: 'readings'; readonly parts: readonly ReadingPart[] }

export type ReadingPart = Tenant & {
  readonly batchId: string | null
  readonly receivedAt: number
  readonly locationId: string
  readonly deviceId: string | null
  readonly energyFlowDirection: MeterRecord['energyFlowDirection']
  readonly tariffDirection: MeterRecord['tariffDirection']
  readonly sessionReferenceId: string | null
  /** Properties of the register when the readings were accepted; null if its device or location has none. */
  readonly register: RegisterRule | null
  readonly readings: readonly Reading[]
}

/**
 * `value` in 1e-6 Wh; null withdraws the reading. `isRestart`: first reading of a new meter. `recordId`: digits of the
 * record id of the interval that starts with this reading.
 */
export type Reading = {
  readonly time: number
  readonly isRestart: boolean
  readonly value: bigint | null
  readonly recordReferenceId: string | null
  readonly recordNumber: number
  readonly recordId: string
}

/**
 * `position`: index in the message's chunk, -1 for the whole message. `value`: the original bytes, or a chunk with only
 * the failed entry.
 */
export type DeadLetter = {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly position: number
  readonly timestamp: number
  readonly key: string
  readonly headers: Headers
  readonly value: Buffer
  readonly code: string
  readonly reason: string
  readonly failedAt: number
}

/** `data`: JSON of the object after the change. */
export type EventEnvelope = Tenant & {
  readonly eventId: string
  readonly type: string
  readonly objectId: string | null
  readonly timeCreated: number
  readonly data: string
}
