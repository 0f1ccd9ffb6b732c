import type { Codec } from './avro/codec.ts'
import type { Headers, Message } from './log.ts'
import type { EventEnvelope } from './messages.ts'
import { partitionOf } from './partition.ts'

/** The key of an event: account and object, so that the events of one object share a partition, in order. */
export const eventKey = ({
  accountId,
  objectId,
  eventId,
}: Pick<EventEnvelope, 'accountId' | 'objectId' | 'eventId'>): string => `${accountId}:${objectId ?? eventId}`

const outboxIdHeader = 'outbox-id'

/**
 * Create the message of an event. The value is Avro with the schema's number. A header has the number of the event in
 * the outbox: its place among all events.
 */
export const eventMessage = (codec: Pick<Codec, 'encodeEvent'>, event: EventEnvelope, outboxId: number): Message => ({
  key: eventKey(event),
  value: codec.encodeEvent(event),
  headers: { [outboxIdHeader]: String(outboxId) },
})

/** Read the number of an event in the outbox; null in messages without it. */
export const outboxIdOf = (headers: Headers): number | null => {
  const text = headers[outboxIdHeader]
  return text === undefined ? null : Number(text)
}

/** Return the partition of an event. */
export const eventPartition = (event: EventEnvelope, partitions: number): number =>
  partitionOf(eventKey(event), partitions)

/** An event as the outbox stores it, without `data`. */
type Payload = {
  readonly id: string
  readonly type: string
  readonly account_id: string
  readonly live_mode: boolean
  readonly object_id: string | null
  readonly time_created: number
}

const dataMember = /"data"\s*:\s*/

/**
 * Read an event from its payload in the outbox: JSON whose last member is `data`. `data` stays the stored text, so that
 * its numbers keep all digits. Throws a SyntaxError for another form.
 */
export const eventOfPayload = (payload: string): EventEnvelope => {
  const match = dataMember.exec(payload)
  if (match === null) throw new SyntaxError('An event of the outbox has no data.')
  const data = payload.slice(match.index + match[0].length, payload.lastIndexOf('}')).trim()
  const head = JSON.parse(`${payload.slice(0, match.index)}"data":null}`) as Payload
  return {
    eventId: head.id,
    type: head.type,
    accountId: head.account_id,
    liveMode: head.live_mode,
    objectId: head.object_id,
    timeCreated: head.time_created,
    data,
  }
}
