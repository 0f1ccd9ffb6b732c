import { apiVersionDates, apiVersions } from '../../contract/api-version.ts'
import { type WebhookDeliveryWire, webhookDeliveryList, webhookTest } from '../../contract/events/webhook-delivery.ts'
import {
  type WebhookEndpointWire,
  webhookDelete,
  webhookRetrieve,
  webhookSecretRotate,
  webhookUpdate,
} from '../../contract/events/webhook-endpoint.ts'
import { webhookResendCreate } from '../../contract/events/webhook-resend.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ApiResult, Fault, ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { confirmationFault, confirmPage } from '../kit/confirm.ts'
import type { TableView } from '../kit/data-table.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field, instant, listParameters, pageLinks, showResult } from '../page-parts.ts'
import { deliveryTable, failureNotice } from './webhook-deliveries.ts'

const disabledReasons: Readonly<Record<string, string>> = {
  CALLER: 'by a user',
  GONE: 'after status 410',
  FAILING: 'after 5 days of failed deliveries',
}

const statusWord = ({ status, failing_since: since }: WebhookEndpointWire): 'disabled' | 'enabled' | 'failing' =>
  status === 'DISABLED' ? 'disabled' : since === null ? 'enabled' : 'failing'

const reasonOf = ({ status, disabled_reason: reason }: WebhookEndpointWire): string =>
  status === 'DISABLED' ? (disabledReasons[reason ?? ''] ?? '') : ''

/** Return the status of an endpoint as text. */
export const statusText = (endpoint: WebhookEndpointWire): string =>
  `${statusWord(endpoint)} ${reasonOf(endpoint)}`.trim()

const statusTones = { disabled: 'bad', enabled: 'good', failing: 'warn' } as const

/** Show the status of an endpoint as text and colour. */
export const endpointStatus = (endpoint: WebhookEndpointWire): Html => {
  const word = statusWord(endpoint)
  return html`<span class="tag ${statusTones[word]}">${word}</span> ${reasonOf(endpoint)}`
}

/** Read event types, separated by commas or spaces. */
export const readEventTypes = (text: string): readonly string[] => text.split(/[\s,]+/).filter(type => type !== '')

export const eventTypesHint = '* for all events, customer.* for a group. Separate types with commas.'

export const secretNotice = (secret: string, addition = ''): Html =>
  html`<div class="notice good" role="status">
<p>Signing secret created. Copy it now. You cannot view it again. ${addition}</p>
<p><code class="secret">${secret}</code></p></div>`

/** API versions of the events of an endpoint, with the words of the API. */
export const versionOptions = apiVersions.map(one => [one, `${apiVersionDates[one]} (${one})`] as const)

/** API version of an endpoint with its word. */
export const versionText = ({ api_version: date }: WebhookEndpointWire): string =>
  versionOptions.find(([, text]) => text.startsWith(date))?.[1] ?? date

const endpointOf = ({ ids }: Pick<ConsoleRequest, 'ids'>) => ({ id: ids[0] })

const actionButton = ({ csrf }: ConsoleRequest, path: string, name: string): Html =>
  form(csrf, path, html`<button class="quiet" type="submit">${name}</button>`, 'inline')

const actionButtons = (request: ConsoleRequest, { id, status }: WebhookEndpointWire): Html => {
  const at = `/console/webhooks/${id}`
  const isEnabled = status === 'ENABLED'
  const statusButton = isEnabled
    ? actionButton(request, `${at}/disable`, 'Disable')
    : actionButton(request, `${at}/enable`, 'Enable')
  return html`<div class="actions">${
    isEnabled && mayDo(request, webhookTest) ? actionButton(request, `${at}/test`, 'Send test event') : null
  }
${mayDo(request, webhookSecretRotate) ? actionButton(request, `${at}/rotate`, 'Rotate secret') : null}
${mayDo(request, webhookUpdate) ? statusButton : null}
${mayDo(request, webhookDelete) ? html`<a class="button danger" href="${at}/delete">Delete</a>` : null}</div>`
}

