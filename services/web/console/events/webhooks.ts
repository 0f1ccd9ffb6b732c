import { type WebhookEndpointWire, webhookCreate } from '../../../contract/events/webhook-endpoint.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { Fault, ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { form, type PageView } from '../page-frame.ts'
import { errorNotice, field, instant, listQuery, pageLinks, type Row, row, showResult, table } from '../page-parts.ts'
import { deliveryRoutes } from './webhook-deliveries.ts'
import { endpointRoutes, endpointStatus, eventTypesHint, readEventTypes, secretNotice } from './webhook-endpoint.ts'

type Draft = {
  readonly url: string
  readonly types: string
  readonly description: string
  readonly fault: Fault | null
}

const emptyDraft: Draft = { url: '', types: '*', description: '', fault: null }

const endpointRow = (endpoint: WebhookEndpointWire): Row =>
  row(
    html`<a href="/console/webhooks/${endpoint.id}">${endpoint.url}</a>`,
    html`<code>${endpoint.event_types.join(', ')}</code>`,
    endpointStatus(endpoint),
    endpoint.description ?? '',
    instant(endpoint.time_created),
  )

const createForm = ({ csrf, session }: ConsoleRequest, { url, types, description, fault }: Draft): Html =>
  form(
    csrf,
    '/console/webhooks',
    html`${fault !== null && fault.field === null ? errorNotice(fault) : null}
${field('url', 'Endpoint URL', {
  value: url,
  type: 'url',
  required: true,
  hint: `${session.liveMode ? 'https' : 'https or http'}, with a public host`,
  fault,
})}
${field('event_types', 'Event types', { value: types, hint: eventTypesHint, fault })}
${field('description', 'Description', { value: description, fault })}
<button type="submit">Add endpoint</button>`,
  )

const showEndpoints = async (
  request: ConsoleRequest,
  notice: Content = null,
  draft: Draft = emptyDraft,
): Promise<PageView> => {
  const { api, query } = request
  const endpoints = await api<ListOf<WebhookEndpointWire>>('GET', `/webhooks${listQuery(query, [])}`)
  return {
    title: 'Webhooks',
    status: draft.fault !== null ? 400 : endpoints.ok ? 200 : endpoints.status,
    body: html`<h1>Webhooks</h1>${notice}
<p class="lead">The service sends signed events of this mode to these endpoints and retries failed deliveries.</p>
${showResult(endpoints, ({ data }) =>
  table(
    'Webhook endpoints',
    ['URL', 'Event types', 'Status', 'Description', 'Created'],
    data.map(endpointRow),
    'No webhook endpoints yet. Add one below.',
  ),
)}
${endpoints.ok ? pageLinks('/console/webhooks', query, [], endpoints.value) : null}
${
  mayDo(request, webhookCreate)
    ? html`<section aria-labelledby="new"><h2 id="new">Add endpoint</h2>${createForm(request, draft)}</section>`
    : null
}`,
  }
}

const createEndpoint = async (request: ConsoleRequest): Promise<PageView> => {
  const [url, types, description] = ['url', 'event_types', 'description'].map(
    name => request.form.get(name)?.trim() ?? '',
  )
  const body = { url, event_types: readEventTypes(types ?? ''), ...(description === '' ? {} : { description }) }
  const created = await request.api<WebhookEndpointWire & { readonly secret: string }>('POST', '/webhooks', body)
  return created.ok
    ? showEndpoints(request, secretNotice(created.value.secret))
    : showEndpoints(request, null, {
        url: url ?? '',
        types: types ?? '',
        description: description ?? '',
        fault: created.fault,
      })
}

/**
 * Pages of webhook endpoints, deliveries and attempts.
 * Source: docs/rules/events-and-webhooks.md #webhook-endpoints.
 */
export const webhookRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks', request => showEndpoints(request)),
  postRoute('/console/webhooks', createEndpoint),
  ...endpointRoutes,
  ...deliveryRoutes,
]
