import {
  type WebhookAttemptWire,
  type WebhookDeliveryWire,
  webhookAttemptList,
  webhookDeliveryResend,
  webhookDeliveryRetrieve,
} from '../../contract/events/webhook-delivery.ts'
import { numberText } from '../../contract/json/exact-number.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, facts, hasOlderRows, instant, listParameters, pageLinks, showResult } from '../page-parts.ts'

const statusTags = {
  PENDING: ['warn', 'pending'],
  DELIVERED: ['good', 'delivered'],
  FAILED: ['bad', 'failed'],
} as const

/** Show the status of a delivery. A pending delivery with attempts is shown as failing. */
const statusTag = ({ status, attempts }: WebhookDeliveryWire): Html => {
  const [kind, word] = status === 'PENDING' && numberText(attempts) !== '0' ? ['bad', 'failing'] : statusTags[status]
  return html`<span class="tag ${kind}">${word}</span>`
}

const pathOf = (endpointId: string, deliveryId: string): string =>
  `/console/webhooks/${endpointId}/deliveries/${deliveryId}`

const resendButton = (request: ConsoleRequest, path: string): Html | null =>
  mayDo(request, webhookDeliveryResend) ? resendForm(request, path) : null

const resendForm = ({ csrf }: ConsoleRequest, path: string): Html =>
  form(csrf, `${path}/resend`, html`<button class="quiet" type="submit">Resend</button>`, 'inline')

/** Create a table of deliveries to an endpoint. */
export const deliveryTable = (
  request: ConsoleRequest,
  id: string,
  label: string,
  list: ListOf<WebhookDeliveryWire>,
): TableView => {
  const columns: readonly Column<WebhookDeliveryWire>[] = [
    {
      key: 'time_created',
      name: 'Created',
      text: one => one.time_created,
      show: one => html`<a href="${pathOf(one.endpoint_id, one.id)}">${instant(one.time_created)}</a>`,
    },
    {
      key: 'event_type',
      name: 'Event',
      text: one => one.event_type,
      show: one => html`<code>${one.event_type}</code>`,
    },
    { key: 'status', name: 'Status', text: one => one.status, show: statusTag },
    { key: 'attempts', name: 'Attempts', isNumber: true, text: one => numberText(one.attempts) },
    {
      key: 'next_attempt',
      name: 'Next attempt',
      isNamed: true,
      text: one => one.next_attempt ?? '',
      show: one => (one.next_attempt === null ? '' : instant(one.next_attempt)),
    },
  ]
  const resend: Column<WebhookDeliveryWire> = {
    key: 'id',
    name: 'Action',
    text: one => one.id,
    show: one => resendForm(request, pathOf(one.endpoint_id, one.id)),
  }
  return dataTable(request, {
    id,
    label,
    items: list.data,
    isCompact: true,
    empty: 'No deliveries yet. Send a test event.',
    hasMore: hasOlderRows(request.query, list),
    columns: mayDo(request, webhookDeliveryResend) ? [...columns, resend] : columns,
  })
}

const responseBody = ({ response_body: body }: WebhookAttemptWire): Content =>
  body === ''
    ? html`<span class="none">empty</span>`
    : html`<details><summary>Show</summary><pre class="block" tabindex="0">${body}</pre></details>`

/** Return the status code or the error of an attempt. */
const attemptOutcome = ({ status_code: status, error }: WebhookAttemptWire): string =>
  status === null ? (error ?? '').replaceAll('_', ' ') : numberText(status)

const attemptColumns: readonly Column<WebhookAttemptWire>[] = [
  {
    key: 'time_created',
    name: 'Time',
    text: one => one.time_created,
    show: one => instant(one.time_created),
  },
  {
    key: 'result',
    name: 'Result',
    text: one => (one.succeeded ? 'delivered' : 'failed'),
    show: one =>
      one.succeeded ? html`<span class="tag good">delivered</span>` : html`<span class="tag bad">failed</span>`,
  },
  { key: 'status_code', name: 'Status code', text: attemptOutcome },
  {
    key: 'duration_ms',
    name: 'Duration',
    text: one => numberText(one.duration_ms),
    show: one => `${numberText(one.duration_ms)}\u00a0ms`,
  },
  { key: 'response_body', name: 'Response', text: one => one.response_body, show: responseBody },
]

