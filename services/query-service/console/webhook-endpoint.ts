import { type Content, type Html, html } from '../reference/html.ts'
import type { Answered, Fault, ListOf } from './api.ts'
import { form, type View } from './frame.ts'
import { choice, facts, faultNotice, field, instant, listQuery, pager, shown, table } from './parts.ts'
import { get, post, type Route, type Shown, type Visit } from './visit.ts'
import { type Delivery, deliveryColumns, deliveryRow, failureNotice } from './webhook-deliveries.ts'
import { doneNotice, type Endpoint, secretNotice, stateOf, typesHint, typesOf } from './webhook-parts.ts'

const addressOf = ({ ids }: Pick<Visit, 'ids'>): string => `/webhooks/${ids[0]}`

const button = ({ csrf }: Visit, path: string, name: string, kind = 'quiet'): Html =>
  form(csrf, path, html`<button class="${kind}" type="submit">${name}</button>`, 'inline')

const actions = (visit: Visit, { id, status }: Endpoint): Html => {
  const at = `/console/webhooks/${id}`
  const isOn = status === 'ENABLED'
  return html`<div class="actions">${isOn ? button(visit, `${at}/test`, 'Send a test event') : null}${button(visit, `${at}/rotate`, 'Rotate the secret')}${button(visit, isOn ? `${at}/disable` : `${at}/enable`, isOn ? 'Disable' : 'Enable')}${button(visit, `${at}/delete`, 'Delete', 'danger')}</div>`
}

const edition = (csrf: string, endpoint: Endpoint, fault: Fault | null, sent: URLSearchParams): Html => {
  const value = (name: string, stored: string): string => (fault === null ? stored : (sent.get(name) ?? stored))
  return form(
    csrf,
    `/console/webhooks/${endpoint.id}`,
    html`${fault !== null && fault.field === null ? faultNotice(fault) : null}
${field('url', 'Address', { value: value('url', endpoint.url), type: 'url', required: true, fault })}
${field('event_types', 'Event types', { value: value('event_types', endpoint.event_types.join(', ')), hint: typesHint, fault })}
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

const statuses = [
  ['', 'all'],
  ['PENDING', 'waiting or failing'],
  ['DELIVERED', 'delivered'],
  ['FAILED', 'given up'],
] as const

const deliveriesOf = (visit: Visit, endpoint: Endpoint, list: Answered<ListOf<Delivery>>): Html => {
  const path = `/console/webhooks/${endpoint.id}`
  return html`<form class="filter" method="get" action="${path}">${choice('status', 'State', statuses, visit.query.get('status') ?? '')}<button type="submit">Show</button></form>
${shown(list, ({ data }) =>
  table(
    'Deliveries',
    deliveryColumns,
    data.map(one => deliveryRow(visit.csrf, one)),
    'Nothing was sent yet.',
  ),
)}
${list.ok ? pager(path, visit.query, ['status'], list.value) : null}`
}

type Extra = { readonly above?: Content; readonly fault?: Fault | null; readonly status?: number }

const endpointView = async (visit: Visit, { above = null, fault = null, status = 200 }: Extra = {}): Promise<View> => {
  const [found, deliveries] = await Promise.all([
    visit.api<Endpoint>('GET', addressOf(visit)),
    visit.api<ListOf<Delivery>>('GET', `${addressOf(visit)}/deliveries${listQuery(visit.query, ['status'])}`),
  ])
  if (!found.ok) return { title: 'Webhook', status: found.status, body: html`<h1>Webhook</h1>${faultNotice(found.fault)}` }
  const endpoint = found.value
  const { id, url, api_version: version, failing_since: since, time_created: made } = endpoint
  const why = since === null || !deliveries.ok ? null : await failureNotice(visit, deliveries.value.data)
  return {
    title: url,
    status: fault === null ? status : 400,
    body: html`<h1 class="address">${url}</h1>${above ?? doneNotice(visit.query)}${why}
${facts(['Id', html`<code>${id}</code>`], ['State', stateOf(endpoint)], ['Failing since', since === null ? 'no' : instant(since)], ['Events in version', version], ['Made', instant(made)])}
${actions(visit, endpoint)}
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries</h2>${deliveriesOf(visit, endpoint, deliveries)}</section>
<section aria-labelledby="range"><h2 id="range">Send a range again</h2>${resendForm(visit.csrf, endpoint)}</section>
<section aria-labelledby="edit"><h2 id="edit">Change</h2>${edition(visit.csrf, endpoint, fault, visit.form)}</section>`,
  }
}

const failedView = (visit: Visit, { status, fault }: Extract<Answered<unknown>, { ok: false }>): Promise<View> =>
  endpointView(visit, { above: faultNotice(fault), status })

const doneAt = ({ ids }: Visit, done: string): Shown => ({ to: `/console/webhooks/${ids[0]}?done=${done}` })

/** Do something with an endpoint, and lead to its page, which says so; or show there why it was not done. */
const act =
  (work: (visit: Visit) => Promise<Answered<unknown>>, done: string) =>
  async (visit: Visit): Promise<Shown> => {
    const outcome = await work(visit)
    return outcome.ok ? doneAt(visit, done) : failedView(visit, outcome)
  }

const edit = async (visit: Visit): Promise<Shown> => {
  const text = (name: string): string => visit.form.get(name)?.trim() ?? ''
  const description = text('description') === '' ? null : text('description')
  const body = { url: text('url'), event_types: typesOf(text('event_types')), description }
  const saved = await visit.api<Endpoint>('PATCH', addressOf(visit), body)
  return saved.ok ? doneAt(visit, 'changed') : endpointView(visit, { fault: saved.fault })
}

/** The secret is shown with the answer itself, for it is kept nowhere. */
const rotate = async (visit: Visit): Promise<Shown> => {
  const made = await visit.api<{ readonly secret: string }>('POST', `${addressOf(visit)}/secret`, {})
  return made.ok
    ? endpointView(visit, { above: secretNotice(made.value.secret, 'The secret before it signs beside it for 24 hours.') })
    : failedView(visit, made)
}

const remove = async (visit: Visit): Promise<Shown> => {
  const removed = await visit.api('DELETE', addressOf(visit))
  return removed.ok ? { to: '/console/webhooks' } : failedView(visit, removed)
}

const setStatus = (status: Endpoint['status']) =>
  act(visit => visit.api<Endpoint>('PATCH', addressOf(visit), { status }), status.toLowerCase())

const resend = (visit: Visit): Promise<Answered<unknown>> => {
  const utc = (name: string): string => `${visit.form.get(name) ?? ''}:00Z`.replace(/(:\d\d:\d\d):00Z$/, '$1Z')
  const body = {
    start_time: utc('start_time'),
    end_time: utc('end_time'),
    include_delivered: visit.form.get('include_delivered') === 'true',
  }
  return visit.api('POST', `${addressOf(visit)}/resends`, body)
}

export const endpointRoutes: readonly Route[] = [
  get('/console/webhooks/{}', visit => endpointView(visit)),
  post('/console/webhooks/{}', edit),
  post('/console/webhooks/{}/rotate', rotate),
  post(
    '/console/webhooks/{}/test',
    act(visit => visit.api('POST', `${addressOf(visit)}/test`, {}), 'tested'),
  ),
  post('/console/webhooks/{}/enable', setStatus('ENABLED')),
  post('/console/webhooks/{}/disable', setStatus('DISABLED')),
  post('/console/webhooks/{}/resend', act(resend, 'range')),
  post('/console/webhooks/{}/delete', remove),
]