const editForm = (
  csrf: string,
  endpoint: WebhookEndpointWire,
  fault: Fault | null,
  postedForm: URLSearchParams,
): Html => {
  const value = (name: string, stored: string): string => (fault === null ? stored : (postedForm.get(name) ?? stored))
  return form(
    csrf,
    `/console/webhooks/${endpoint.id}`,
    html`${fault !== null && fault.field === null ? errorNotice(fault) : null}
${field('url', 'Endpoint URL', { value: value('url', endpoint.url), type: 'url', required: true, fault })}
${field('event_types', 'Event types', {
  value: value('event_types', endpoint.event_types.join(', ')),
  hint: eventTypesHint,
  fault,
})}
${field('description', 'Description', { value: value('description', endpoint.description ?? ''), fault })}
<button type="submit">Save changes</button>`,
  )
}

const resendForm = (csrf: string, { id }: WebhookEndpointWire): Html =>
  form(
    csrf,
    `/console/webhooks/${id}/resend`,
    html`${field('start_time', 'Start (UTC)', { type: 'datetime-local', required: true })}
${field('end_time', 'End (UTC)', { type: 'datetime-local', required: true })}
${choice('include_delivered', 'Events', resendOptions, 'false')}
<button type="submit">Resend</button>`,
    'filter',
  )

const resendOptions = [
  ['false', 'Undelivered only'],
  ['true', 'All'],
] as const

const statusOptions = [
  ['', 'All'],
  ['PENDING', 'Pending or failing'],
  ['DELIVERED', 'Delivered'],
  ['FAILED', 'Failed'],
] as const

const deliveriesSection = (
  request: ConsoleRequest,
  endpoint: WebhookEndpointWire,
  list: ApiResult<ListOf<WebhookDeliveryWire>>,
  table: TableView | null,
): Html => {
  const path = `/console/webhooks/${endpoint.id}`
  return html`<form class="filter" method="get" action="${path}">
${choice('status', 'Status', statusOptions, request.query.get('status') ?? '')}
<button class="quiet" type="submit">Filter</button></form>
${showResult(list, found => html`${table?.markup}${pageLinks(path, request.query, ['status', 'sort-deliveries'], found)}`)}`
}

const changeSections = (request: ConsoleRequest, endpoint: WebhookEndpointWire, fault: Fault | null): Content => [
  mayDo(request, webhookResendCreate)
    ? html`<section aria-labelledby="range"><h2 id="range">Resend events</h2>
${resendForm(request.csrf, endpoint)}</section>`
    : null,
  mayDo(request, webhookUpdate)
    ? html`<section aria-labelledby="edit"><h2 id="edit">Edit endpoint</h2>
${editForm(request.csrf, endpoint, fault, request.form)}</section>`
    : null,
]

type ViewOptions = { readonly notice?: Content; readonly fault?: Fault | null; readonly status?: number }

const endpointView = async (
  request: ConsoleRequest,
  { notice = null, fault = null, status = 200 }: ViewOptions = {},
): Promise<PageView> => {
  const [found, deliveries] = await Promise.all([
    request.call(webhookRetrieve, endpointOf(request)),
    request.call(webhookDeliveryList, { ...endpointOf(request), ...listParameters(request.query, ['status']) }),
  ])
  if (!found.ok)
    return { title: 'Webhook', status: found.status, body: html`<h1>Webhook</h1>${errorNotice(found.fault)}` }
  const endpoint = found.value
  const { id, url, failing_since: since, time_created: created } = endpoint
  const failure = since === null || !deliveries.ok ? null : await failureNotice(request, deliveries.value.data)
  // The page also answers actions, whose paths its links must not have.
  const page = { ...request, path: `/console/webhooks/${id}` }
  const table = deliveries.ok ? deliveryTable(page, 'deliveries', 'Deliveries', deliveries.value) : null
  return {
    title: url,
    tables: table === null ? [] : [table],
    status: fault === null ? status : 400,
    body: html`<h1 class="address">${url}</h1>${notice}${failure}
${facts(
  ['ID', html`<code>${id}</code>`],
  ['Status', endpointStatus(endpoint)],
  ['Failing since', since === null ? '–' : instant(since)],
  ['API version', versionText(endpoint)],
  ['Created', instant(created)],
)}
${actionButtons(request, endpoint)}
<section aria-labelledby="deliveries-title"><h2 id="deliveries-title">Deliveries</h2>
${deliveriesSection(request, endpoint, deliveries, table)}</section>
${changeSections(request, endpoint, fault)}`,
  }
}

