import { type Content, type Html, html } from '../ui-kit/html.ts'
import type { ApiResult, Fault, ListOf } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, type PageResult, postRoute } from './console-request.ts'
import { form, type PageView } from './page-frame.ts'
import { choice, errorNotice, facts, field, instant, listQuery, pageLinks, showResult, table } from './page-parts.ts'
import { type Delivery, deliveryColumns, deliveryRow, failureNotice } from './webhook-deliveries.ts'
import {
  doneNotice,
  type Endpoint,
  endpointStatus,
  eventTypesHint,
  readEventTypes,
  secretNotice,
} from './webhook-parts.ts'

const apiPath = ({ ids }: Pick<ConsoleRequest, 'ids'>): string => `/webhooks/${ids[0]}`

const actionButton = ({ csrf }: ConsoleRequest, path: string, name: string, kind = 'quiet'): Html =>
  form(csrf, path, html`<button class="${kind}" type="submit">${name}</button>`, 'inline')

const actionButtons = (request: ConsoleRequest, { id, status }: Endpoint): Html => {
  const at = `/console/webhooks/${id}`
  const isEnabled = status === 'ENABLED'
  return html`<div class="actions">${isEnabled ? actionButton(request, `${at}/test`, 'Send a test event') : null}${actionButton(request, `${at}/rotate`, 'Rotate the secret')}${actionButton(request, isEnabled ? `${at}/disable` : `${at}/enable`, isEnabled ? 'Disable' : 'Enable')}${actionButton(request, `${at}/delete`, 'Delete', 'danger')}</div>`
}

const editForm = (csrf: string, endpoint: Endpoint, fault: Fault | null, postedForm: URLSearchParams): Html => {
  const value = (name: string, stored: string): string => (fault === null ? stored : (postedForm.get(name) ?? stored))
  return form(
    csrf,
    `/console/webhooks/${endpoint.id}`,
    html`${fault !== null && fault.field === null ? errorNotice(fault) : null}
${field('url', 'Address', { value: value('url', endpoint.url), type: 'url', required: true, fault })}
${field('event_types', 'Event types', { value: value('event_types', endpoint.event_types.join(', ')), hint: eventTypesHint, fault })}
${field('description', 'Description', { value: value('description', endpoint.description ?? ''), fault })}
<button type="submit">Save</button>`,
  )
}

const resendForm = (csrf: string, { id }: Endpoint): Html =>
  form(
    csrf,
    `/console/webhooks/${id}/resend`,
    html`${field('start_time', 'From (UTC)', { type: 'datetime-local', required: true })}${field('end_time', 'Until (UTC)', { type: 'datetime-local', required: true })}${choice(
      'include_delivered',
      'Which',
      [
        ['false', 'What has not arrived'],
        ['true', 'All'],
      ],
      'false',
    )}<button type="submit">Send again</button>`,
    'filter',
  )

const statusOptions = [
  ['', 'all'],
  ['PENDING', 'waiting or failing'],
  ['DELIVERED', 'delivered'],
  ['FAILED', 'given up'],
] as const

const deliveriesSection = (request: ConsoleRequest, endpoint: Endpoint, list: ApiResult<ListOf<Delivery>>): Html => {
  const path = `/console/webhooks/${endpoint.id}`
  return html`<form class="filter" method="get" action="${path}">${choice('status', 'State', statusOptions, request.query.get('status') ?? '')}<button type="submit">Show</button></form>
${showResult(list, ({ data }) =>
  table(
    'Deliveries',
    deliveryColumns,
    data.map(one => deliveryRow(request.csrf, one)),
    'Nothing was sent yet.',
  ),
)}
${list.ok ? pageLinks(path, request.query, ['status'], list.value) : null}`
}

type ViewOptions = { readonly notice?: Content; readonly fault?: Fault | null; readonly status?: number }

