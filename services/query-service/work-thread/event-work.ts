import type { ApiVersion } from '../../contract/api-version.ts'
import { type Event, eventToWire } from '../../contract/events/event.ts'
import { listAnswer } from '../../contract/list.ts'
import { objectTexts } from '../../platform/http/object-texts.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import { encodeTexts } from './answer-bytes.ts'

/** Events to write: a page of a list, or a single event (`hasMore` null). */
export type EventsInput = {
  readonly events: readonly Event[]
  readonly apiVersion: ApiVersion
  readonly hasMore: boolean | null
}

/** Write the data of an event in an API version. */
export const eventDataWork = ({
  event,
  apiVersion,
}: {
  readonly event: Event
  readonly apiVersion: ApiVersion
}): WorkResult => ({
  head: null,
  chunks: encodeTexts([JSON.stringify(eventToWire(event, apiVersion).data)]),
})

/** Write events. An event may contain a plan of several MiB. */
export const eventsWork = ({ events, apiVersion, hasMore }: EventsInput): WorkResult => {
  if (hasMore === null) {
    const texts = events.map(event => JSON.stringify(eventToWire(event, apiVersion)))
    return { head: null, chunks: encodeTexts(texts) }
  }
  const write = (from: number, to: number) =>
    listAnswer('/events', { items: events.slice(from, to).map(event => eventToWire(event, apiVersion)), hasMore })
  const texts = objectTexts({
    member: 'data',
    count: events.length,
    maxPerStep: 1,
    write,
    translate: whole => whole,
  })
  return { head: null, chunks: encodeTexts(texts) }
}
