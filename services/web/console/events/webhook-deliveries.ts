import {
  type WebhookAttemptWire,
  type WebhookDeliveryWire,
  webhookDeliveryResend,
} from '../../../contract/events/webhook-delivery.ts'
import { numberText } from '../../../contract/json/exact-number.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import {
  type ConsoleRequest,
  type ConsoleRoute,
  getRoute,
  mayDo,
  type PageResult,
  postRoute,
} from '../console-request.ts'
import { form, type PageView } from '../page-frame.ts'
import { errorNotice, facts, instant, listQuery, pageLinks, type Row, row, showResult, table } from '../page-parts.ts'

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

export const deliveryColumns = ['Created', 'Event', 'Status', 'Attempts', 'Next attempt', 'Action']

/** Create the table row of a delivery. */
export const deliveryRow = (request: ConsoleRequest, one: WebhookDeliveryWire): Row => {
  const path = pathOf(one.endpoint_id, one.id)
  return row(
    html`<a href="${path}">${instant(one.time_created)}</a>`,
    html`<code>${one.event_type}</code>`,
    statusTag(one),
    numberText(one.attempts),
    one.next_attempt === null ? '' : instant(one.next_attempt),
    resendButton(request, path),
  )
}

const responseBody = ({ response_body: body }: WebhookAttemptWire): Content =>
  body === ''
    ? html`<span class="none">empty</span>`
    : html`<details><summary>Show</summary><pre class="block" tabindex="0">${body}</pre></details>`

/** Return the status code or the error of an attempt. */
const attemptOutcome = ({ status_code: status, error }: WebhookAttemptWire): string =>
  status === null ? (error ?? '').replaceAll('_', ' ') : numberText(status)

const attemptColumns = ['Time', 'Result', 'Status code', 'Duration', 'Response']
const noAttempts = 'No attempts yet. Refresh this page in a moment.'

const attemptRow = (one: WebhookAttemptWire): Row =>
  row(
    instant(one.time_created),
    one.succeeded ? html`<span class="tag good">delivered</span>` : html`<span class="tag bad">failed</span>`,
    attemptOutcome(one),
    `${numberText(one.duration_ms)}\u00a0ms`,
    responseBody(one),
  )

/** Show the error of the last attempt of the newest delivery that failed; null if there is none. */
export const failureNotice = async (
  { api }: Pick<ConsoleRequest, 'api'>,
  deliveries: readonly WebhookDeliveryWire[],
): Promise<Html | null> => {
  const failing = deliveries.find(({ status, attempts }) => status !== 'DELIVERED' && numberText(attempts) !== '0')
  if (failing === undefined) return null
  const list = await api<ListOf<WebhookAttemptWire>>(
    'GET',
    `/webhooks/${failing.endpoint_id}/deliveries/${failing.id}/attempts?limit=1`,
  )
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
  const { api, ids, query } = request
  const [endpointId = '', id = ''] = ids
  const [path, address] = [pathOf(endpointId, id), `/webhooks/${endpointId}/deliveries/${id}`]
  const [deliveryResult, attempts] = await Promise.all([
    api<WebhookDeliveryWire>('GET', address),
    api<ListOf<WebhookAttemptWire>>('GET', `${address}/attempts${listQuery(query, [])}`),
  ])
  if (!deliveryResult.ok)
    return {
      title: 'Delivery',
      status: deliveryResult.status,
      body: html`<h1>Delivery</h1>${errorNotice(deliveryResult.fault)}`,
    }
  return {
    title: 'Delivery',
    status: fault === null ? 200 : 400,
    body: html`<h1>Delivery</h1>${fault}
<p class="lead"><code>${id}</code> to <a href="/console/webhooks/${endpointId}">this endpoint</a>.
Attempts are retained for 30 days.</p>
${deliveryFacts(deliveryResult.value)}
<div class="actions">${resendButton(request, path)}<a href="${path}">Refresh</a></div>
${showResult(attempts, ({ data }) => table('Attempts', attemptColumns, data.map(attemptRow), noAttempts))}
${attempts.ok ? pageLinks(path, query, [], attempts.value) : null}`,
  }
}

const resendDelivery = async (request: ConsoleRequest): Promise<PageResult> => {
  const [endpointId = '', id = ''] = request.ids
  const sent = await request.api('POST', `/webhooks/${endpointId}/deliveries/${id}/resend`, {})
  return sent.ok ? { to: `${pathOf(endpointId, id)}?done=resent` } : showDelivery(request, errorNotice(sent.fault))
}

export const deliveryRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks/:endpoint/deliveries/:delivery', request => showDelivery(request)),
  postRoute('/console/webhooks/:endpoint/deliveries/:delivery/resend', resendDelivery),
]
