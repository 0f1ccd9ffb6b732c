import type { ApiVersion } from '../../contract/api-version.ts'
import { type Event, eventToWire } from '../../contract/events/event.ts'
import { listAnswer } from '../../contract/list.ts'
import { objectTexts } from '../../platform/http/object-texts.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import { encodeTexts } from './answer-bytes.ts'

/** Events to write: a page of a list, or a single event (`hasMore` null). */
export type EventsInput = {
  readonly events: readonly Event[]
  readonly apiVersion: ApiVersion
  readonly hasMore: boolean | null
}

/** Write the data of an event in an API version. */
export function* eventDataWork({
  event,
  apiVersion,
}: {
  readonly event: Event
  readonly apiVersion: ApiVersion
}): PausableWork {
  yield { head: null }
  yield* encodeTexts([JSON.stringify(eventToWire(event, apiVersion).data)])
}

/** Write events. An event may contain a plan of several MiB. */
export function* eventsWork({ events, apiVersion, hasMore }: EventsInput): PausableWork {
  yield { head: null }
  if (hasMore === null) {
    for (const event of events) yield* encodeTexts([JSON.stringify(eventToWire(event, apiVersion))])
    return
  }
  const write = (from: number, to: number) =>
    listAnswer('/events', { items: events.slice(from, to).map(event => eventToWire(event, apiVersion)), hasMore })
  yield* encodeTexts(
    objectTexts({
      member: 'data',
      count: events.length,
      maxPerStep: 1,
      hasLongElements: true,
      write,
      translate: whole => whole,
    }),
  )
}
