import type { EventWire } from '../../../contract/events/event.ts'
import type { WebhookDeliveryWire } from '../../../contract/events/webhook-delivery.ts'
import type { WebhookEndpointWire } from '../../../contract/events/webhook-endpoint.ts'
import { type Content, html } from '../../ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import {
  cells,
  errorNotice,
  facts,
  field,
  instant,
  listQuery,
  pageLinks,
  type Row,
  showResult,
  table,
} from '../page-parts.ts'
import { deliveryColumns, deliveryRow } from './webhook-deliveries.ts'

/** Number of events that the live list loads at once. */
const tailSize = 50

const objectOf = ({ data }: EventWire): string => {
  for (const name of ['id', 'tariff_id', 'reference_id']) {
    const value = data[name]
    if (typeof value === 'string') return value
  }
  return ''
}

const columnNames = ['Time', 'Type', 'Object', 'Event']

const eventRow =
  (event: EventWire): Row =>
  names =>
    html`<tr data-id="${event.id}">${cells(names, [
      instant(event.time_created),
      html`<code>${event.type}</code>`,
      objectOf(event),
      html`<a href="/console/events/${event.id}">${event.id}</a>`,
    ])}</tr>`

const filters = ['event_type', 'object_id']

const liveControls = html`<p class="tail">
<button type="button" class="quiet" id="live" hidden aria-pressed="true">Live</button>
<span id="news" role="status"></span></p>`

const showEvents = async ({ api, query }: ConsoleRequest) => {
  const list = await api<ListOf<EventWire>>('GET', `/events${listQuery(query, filters, tailSize)}`)
  const isTail = !query.has('starting_after') && !query.has('ending_before')
  const tail = `/console/events/tail${listQuery(query, filters, tailSize).replace(/^\?limit=\d+&?/, '?')}`
  return {
    title: 'Events',
    status: list.ok ? 200 : list.status,
    body: html`<h1>Events</h1>
<p class="lead">Changes in this mode, newest first. Events are retained for 90 days.</p>
<form class="filter" method="get" action="/console/events">
${field('event_type', 'Type', { value: query.get('event_type') ?? '' })}
${field('object_id', 'Object ID', { value: query.get('object_id') ?? '' })}
<button class="quiet" type="submit">Filter</button></form>
${isTail ? liveControls : null}
<div id="tail" data-address="${isTail && list.ok ? tail : ''}">${showResult(list, ({ data }) =>
      table(
        'Events',
        columnNames,
        data.map(eventRow),
        'No events yet. Change the filter, or create a location with the API.',
      ),
    )}</div>
${list.ok ? pageLinks('/console/events', query, filters, list.value) : null}`,
  }
}

/** Return the newest rows. The live list adds those that are new. */
const tail = async ({ api, query }: ConsoleRequest) => {
  const list = await api<ListOf<EventWire>>('GET', `/events${listQuery(query, filters, tailSize)}`)
  return { fragment: html`${list.ok ? list.value.data.map(event => eventRow(event)(columnNames)) : null}` }
}

/** Maximum number of endpoints whose delivery an event page looks up. */
const maxEndpoints = 20

/** Find the deliveries of an event to the endpoints of the account. */
const deliveriesOf = async (request: ConsoleRequest, eventId: string): Promise<Content> => {
  const { api } = request
  const endpoints = await api<ListOf<WebhookEndpointWire>>('GET', `/webhooks?limit=${maxEndpoints}`)
  if (!endpoints.ok) return errorNotice(endpoints.fault)
  const found = await Promise.all(
    endpoints.value.data.map(async ({ id, url }) => {
      const list = await api<ListOf<WebhookDeliveryWire>>('GET', `/webhooks/${id}/deliveries?event_id=${eventId}`)
      return list.ok ? list.value.data.map(one => ({ ...one, url })) : []
    }),
  )
  return html`${found
    .flat()
    .map(
      one =>
        html`<p>To <a href="/console/webhooks/${one.endpoint_id}">${one.url}</a>:</p>${table(
          `Delivery to ${one.url}`,
          deliveryColumns,
          [deliveryRow(request, one)],
          '',
        )}`,
    )}${found.flat().length === 0 ? html`<p class="empty">No endpoint received this event. Check the event types of your endpoints.</p>` : null}`
}

const event = async (request: ConsoleRequest) => {
  const { api, ids } = request
  const found = await api<EventWire>('GET', `/events/${ids[0]}`)
  return {
    title: 'Event',
    status: found.ok ? 200 : found.status,
    body: html`<p class="trail"><a href="/console/events">Events</a></p><h1>Event</h1>
${
  found.ok
    ? html`${facts(
        ['ID', html`<code>${found.value.id}</code>`],
        ['Type', html`<code>${found.value.type}</code>`],
        ['Time', instant(found.value.time_created)],
        ['Object', objectOf(found.value)],
      )}
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>${await deliveriesOf(request, found.value.id)}</section>
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
