import type { Codec } from '../platform/log/avro/codec.ts'
import type { AcceptedRecord, DeadLetter, RecordPart } from '../platform/log/messages.ts'
import { partitionKey } from '../platform/log/partition.ts'
import { rowVersionParts } from '../platform/log/row-version.ts'
import type { MessageOrigin, RecordToCost } from './record-to-cost.ts'

/** A record for which there is no cost because the pure code threw, or its location is not known at all. */
export type PoisonRecord = { readonly entry: RecordToCost; readonly code: string; readonly reason: string }

/** Why and when something was put aside; `position` is -1 for a whole message. */
type DeadLetterReason = {
  readonly position: number
  readonly code: string
  readonly reason: string
  readonly at: number
}

/** Lay a message aside as it came, with the reason for which it cannot be handled. */
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
 * Lay one record aside: as a chunk of its own, with the origin of its message. An interval of a register is laid aside as the message of
 * its readings; null where both of these are stored already, and come back with the next reading.
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
