import type { Codec } from '../platform/log/avro/codec.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import { partitionKey } from '../platform/log/partition.ts'
import { rowVersionParts } from '../platform/log/row-version.ts'
import type { AcceptedRecord, RecordPart } from '../record-bytes/accepted-record.ts'
import type { MessageOrigin, RecordToCost } from './record-to-cost.ts'

/** Record without a cost: costing threw, or its location is unknown. */
export type PoisonRecord = { readonly entry: RecordToCost; readonly code: string; readonly reason: string }

/** Reason and time of a dead letter. `position` is -1 for a whole message. */
type DeadLetterReason = {
  readonly position: number
  readonly code: string
  readonly reason: string
  readonly at: number
}

/** Return the dead letter of an unchanged message. */
export const deadLetterOf = (
  { assignment, message }: MessageOrigin,
  { position, code, reason, at }: DeadLetterReason,
): DeadLetter => ({
  topic: assignment.topic,
  partition: assignment.partition,
  offset: message.offset,
  position,
  timestamp: message.timestamp,
  key: message.key,
  headers: message.headers,
  value: message.value,
  code,
  reason,
  failedAt: at,
})

/**
 * Return the dead letter of one record: a chunk of this record, with the origin of its message. The dead letter of a
 * register interval is the message of its readings; null if both readings were stored before: the next reading costs
 * the interval again.
 */
export const deadLetterOfRecord = (
  { entry, code, reason }: PoisonRecord,
  codec: Pick<Codec, 'encodeMeterMessage'>,
  at: number,
): DeadLetter | null => {
  const { record, part, origin, sourceVersion, isWithdrawn } = entry
  if (origin === null) return null
  if (isWithdrawn !== undefined) return deadLetterOf(origin, { position: -1, code, reason, at })
  const chunk = { ...(part as RecordPart), records: [record as AcceptedRecord] }
  return {
    ...deadLetterOf(origin, { position: rowVersionParts(sourceVersion).position, code, reason, at }),
    key: partitionKey(part.accountId, record.locationId),
    value: codec.encodeMeterMessage({ kind: 'records', parts: [chunk] }),
  }
}
