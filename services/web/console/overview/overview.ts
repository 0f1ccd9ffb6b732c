import type { EventWire } from '../../../contract/events/event.ts'
import type { WebhookEndpointWire } from '../../../contract/events/webhook-endpoint.ts'
import type { AccountWire } from '../../../contract/registry/account.ts'
import { html } from '../../ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { modeBadge } from '../page-frame.ts'
import { facts, instant, row, showResult, table } from '../page-parts.ts'

const showOverview = async ({ api, session }: ConsoleRequest) => {
  const [account, events, endpoints] = await Promise.all([
    api<AccountWire>('GET', '/account'),
    api<ListOf<EventWire>>('GET', '/events?limit=8'),
    api<ListOf<WebhookEndpointWire>>('GET', '/webhooks?limit=5'),
  ])
  return {
    title: 'Overview',
    body: html`<h1>Overview</h1>
${showResult(account, accountRecord =>
  facts(
    ['Account', html`<code>${accountRecord.id}</code>`],
    ['Mode', modeBadge(session)],
    ['Key', html`<code>${session.keyId}</code>`],
    ['Scope', session.scope],
    ['Default API version', accountRecord.default_version],
  ),
)}
<section aria-labelledby="latest"><h2 id="latest">Latest events</h2>
${showResult(events, list =>
  table(
    'Latest events',
    ['Time', 'Type', 'Event'],
    list.data.map(({ id, type, time_created }) =>
      row(instant(time_created), html`<code>${type}</code>`, html`<a href="/console/events/${id}">${id}</a>`),
    ),
    'No events yet. Create a location with the API.',
  ),
)}
<p><a href="/console/events">View all events</a></p></section>
<section aria-labelledby="endpoints"><h2 id="endpoints">Webhook endpoints</h2>
${showResult(endpoints, list =>
  table(
    'Webhook endpoints',
    ['URL', 'Status', 'Failing since'],
    list.data.map(({ id, url, status, failing_since }) =>
      row(
        html`<a href="/console/webhooks/${id}">${url}</a>`,
        status.toLowerCase(),
        failing_since === null ? '–' : instant(failing_since),
      ),
    ),
    'No webhook endpoints yet. Add one on the Webhooks page.',
  ),
)}
<p><a href="/console/webhooks">View all endpoints</a></p></section>`,
  }
}

export const overviewRoutes: readonly ConsoleRoute[] = [getRoute('/console', showOverview)]
