import type { MeterRecord } from '../../domain/record/record.ts'
import type { Headers } from './log.ts'

/** What travels in a location's lane (`meter.records.v1`). Mirrors `schemas/log/published/meter-records.*.avsc`. */
export type MeterMessage = RecordChunk | Submission | StoredRowRequest | ReadingChunk

/** Records that shared an append. A record's position is its place among the records of all parts, from 0. */
export type RecordChunk = { readonly kind: 'records'; readonly parts: readonly RecordPart[] }

/** What one submission brought; `batchId` is null for a record that came alone (instant cost). */
export type RecordPart = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly batchId: string | null
  readonly receivedAt: number
  readonly records: readonly AcceptedRecord[]
}

/**
 * `recordId`: the 24 hexadecimal digits of the record's id, computed once where the record is accepted, because the
 * repeats within a submission are found by it there; `recordNumber`: place in the submission, from 1.
 */
export type AcceptedRecord = MeterRecord & { readonly recordId: string; readonly recordNumber: number }

/** A submission's header: what was counted and refused as it arrived. */
export type Submission = {
  readonly kind: 'submission'
  readonly accountId: string
  readonly liveMode: boolean
  readonly batchId: string
  readonly receivedAt: number
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly refused: readonly RefusedRecord[]
}

/** A record that was refused as it arrived; location and device as far as it names them, for erasures. */
export type RefusedRecord = {
  readonly recordNumber: number
  readonly recordReferenceId: string | null
  readonly error: string
  readonly locationId?: string | null
  readonly deviceId?: string | null
}

/** Work on stored rows. `from` and `to` bound a half-open span, null is open; `accountId` null: locations of many accounts. */
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
  /** JSON of what only this kind needs. */
  readonly detail: string
}

/** UNKNOWN stands for a kind that a later release writes. */
export type StoredRowRequestKind = 'UNKNOWN' | 'RE_PRICE' | 'TIER' | 'ERASE'

export type ReadingChunk = { readonly kind: 'readings'; readonly parts: readonly ReadingPart[] }

export type ReadingPart = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly batchId: string | null
  readonly receivedAt: number
  readonly locationId: string
  readonly deviceId: string | null
  readonly energyFlowDirection: MeterRecord['energyFlowDirection']
  readonly tariffDirection: MeterRecord['tariffDirection']
  readonly sessionReferenceId: string | null
  readonly readings: readonly Reading[]
}

/** `value` in 1e-6 Wh; `recordId`: digits of the id of the interval that this reading opens. */
export type Reading = {
  readonly time: number
  readonly value: bigint
  readonly recordReferenceId: string | null
  readonly recordNumber: number
  readonly recordId: string
}

/** `position`: place in the message's chunk, -1 for the whole message; `value`: the bytes as they came, or a chunk of the one entry. */
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
export type EventEnvelope = {
  readonly eventId: string
  readonly type: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly objectId: string | null
  readonly timeCreated: number
  readonly data: string
}
