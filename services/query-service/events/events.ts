import { type Event, eventFor, eventList, eventRetrieve } from '../../contract/events/event.ts'
import { pageRequest } from '../../contract/list.ts'
import type { AnswerOf, Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import { typesOfFilter } from '../../domain/event-types.ts'
import { noObject } from '../../domain/no-object.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { listEvents, retrieveEvent } from '../../platform/postgres/events/events.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerWork } from '../work-thread/run-work.ts'

/** Maximum length in characters of events that the request thread writes, which takes some ms. */
const maxInlineDataLength = 65_536

const answerEvents = (
  dependencies: QueryServiceDependencies,
  request: RequestOf<Operation>,
  events: readonly Event[],
  hasMore: boolean | null,
): Promise<Outcome<never>> => {
  const totalLength = events.reduce((length, { data }) => length + data.length, 0)
  const isSmall = totalLength <= maxInlineDataLength
  const shown = events.map(event => eventFor(request.caller.scope, event))
  const input = { events: shown, apiVersion: request.apiVersion, hasMore }
  return answerWork(dependencies, request, { name: 'events', input, isSmall, bytes: totalLength })
}

const answerEventList = async (
  dependencies: QueryServiceDependencies,
  request: RequestOf<typeof eventList>,
): Promise<Outcome<AnswerOf<typeof eventList>>> => {
  const { event_type: type, object_id: objectId = null, start_time: start, end_time: end } = request.query
  // A type that no longer exists may be the type of an older event.
  const isTypeFilter = type === '*' || type?.endsWith('.*') === true
  const types = type === undefined || type === '*' ? null : isTypeFilter ? typesOfFilter(type) : [type]
  const filter = { types, objectId, from: start?.at ?? null, to: end?.at ?? null }
  const paging = pageRequest(request.query)
  const page = await withTenant(dependencies.database, tenantOf(request), transaction =>
    listEvents(transaction, filter, paging),
  )
  return page.ok ? answerEvents(dependencies, request, page.value.items, page.value.hasMore) : page
}

/** Bind the operations on events. */
export const eventOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(eventList, request => answerEventList(dependencies, request)),
  bind(eventRetrieve, async request => {
    const event = await withTenant(dependencies.database, tenantOf(request), transaction =>
      retrieveEvent(transaction, request.id),
    )
    return event === null ? noObject('event') : answerEvents(dependencies, request, [event], null)
  }),
]
