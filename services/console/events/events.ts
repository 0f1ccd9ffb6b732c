import { type EventWire, eventList, eventRetrieve } from '../../contract/events/event.ts'
import { webhookDeliveryList } from '../../contract/events/webhook-delivery.ts'
import { webhookList } from '../../contract/events/webhook-endpoint.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { idLink } from '../kit/object-name.ts'
import { exampleRequest } from '../objects/object-kind.ts'
import { locationKind } from '../objects/registry-kinds.ts'
import {
  errorNotice,
  facts,
  field,
  hasOlderRows,
  instant,
  listParameters,
  pageLinks,
  showResult,
} from '../page-parts.ts'
import { deliveryTable } from './webhook-deliveries.ts'

/** Number of events that the live list loads at once. */
const tailSize = 50

const objectOf = ({ data }: EventWire): string => {
  for (const name of ['id', 'tariff_id', 'reference_id']) {
    const value = data[name]
    if (typeof value === 'string') return value
  }
  return ''
}

/** Columns of events. The file has their data too. */
export const eventColumns: readonly Column<EventWire>[] = [
  {
    key: 'time_created',
    name: 'Time',
    text: one => one.time_created,
    show: one => instant(one.time_created),
  },
  { key: 'type', name: 'Type', text: one => one.type, show: one => html`<code>${one.type}</code>` },
  {
    key: 'object',
    name: 'Object',
    text: objectOf,
    show: one => (objectOf(one) === '' ? '' : idLink(objectOf(one))),
  },
  {
    key: 'id',
    name: 'Event',
    text: one => one.id,
    show: one => html`<a href="/console/events/${one.id}">${one.id}</a>`,
  },
  { key: 'data', name: 'Data', text: one => JSON.stringify(one.data), isInFileOnly: true },
]

const eventTable = (request: ConsoleRequest, list: ListOf<EventWire>): TableView =>
  dataTable(request, {
    id: 'events',
    label: 'Events',
    items: list.data,
    hasMore: hasOlderRows(request.query, list),
    columns: eventColumns,
    empty: 'No events yet. Change the filter, or create a location.',
    isSortable: false,
    rowId: one => one.id,
  })

const filters = ['event_type', 'object_id'] as const

const liveControls = html`<p class="tail">
<button type="button" class="quiet" id="live" hidden aria-pressed="true">Live</button>
<span id="news" role="status"></span></p>`

const showEvents = async (request: ConsoleRequest) => {
  const { call, query } = request
  const list = await call(eventList, listParameters(query, filters, tailSize))
  const isTail = !query.has('starting_after') && !query.has('ending_before')
  const { limit: _, ...tailParameters } = listParameters(query, filters)
  const tail = `/console/events/tail?${new URLSearchParams(tailParameters)}`
  const table = list.ok ? eventTable(request, list.value) : null
  return {
    title: 'Events',
    tables: table === null ? [] : [table],
    status: list.ok ? 200 : list.status,
    body: html`<h1>Events</h1>
<p class="lead">Changes in this mode, newest first. Events are retained for 90 days.</p>
<form class="filter" method="get" action="/console/events">
${field('event_type', 'Type', { value: query.get('event_type') ?? '' })}
${field('object_id', 'Object ID or reference', { value: query.get('object_id') ?? '' })}
<button class="quiet" type="submit">Filter</button></form>
${isTail ? liveControls : null}
${list.ok && list.value.data.length === 0 && filters.every(name => (query.get(name) ?? '') === '') ? html`<div class="empty"><p>This request creates the first event:</p>${curlBlock(exampleRequest(locationKind))}</div>` : null}
<div id="tail" data-address="${isTail && list.ok ? tail : ''}">${showResult(list, () => table?.markup)}</div>
${list.ok ? pageLinks('/console/events', query, filters, list.value) : null}`,
  }
}

/** Return the newest rows. The live list adds those that are new. */
const tail = async (request: ConsoleRequest) => {
  const { call, query } = request
  const list = await call(eventList, listParameters(query, filters, tailSize))
  return { fragment: html`${list.ok ? eventTable(request, list.value).rows : null}` }
}

/** Maximum number of endpoints whose delivery an event page looks up. */
const maxEndpoints = 20

/** Find the deliveries of an event to the endpoints of the account. */
const deliveriesOf = async (
  request: ConsoleRequest,
  eventId: string,
): Promise<{ readonly content: Content; readonly tables: readonly TableView[] }> => {
  const { call } = request
  const endpoints = await call(webhookList, { limit: maxEndpoints })
  if (!endpoints.ok) return { content: errorNotice(endpoints.fault), tables: [] }
  const found = await Promise.all(
    endpoints.value.data.map(async ({ id, url }) => {
      const list = await call(webhookDeliveryList, { id, event_id: eventId })
      return list.ok && list.value.data.length > 0
        ? [{ id, url, table: deliveryTable(request, `to-${id}`, `Delivery to ${url}`, list.value) }]
        : []
    }),
  )
  const received = found.flat()
  return {
    tables: received.map(({ table: one }) => one),
    content:
      received.length === 0
        ? html`<p class="empty">No endpoint received this event. Check the event types of your endpoints.</p>`
        : received.map(
            ({ id, url, table: one }) => html`<p>To <a href="/console/webhooks/${id}">${url}</a>:</p>${one.markup}`,
          ),
  }
}

const event = async (request: ConsoleRequest) => {
  const { call, ids } = request
  const found = await call(eventRetrieve, { id: ids[0] })
  const deliveries = found.ok ? await deliveriesOf(request, found.value.id) : null
  return {
    title: 'Event',
    tables: deliveries?.tables ?? [],
    status: found.ok ? 200 : found.status,
    body: html`<p class="trail"><a href="/console/events">Events</a></p><h1>Event</h1>
${
  found.ok
    ? html`${facts(
        ['ID', html`<code>${found.value.id}</code>`],
        ['Type', html`<code>${found.value.type}</code>`],
        ['Time', instant(found.value.time_created)],
        ['Object', objectOf(found.value) === '' ? '–' : idLink(objectOf(found.value))],
      )}
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>${deliveries?.content}</section>
<h2>Data</h2><pre class="block" tabindex="0">${JSON.stringify(found.value.data, null, 2)}</pre>`
    : errorNotice(found.fault)
}`,
  }
}

export const eventRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/events', showEvents),
  getRoute('/console/events/tail', tail),
  getRoute('/console/events/:event', event),
]
