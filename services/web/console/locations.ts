import { html } from '../ui-kit/html.ts'
import type { ListOf } from './api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from './console-request.ts'
import { showLocation } from './location.ts'
import { field, instant, listQuery, pageLinks, type Row, row, showResult, table } from './page-parts.ts'

type Location = {
  readonly id: string
  readonly reference_id: string | null
  readonly timezone: string
  readonly currency_code: string
  readonly tariff_status: Readonly<Record<string, string>>
  readonly time_created: string
}

const filters = ['reference_id', 'customer_id']

const locationRow = ({ id, reference_id, timezone, currency_code, tariff_status, time_created }: Location): Row =>
  row(
    html`<a href="/console/locations/${id}">${reference_id ?? id}</a>`,
    timezone,
    currency_code,
    tariff_status['commodity_import'] === 'CONNECTED' ? 'connected' : html`<span class="none">none</span>`,
    instant(time_created),
  )

const showLocations = async ({ api, query }: ConsoleRequest) => {
  const list = await api<ListOf<Location>>('GET', `/locations${listQuery(query, filters)}`)
  return {
    title: 'Locations',
    status: list.ok ? 200 : list.status,
    body: html`<h1>Locations</h1>
<p class="lead">Places with one grid connection: their prices and what their energy has cost.</p>
<form class="filter" method="get" action="/console/locations">${field('reference_id', 'Reference', { value: query.get('reference_id') ?? '' })}${field('customer_id', 'Customer', { value: query.get('customer_id') ?? '' })}<button type="submit">Show</button></form>
${showResult(list, ({ data }) => table('Locations', ['Location', 'Zone', 'Currency', 'Tariff', 'Made'], data.map(locationRow), 'There is no such location yet.'))}
${list.ok ? pageLinks('/console/locations', query, filters, list.value) : null}`,
  }
}

export const locationRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/locations', showLocations),
  getRoute('/console/locations/{}', showLocation),
]
