import { type JsonNumber, numberText } from '../../contract/exact-number.ts'
import { type Content, type Html, html } from '../reference/html.ts'
import type { ListOf } from './api.ts'
import { form, type View } from './frame.ts'
import { faultNotice, goodNotice, instant, listQuery, pager, row, shown, table } from './parts.ts'
import { get, post, type Route, type Shown, type Visit } from './visit.ts'

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

const states = { PENDING: ['warn', 'waiting'], DELIVERED: ['good', 'delivered'], FAILED: ['bad', 'failed'] } as const

const pathOf = (endpointId: string, deliveryId: string): string => `/console/webhooks/${endpointId}/deliveries/${deliveryId}`

const resendButton = (csrf: string, path: string): Html =>
  form(csrf, `${path}/resend`, html`<button class="quiet" type="submit">Send again</button>`, 'inline')

/** One line of the deliveries of an endpoint. */
export const deliveryRow = (csrf: string, one: Delivery): Html => {
  const [kind, word] = states[one.status]
  const path = pathOf(one.endpoint_id, one.id)
  return row(
    html`<a href="${path}">${instant(one.time_created)}</a>`,
    html`<code>${one.event_type}</code>`,
    html`<span class="tag ${kind}">${word}</span>`,
    numberText(one.attempts),
    one.next_attempt === null ? '' : instant(one.next_attempt),
    resendButton(csrf, path),
  )
}

const answerOf = ({ response_body: body }: Attempt): Content =>
  body === ''
    ? html`<span class="none">empty</span>`
    : html`<details><summary>Show</summary><pre class="block" tabindex="0">${body}</pre></details>`

const attemptRow = (one: Attempt): Html =>
  row(
    instant(one.time_created),
    one.succeeded ? html`<span class="tag good">arrived</span>` : html`<span class="tag bad">failed</span>`,
    one.status_code === null ? (one.error ?? '').replaceAll('_', ' ') : numberText(one.status_code),
    `${numberText(one.duration_ms)} ms`,
    answerOf(one),
  )

const delivery = async ({ api, ids, query, csrf }: Visit, above: Content = null): Promise<View> => {
  const [endpointId = '', id = ''] = ids
  const path = pathOf(endpointId, id)
  const attempts = await api<ListOf<Attempt>>('GET', `/webhooks/${endpointId}/deliveries/${id}/attempts${listQuery(query, [])}`)
  return {
    title: 'Delivery',
    status: attempts.ok ? 200 : attempts.status,
    body: html`<h1>Delivery</h1>${above}
<p class="lead"><code>${id}</code> to <a href="/console/webhooks/${endpointId}">its endpoint</a>. Attempts are kept for 30 days.</p>
<div class="actions">${resendButton(csrf, path)}</div>
${shown(attempts, ({ data }) => table('Attempts', ['Time', 'Outcome', 'Status', 'Took', 'Answer'], data.map(attemptRow), 'It was not tried yet.'))}
${attempts.ok ? pager(path, query, [], attempts.value) : null}`,
  }
}

const resend = async (visit: Visit): Promise<Shown> => {
  const [endpointId = '', id = ''] = visit.ids
  const sent = await visit.api('POST', `/webhooks/${endpointId}/deliveries/${id}/resend`, {})
  return delivery(visit, sent.ok ? goodNotice('It is being sent again.') : faultNotice(sent.fault))
}

export const deliveryRoutes: readonly Route[] = [
  get('/console/webhooks/{}/deliveries/{}', visit => delivery(visit)),
  post('/console/webhooks/{}/deliveries/{}/resend', resend),
]
