import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { type Content, type Html, html } from '../ui-kit/html.ts'
import type { ListOf } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, type PageResult, postRoute } from './console-request.ts'
import { form, type PageView } from './page-frame.ts'
import { errorNotice, facts, instant, listQuery, pageLinks, type Row, row, showResult, table } from './page-parts.ts'
import { doneNotice } from './webhook-parts.ts'

export type Delivery = {
  readonly id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly event_type: string
  readonly status: 'PENDING' | 'DELIVERED' | 'FAILED'
  readonly attempts: JsonNumber
  readonly next_attempt: string | null
  readonly time_created: string
}

type Attempt = {
  readonly id: string
  readonly succeeded: boolean
  readonly status_code: JsonNumber | null
  readonly error: string | null
  readonly duration_ms: JsonNumber
  readonly response_body: string
  readonly time_created: string
}

const statusTags = {
  PENDING: ['warn', 'waiting'],
  DELIVERED: ['good', 'delivered'],
  FAILED: ['bad', 'given up'],
} as const

/** Say how a delivery stands; one that was tried in vain is told from one that has its first attempt before it. */
const statusTag = ({ status, attempts }: Delivery): Html => {
  const [kind, word] = status === 'PENDING' && numberText(attempts) !== '0' ? ['bad', 'failing'] : statusTags[status]
  return html`<span class="tag ${kind}">${word}</span>`
}

const pathOf = (endpointId: string, deliveryId: string): string =>
  `/console/webhooks/${endpointId}/deliveries/${deliveryId}`

const resendButton = (csrf: string, path: string): Html =>
  form(csrf, `${path}/resend`, html`<button class="quiet" type="submit">Send again</button>`, 'inline')

export const deliveryColumns = ['Made', 'Event', 'State', 'Attempts', 'Next attempt', '']

/** One line of the deliveries of an endpoint. */
export const deliveryRow = (csrf: string, one: Delivery): Row => {
  const path = pathOf(one.endpoint_id, one.id)
  return row(
    html`<a href="${path}">${instant(one.time_created)}</a>`,
    html`<code>${one.event_type}</code>`,
    statusTag(one),
    numberText(one.attempts),
    one.next_attempt === null ? '' : instant(one.next_attempt),
    resendButton(csrf, path),
  )
}

const responseBody = ({ response_body: body }: Attempt): Content =>
  body === ''
    ? html`<span class="none">empty</span>`
    : html`<details><summary>Show</summary><pre class="block" tabindex="0">${body}</pre></details>`

/** Say in a few words what came of an attempt. */
const attemptOutcome = ({ status_code: status, error }: Attempt): string =>
  status === null ? (error ?? '').replaceAll('_', ' ') : numberText(status)

const attemptRow = (one: Attempt): Row =>
  row(
    instant(one.time_created),
    one.succeeded ? html`<span class="tag good">arrived</span>` : html`<span class="tag bad">failed</span>`,
    attemptOutcome(one),
    `${numberText(one.duration_ms)}\u00a0ms`,
    responseBody(one),
  )

/** Say why an endpoint fails, by the last attempt of the newest of these deliveries that was tried in vain. */
export const failureNotice = async (
  { api }: Pick<ConsoleRequest, 'api'>,
  deliveries: readonly Delivery[],
): Promise<Html | null> => {
  const failing = deliveries.find(({ status, attempts }) => status !== 'DELIVERED' && numberText(attempts) !== '0')
  if (failing === undefined) return null
  const list = await api<ListOf<Attempt>>(
    'GET',
    `/webhooks/${failing.endpoint_id}/deliveries/${failing.id}/attempts?limit=1`,
  )
  const lastAttempt = list.ok ? list.value.data[0] : undefined
  if (lastAttempt === undefined || lastAttempt.succeeded) return null
  const outcomeText =
    lastAttempt.status_code === null
      ? html`had no answer: ${attemptOutcome(lastAttempt)}`
      : html`was answered ${attemptOutcome(lastAttempt)}`
  return html`<p class="notice bad">An attempt at ${instant(lastAttempt.time_created)} ${outcomeText}. <a href="${pathOf(failing.endpoint_id, failing.id)}">See what came back</a></p>`
}

const deliveryFacts = (one: Delivery): Html =>
  facts(
    ['State', statusTag(one)],
    ['Event', html`<a href="/console/events/${one.event_id}">${one.event_id}</a> <code>${one.event_type}</code>`],
    ['Attempts', numberText(one.attempts)],
    ['Next attempt', one.next_attempt === null ? 'none' : instant(one.next_attempt)],
  )

const showDelivery = async (request: ConsoleRequest, fault: Content = null): Promise<PageView> => {
  const { api, ids, query, csrf } = request
  const [endpointId = '', id = ''] = ids
  const [path, address] = [pathOf(endpointId, id), `/webhooks/${endpointId}/deliveries/${id}`]
  const [deliveryResult, attempts] = await Promise.all([
    api<Delivery>('GET', address),
    api<ListOf<Attempt>>('GET', `${address}/attempts${listQuery(query, [])}`),
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
    body: html`<h1>Delivery</h1>${fault ?? doneNotice(query)}
<p class="lead"><code>${id}</code> to <a href="/console/webhooks/${endpointId}">its endpoint</a>. Attempts are kept for 30 days.</p>
${deliveryFacts(deliveryResult.value)}
<div class="actions">${resendButton(csrf, path)}<a href="${path}">Look again</a></div>
${showResult(attempts, ({ data }) => table('Attempts', ['Time', 'Outcome', 'Status', 'Took', 'Answer'], data.map(attemptRow), 'It was not tried yet.'))}
${attempts.ok ? pageLinks(path, query, [], attempts.value) : null}`,
  }
}

const resendDelivery = async (request: ConsoleRequest): Promise<PageResult> => {
  const [endpointId = '', id = ''] = request.ids
  const sent = await request.api('POST', `/webhooks/${endpointId}/deliveries/${id}/resend`, {})
  return sent.ok ? { to: `${pathOf(endpointId, id)}?done=resent` } : showDelivery(request, errorNotice(sent.fault))
}

export const deliveryRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/webhooks/{}/deliveries/{}', request => showDelivery(request)),
  postRoute('/console/webhooks/{}/deliveries/{}/resend', resendDelivery),
]
