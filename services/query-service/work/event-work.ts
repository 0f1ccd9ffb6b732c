import { type Event, eventToWire } from '../../contract/event.ts'
import type { Layout } from '../../contract/layout.ts'
import { listAnswer } from '../../contract/list.ts'
import { objectTexts } from '../../platform/http/object-texts.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import { bytesOf } from './answer-bytes.ts'

/** Events to be written: a page of a list, or one alone (`hasMore` null). */
export type EventsInput = { readonly events: readonly Event[]; readonly layout: Layout; readonly hasMore: boolean | null }

/** Write what one event tells of, in the names of an API version. */
export function* eventDataWork({ event, layout }: { readonly event: Event; readonly layout: Layout }): PausableWork {
  yield { head: null }
  yield* bytesOf([JSON.stringify(eventToWire(event, layout).data)])
}

/** Write events, of which each may tell of a plan of megabytes. */
export function* eventsWork({ events, layout, hasMore }: EventsInput): PausableWork {
  yield { head: null }
  if (hasMore === null) {
    for (const event of events) yield* bytesOf([JSON.stringify(eventToWire(event, layout))])
    return
  }
  const write = (from: number, to: number) =>
    listAnswer('/events', { items: events.slice(from, to).map(event => eventToWire(event, layout)), hasMore })
  yield* bytesOf(objectTexts({ member: 'data', count: events.length, atATime: 1, hasLongElements: true, write, translate: whole => whole }))
}