const endpointView = async (
  request: ConsoleRequest,
  { notice = null, fault = null, status = 200 }: ViewOptions = {},
): Promise<PageView> => {
  const [found, deliveries] = await Promise.all([
    request.api<Endpoint>('GET', apiPath(request)),
    request.api<ListOf<Delivery>>('GET', `${apiPath(request)}/deliveries${listQuery(request.query, ['status'])}`),
  ])
  if (!found.ok)
    return { title: 'Webhook', status: found.status, body: html`<h1>Webhook</h1>${errorNotice(found.fault)}` }
  const endpoint = found.value
  const { id, url, api_version: version, failing_since: since, time_created: created } = endpoint
  const failure = since === null || !deliveries.ok ? null : await failureNotice(request, deliveries.value.data)
  return {
    title: url,
    status: fault === null ? status : 400,
    body: html`<h1 class="address">${url}</h1>${notice ?? doneNotice(request.query)}${failure}
${facts(['Id', html`<code>${id}</code>`], ['State', endpointStatus(endpoint)], ['Failing since', since === null ? 'no' : instant(since)], ['Events in version', version], ['Made', instant(created)])}
${actionButtons(request, endpoint)}
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>${deliveriesSection(request, endpoint, deliveries)}</section>
<section aria-labelledby="range"><h2 id="range">Send a range again</h2>${resendForm(request.csrf, endpoint)}</section>
<section aria-labelledby="edit"><h2 id="edit">Change</h2>${editForm(request.csrf, endpoint, fault, request.form)}</section>`,
  }
}

const failedView = (
  request: ConsoleRequest,
  { status, fault }: Extract<ApiResult<unknown>, { ok: false }>,
): Promise<PageView> => endpointView(request, { notice: errorNotice(fault), status })

const redirectDone = ({ ids }: ConsoleRequest, action: string): PageResult => ({
  to: `/console/webhooks/${ids[0]}?done=${action}`,
})

/** Do something with an endpoint, and lead to its page, which says so; or show there why it was not done. */
const actionRoute =
  (call: (request: ConsoleRequest) => Promise<ApiResult<unknown>>, action: string) =>
  async (request: ConsoleRequest): Promise<PageResult> => {
    const outcome = await call(request)
    return outcome.ok ? redirectDone(request, action) : failedView(request, outcome)
  }

const updateEndpoint = async (request: ConsoleRequest): Promise<PageResult> => {
  const text = (name: string): string => request.form.get(name)?.trim() ?? ''
  const description = text('description') === '' ? null : text('description')
  const body = { url: text('url'), event_types: readEventTypes(text('event_types')), description }
  const saved = await request.api<Endpoint>('PATCH', apiPath(request), body)
  return saved.ok ? redirectDone(request, 'changed') : endpointView(request, { fault: saved.fault })
}

/** The secret is shown with the answer itself, for it is kept nowhere. */
const rotateSecret = async (request: ConsoleRequest): Promise<PageResult> => {
  const created = await request.api<{ readonly secret: string }>('POST', `${apiPath(request)}/secret`, {})
  return created.ok
    ? endpointView(request, {
        notice: secretNotice(created.value.secret, 'The secret before it signs beside it for 24 hours.'),
      })
    : failedView(request, created)
}

const deleteEndpoint = async (request: ConsoleRequest): Promise<PageResult> => {
  const removed = await request.api('DELETE', apiPath(request))
  return removed.ok ? { to: '/console/webhooks' } : failedView(request, removed)
}

const setStatus = (status: Endpoint['status']) =>
  actionRoute(request => request.api<Endpoint>('PATCH', apiPath(request), { status }), status.toLowerCase())

const resendRange = (request: ConsoleRequest): Promise<ApiResult<unknown>> => {
  const utc = (name: string): string => `${request.form.get(name) ?? ''}:00Z`.replace(/(:\d\d:\d\d):00Z$/, '$1Z')
  const body = {
    start_time: utc('start_time'),
    end_time: utc('end_time'),
    include_delivered: request.form.get('include_delivered') === 'true',
  }
  return request.api('POST', `${apiPath(request)}/resends`, body)
}

export const endpointRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks/{}', request => endpointView(request)),
  postRoute('/console/webhooks/{}', updateEndpoint),
  postRoute('/console/webhooks/{}/rotate', rotateSecret),
  postRoute(
    '/console/webhooks/{}/test',
    actionRoute(request => request.api('POST', `${apiPath(request)}/test`, {}), 'tested'),
  ),
  postRoute('/console/webhooks/{}/enable', setStatus('ENABLED')),
  postRoute('/console/webhooks/{}/disable', setStatus('DISABLED')),
  postRoute('/console/webhooks/{}/resend', actionRoute(resendRange, 'range')),
  postRoute('/console/webhooks/{}/delete', deleteEndpoint),
]