const attemptTable = (request: Pick<ConsoleRequest, 'path' | 'query'>, list: ListOf<WebhookAttemptWire>): TableView =>
  dataTable(request, {
    id: 'attempts',
    label: 'Attempts',
    columns: attemptColumns,
    items: list.data,
    empty: 'No attempts yet. Refresh this page in a moment.',
    hasMore: hasOlderRows(request.query, list),
  })

/** Show the error of the last attempt of the newest delivery that failed; null if there is none. */
export const failureNotice = async (
  { call }: Pick<ConsoleRequest, 'call'>,
  deliveries: readonly WebhookDeliveryWire[],
): Promise<Html | null> => {
  const failing = deliveries.find(({ status, attempts }) => status !== 'DELIVERED' && numberText(attempts) !== '0')
  if (failing === undefined) return null
  const list = await call(webhookAttemptList, { id: failing.endpoint_id, delivery_id: failing.id, limit: 1 })
  const lastAttempt = list.ok ? list.value.data[0] : undefined
  if (lastAttempt === undefined || lastAttempt.succeeded) return null
  const outcomeText =
    lastAttempt.status_code === null
      ? html`failed: ${attemptOutcome(lastAttempt)}`
      : html`returned status ${attemptOutcome(lastAttempt)}`
  return html`<p class="notice bad">The attempt at ${instant(lastAttempt.time_created)} ${outcomeText}.
<a href="${pathOf(failing.endpoint_id, failing.id)}">View response</a></p>`
}

const deliveryFacts = (one: WebhookDeliveryWire): Html =>
  facts(
    ['Status', statusTag(one)],
    ['Event', html`<a href="/console/events/${one.event_id}">${one.event_id}</a> <code>${one.event_type}</code>`],
    ['Attempts', numberText(one.attempts)],
    ['Next attempt', one.next_attempt === null ? '–' : instant(one.next_attempt)],
  )

const showDelivery = async (request: ConsoleRequest, fault: Content = null): Promise<PageView> => {
  const { call, ids, query } = request
  const [endpointId = '', id = ''] = ids
  const path = pathOf(endpointId, id)
  const delivery = { id: endpointId, delivery_id: id }
  const [deliveryResult, attempts] = await Promise.all([
    call(webhookDeliveryRetrieve, delivery),
    call(webhookAttemptList, { ...delivery, ...listParameters(query) }),
  ])
  if (!deliveryResult.ok)
    return {
      title: 'Delivery',
      status: deliveryResult.status,
      body: html`<h1>Delivery</h1>${errorNotice(deliveryResult.fault)}`,
    }
  const table = attempts.ok ? attemptTable({ path, query }, attempts.value) : null
  return {
    title: 'Delivery',
    tables: table === null ? [] : [table],
    status: fault === null ? 200 : 400,
    body: html`<h1>Delivery</h1>${fault}
<p class="lead"><code>${id}</code> to <a href="/console/webhooks/${endpointId}">this endpoint</a>.
Attempts are retained for 30 days.</p>
${deliveryFacts(deliveryResult.value)}
<div class="actions">${resendButton(request, path)}<a href="${path}">Refresh</a></div>
${showResult(attempts, () => table?.markup)}
${attempts.ok ? pageLinks(path, query, [], attempts.value) : null}`,
  }
}

const resendDelivery = async (request: ConsoleRequest): Promise<PageResult> => {
  const [endpointId = '', id = ''] = request.ids
  const sent = await request.call(webhookDeliveryResend, { id: endpointId, delivery_id: id })
  return sent.ok ? { to: `${pathOf(endpointId, id)}?done=resent` } : showDelivery(request, errorNotice(sent.fault))
}

export const deliveryRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks/:endpoint/deliveries/:delivery', request => showDelivery(request)),
  postRoute('/console/webhooks/:endpoint/deliveries/:delivery/resend', resendDelivery),
]
