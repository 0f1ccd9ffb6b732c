import { type ApiVersion, apiVersions } from '../../contract/api-version.ts'
import { type WebhookEndpointWire, webhookCreate, webhookList } from '../../contract/events/webhook-endpoint.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import { firstEndpoint } from '../kit/first-requests.ts'
import { form, type PageView } from '../page-frame.ts'
import {
  choice,
  errorNotice,
  field,
  hasOlderRows,
  instant,
  listParameters,
  pageLinks,
  showResult,
} from '../page-parts.ts'
import { deliveryRoutes } from './webhook-deliveries.ts'
import {
  endpointRoutes,
  endpointStatus,
  eventTypesHint,
  readEventTypes,
  secretNotice,
  statusText,
  versionOptions,
  versionText,
} from './webhook-endpoint.ts'

type Draft = {
  readonly url: string
  readonly types: string
  readonly description: string
  readonly version: ApiVersion
  readonly fault: Fault | null
}

const emptyDraft = ({ session }: ConsoleRequest): Draft => ({
  url: '',
  types: '*',
  description: '',
  version: session.defaultApiVersion,
  fault: null,
})

const endpointColumns: readonly Column<WebhookEndpointWire>[] = [
  {
    key: 'url',
    name: 'URL',
    text: one => one.url,
    show: one => html`<a href="/console/webhooks/${one.id}">${one.url}</a>`,
  },
  {
    key: 'event_types',
    name: 'Event types',
    text: one => one.event_types.join(', '),
    show: one => html`<code>${one.event_types.join(', ')}</code>`,
  },
  { key: 'api_version', name: 'API version', text: versionText },
  { key: 'status', name: 'Status', text: statusText, show: endpointStatus },
  { key: 'description', name: 'Description', text: one => one.description ?? '' },
  {
    key: 'time_created',
    name: 'Created',
    text: one => one.time_created,
    show: one => instant(one.time_created),
  },
  { key: 'id', name: 'ID', text: one => one.id, isInFileOnly: true },
]

const createForm = ({ csrf, session }: ConsoleRequest, { url, types, description, version, fault }: Draft): Html =>
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
${choice('api_version', 'API version of the events', versionOptions, version)}
${field('description', 'Description', { value: description, fault })}
<button type="submit">Add endpoint</button>`,
  )

const showEndpoints = async (
  request: ConsoleRequest,
  notice: Content = null,
  draft: Draft = emptyDraft(request),
): Promise<PageView> => {
  const { call, query } = request
  const endpoints = await call(webhookList, listParameters(query))
  const table = endpoints.ok
    ? dataTable(request, {
        id: 'webhooks',
        label: 'Webhook endpoints',
        columns: endpointColumns,
        items: endpoints.value.data,
        empty: html`<p>No webhook endpoints yet. This request creates the first one:</p>${curlBlock(firstEndpoint)}`,
        hasMore: hasOlderRows(query, endpoints.value),
      })
    : null
  return {
    title: 'Webhooks',
    tables: table === null ? [] : [table],
    status: draft.fault !== null ? 400 : endpoints.ok ? 200 : endpoints.status,
    body: html`<h1>Webhooks</h1>${notice}
<p class="lead">The service sends signed events of this mode to these endpoints and retries failed deliveries.</p>
${showResult(endpoints, () => table?.markup)}
${endpoints.ok ? pageLinks('/console/webhooks', query, ['sort-webhooks'], endpoints.value) : null}
${
  mayDo(request, webhookCreate)
    ? html`<section aria-labelledby="new"><h2 id="new">Add endpoint</h2>${createForm(request, draft)}</section>`
    : null
}`,
  }
}

const createEndpoint = async (request: ConsoleRequest): Promise<PageView> => {
  const [url = '', types = '', description = ''] = ['url', 'event_types', 'description'].map(
    name => request.form.get(name)?.trim() ?? '',
  )
  const body = { url, event_types: readEventTypes(types), ...(description === '' ? {} : { description }) }
  const version = apiVersions.find(one => one === request.form.get('api_version')) ?? request.session.defaultApiVersion
  const created = await request.call(webhookCreate, {}, body, version)
  return created.ok
    ? showEndpoints(request, secretNotice(created.value.secret))
    : showEndpoints(request, null, {
        url,
        types,
        description,
        version,
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