const failedView = (
  request: ConsoleRequest,
  { status, fault }: Extract<ApiResult<unknown>, { ok: false }>,
): Promise<PageView> => endpointView(request, { notice: errorNotice(fault), status })

const redirectDone = ({ ids }: ConsoleRequest, action: string): PageResult => ({
  to: `/console/webhooks/${ids[0]}?done=${action}`,
})

/** Run an action and redirect to the endpoint, which shows the result; or show the error. */
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
  const saved = await request.call(webhookUpdate, endpointOf(request), body)
  return saved.ok ? redirectDone(request, 'changed') : endpointView(request, { fault: saved.fault })
}

/** Rotate the secret and show it in the response. The console does not store it. */
const rotateSecret = async (request: ConsoleRequest): Promise<PageResult> => {
  const created = await request.call(webhookSecretRotate, endpointOf(request))
  return created.ok
    ? endpointView(request, {
        notice: secretNotice(created.value.secret, 'The old secret remains valid for 24 hours.'),
      })
    : failedView(request, created)
}

/** Ask for the host of the endpoint before its deletion. */
const confirmDeletion = async (request: ConsoleRequest): Promise<PageResult> => {
  if (!mayDo(request, webhookDelete)) return endpointView(request)
  const found = await request.call(webhookRetrieve, endpointOf(request))
  if (!found.ok) return endpointView(request)
  const { host } = new URL(found.value.url)
  const path = `/console/webhooks/${request.ids[0]}`
  const isSent = request.form.has('confirm')
  const fault = isSent ? confirmationFault(request, host) : null
  if (isSent && fault === null) {
    const removed = await request.call(webhookDelete, endpointOf(request))
    return removed.ok ? { to: '/console/webhooks?done=removed' } : failedView(request, removed)
  }
  return confirmPage(request, {
    title: 'Delete endpoint',
    effects: html`<p>The service sends no more events to ${found.value.url}. Pending deliveries are dropped. A deleted endpoint
cannot be restored.</p>`,
    action: `${path}/delete`,
    button: 'Delete endpoint',
    back: path,
    typed: host,
    fault,
  })
}

const setStatus = (status: WebhookEndpointWire['status']) =>
  actionRoute(request => request.call(webhookUpdate, endpointOf(request), { status }), status.toLowerCase())

const resendRange = (request: ConsoleRequest): Promise<ApiResult<unknown>> => {
  const utc = (name: string): string => `${request.form.get(name) ?? ''}:00Z`.replace(/(:\d\d:\d\d):00Z$/, '$1Z')
  const body = {
    start_time: utc('start_time'),
    end_time: utc('end_time'),
    include_delivered: request.form.get('include_delivered') === 'true',
  }
  return request.call(webhookResendCreate, endpointOf(request), body)
}

export const endpointRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks/:endpoint', request => endpointView(request)),
  postRoute('/console/webhooks/:endpoint', updateEndpoint),
  postRoute('/console/webhooks/:endpoint/rotate', rotateSecret),
  postRoute(
    '/console/webhooks/:endpoint/test',
    actionRoute(request => request.call(webhookTest, endpointOf(request)), 'tested'),
  ),
  postRoute('/console/webhooks/:endpoint/enable', setStatus('ENABLED')),
  postRoute('/console/webhooks/:endpoint/disable', setStatus('DISABLED')),
  postRoute('/console/webhooks/:endpoint/resend', actionRoute(resendRange, 'range')),
  getRoute('/console/webhooks/:endpoint/delete', confirmDeletion),
  postRoute('/console/webhooks/:endpoint/delete', confirmDeletion),
]
