import { type Content, type Html, html } from '../reference/html.ts'
import type { Fault, ListOf } from './api.ts'
import { form, type View } from './frame.ts'
import { faultNotice, field, instant, listQuery, pager, type Row, row, shown, table } from './parts.ts'
import { get, post, type Route, type Visit } from './visit.ts'
import { deliveryRoutes } from './webhook-deliveries.ts'
import { endpointRoutes } from './webhook-endpoint.ts'
import { type Endpoint, secretNotice, stateOf, typesHint, typesOf } from './webhook-parts.ts'

type Draft = { readonly url: string; readonly types: string; readonly description: string; readonly fault: Fault | null }

const emptyDraft: Draft = { url: '', types: '*', description: '', fault: null }

const rowOf = (endpoint: Endpoint): Row =>
  row(
    html`<a href="/console/webhooks/${endpoint.id}">${endpoint.url}</a>`,
    html`<code>${endpoint.event_types.join(', ')}</code>`,
    stateOf(endpoint),
    endpoint.description ?? '',
    instant(endpoint.time_created),
  )

const creation = ({ csrf, signedIn }: Visit, { url, types, description, fault }: Draft): Html =>
  form(
    csrf,
    '/console/webhooks',
    html`${fault !== null && fault.field === null ? faultNotice(fault) : null}
${field('url', 'Address', { value: url, type: 'url', required: true, hint: signedIn.liveMode ? 'https; a public host' : 'https or http; a public host', fault })}
${field('event_types', 'Event types', { value: types, hint: typesHint, fault })}
${field('description', 'Description', { value: description, fault })}
<button type="submit">Add the endpoint</button>`,
  )

const list = async (visit: Visit, above: Content = null, draft: Draft = emptyDraft): Promise<View> => {
  const { api, query } = visit
  const endpoints = await api<ListOf<Endpoint>>('GET', `/webhooks${listQuery(query, [])}`)
  return {
    title: 'Webhooks',
    status: draft.fault !== null ? 400 : endpoints.ok ? 200 : endpoints.status,
    body: html`<h1>Webhooks</h1>${above}
<p class="lead">Where events of this mode are sent, signed, and tried again until they arrive.</p>
${shown(endpoints, ({ data }) =>
  table('Webhook endpoints', ['Address', 'Events', 'State', 'Description', 'Made'], data.map(rowOf), 'Nobody is told of events yet.'),
)}
${endpoints.ok ? pager('/console/webhooks', query, [], endpoints.value) : null}
<section aria-labelledby="new"><h2 id="new">New endpoint</h2>${creation(visit, draft)}</section>`,
  }
}

const create = async (visit: Visit): Promise<View> => {
  const [url, types, description] = ['url', 'event_types', 'description'].map(name => visit.form.get(name)?.trim() ?? '')
  const body = { url, event_types: typesOf(types ?? ''), ...(description === '' ? {} : { description }) }
  const made = await visit.api<Endpoint & { readonly secret: string }>('POST', '/webhooks', body)
  return made.ok
    ? list(visit, secretNotice(made.value.secret))
    : list(visit, null, { url: url ?? '', types: types ?? '', description: description ?? '', fault: made.fault })
}

/**
 * The pages of webhook endpoints, of their deliveries and of each attempt.
 * Source: docs/rules/events-and-webhooks.md #webhook-endpoints.
 */
export const webhookRoutes: readonly Route[] = [
  get('/console/webhooks', visit => list(visit)),
  post('/console/webhooks', create),
  ...endpointRoutes,
  ...deliveryRoutes,
]
