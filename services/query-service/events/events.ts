import { eventList, eventRetrieve, eventToWire } from '../../contract/event.ts'
import { typesOfFilter } from '../../contract/event-type.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { listEvents, retrieveEvent } from '../../platform/postgres/events.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList } from '../list.ts'

/** Bind the operations on events. */
export const eventOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(eventList, request =>
    answerList(
      dependencies,
      request,
      request.query,
      '/events',
      (transaction, page) => {
        const { event_type: type, object_id: objectId = null, start_time: start, end_time: end } = request.query
        // A type that no event has now may be one that events had before.
        const isGroup = type === '*' || type?.endsWith('.*') === true
        const types = type === undefined || type === '*' ? null : isGroup ? typesOfFilter(type) : [type]
        return listEvents(transaction, { types, objectId, from: start?.at ?? null, to: end?.at ?? null }, page)
      },
      events => events.map(event => eventToWire(event, request.layout)),
    ),
  ),
  bind(eventRetrieve, async request => {
    const event = await withTenant(dependencies.database, tenantOf(request), transaction => retrieveEvent(transaction, request.id))
    return event === null ? refused('not_found', 'No event has this id') : accepted(eventToWire(event, request.layout))
  }),
]
