import { intervalCost } from '../../contract/costs/energy-cost.ts'
import { eventList } from '../../contract/events/event.ts'
import { numberText } from '../../contract/json/exact-number.ts'
import { type AccountOverviewWire, accountOverviewRetrieve } from '../../contract/registry/account-overview.ts'
import { locationCreate } from '../../contract/registry/location.ts'
import { civilDate, dayNumber } from '../../domain/civil-date.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ApiResult } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo } from '../console-request.ts'
import type { CostWire } from '../costs/cost-view.ts'
import { eventColumns } from '../events/events.ts'
import { counted, energy, exactText, money, sumTexts, wholeNumber } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import { dayOf, instantsOf, rangeParameters, zoneOf } from '../kit/dates.ts'
import { exampleRequest } from '../objects/object-kind.ts'
import { locationKind } from '../objects/registry-kinds.ts'
import type { PageResult, PageView } from '../page-frame.ts'
import { errorNotice, instant, showResult } from '../page-parts.ts'
import { attentionRoutes } from './attention.ts'

type Tone = '' | 'bad' | 'warn'

/** Card with a number that leads to its list. */
const card = (title: string, value: Content, note: Content, href: string, tone: Tone = ''): Html =>
  html`<a class="card ${tone}" href="${href}"><span>${title}</span><strong>${value}</strong><span>${note}</span></a>`

const minuteMs = 60_000

/** Return a length of time as text. */
const ageText = (ms: number): string => {
  const minutes = Math.floor(ms / minuteMs)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
}

const attentionCards = (overview: AccountOverviewWire, at: number): Html => {
  const { unpriced, webhook_endpoints: endpoints, records_accepted: accepted, records_processed: processed } = overview
  const day = dayOf(zoneOf(overview.timezone), at)
  const unpricedEnergy = sumTexts(unpriced.map(one => numberText(one.energy.value)))
  const received = overview.last_received
  return html`<div class="cards">
${card(
  'Newest record',
  received === null ? 'none' : `${ageText(at - Date.parse(received))} ago`,
  received === null ? 'No records yet' : instant(received),
  '/console/devices',
)}
${card(
  'Records accepted',
  wholeNumber(accepted),
  processed < accepted ? `${wholeNumber(accepted - processed)} wait for their price` : 'all processed, last 24 hours',
  `/console/costs?${new URLSearchParams({ ...rangeParameters(day, day + 1) })}`,
)}
${card(
  'Energy without a price',
  energy(unpricedEnergy),
  `${counted(String(unpriced.length), 'location')}, last 92 days`,
  '/console/unpriced',
  unpriced.length > 0 ? 'warn' : '',
)}
${card(
  'Failed records',
  wholeNumber(overview.failed_records),
  `${wholeNumber(overview.dead_lettered_records)} of them after they were accepted, last 30 days`,
  '/console/failed',
  overview.failed_records > 0 ? 'bad' : '',
)}
${card(
  'Doubtful records',
  wholeNumber(overview.records_warned),
  'Stored with a warning, last 30 days',
  '/console/warned',
  overview.records_warned > 0 ? 'warn' : '',
)}
${card(
  'Webhook failures',
  wholeNumber(overview.failed_deliveries),
  `${endpoints.failing} of ${endpoints.enabled} endpoints fail, ${endpoints.disabled} disabled`,
  '/console/webhooks',
  overview.failed_deliveries > 0 ? 'bad' : '',
)}
${card(
  'Tariffs that end soon',
  wholeNumber(overview.tariffs_ending.length),
  'In the next 30 days',
  '/console/ending',
  overview.tariffs_ending.length > 0 ? 'warn' : '',
)}</div>`
}

/** Periods of the overview as local days. */
const periodsOf = (today: number) => {
  const { year, month } = civilDate(today)
  const before = month === 1 ? dayNumber(year - 1, 12, 1) : dayNumber(year, month - 1, 1)
  const start = dayNumber(year, month, 1)
  const next = month === 12 ? dayNumber(year + 1, 1, 1) : dayNumber(year, month + 1, 1)
  return [
    { name: 'Today', start: today, end: today + 1 },
    { name: 'This month', start, end: next },
    { name: 'Last month', start: before, end: start },
  ]
}

type Period = ReturnType<typeof periodsOf>[number]

/** Cost of a period, or the reason why it is unknown. */
type PeriodCost = ApiResult<CostWire['data']>

/**
 * Read the costs of the periods. One request by day reads each record once. Locations in several time zones have no common days:
 * then each period has a request.
 */
const periodCosts = async (
  { call, session }: ConsoleRequest,
  zone: TimeZone,
  currency: string,
  periods: readonly Period[],
): Promise<readonly PeriodCost[]> => {
  const ask = (start: number, end: number, more = {}) =>
    call(intervalCost, { id: session.accountId, currency_code: currency, ...more }, instantsOf({ zone, start, end }))
  const dataOf = (cost: ApiResult<CostWire>): PeriodCost => (cost.ok ? { ok: true, value: cost.value.data } : cost)
  const [first, last] = [Math.min(...periods.map(({ start }) => start)), Math.max(...periods.map(({ end }) => end))]
  const byDay = dataOf(await ask(first, last, { aggregation: 'DAY' }))
  if (!byDay.ok && byDay.fault.code === 'location_ambiguous')
    return Promise.all(periods.map(async ({ start, end }) => dataOf(await ask(start, end))))
  return periods.map(({ start, end }) =>
    byDay.ok ? { ok: true, value: byDay.value.slice(start - first, end - first) } : byDay,
  )
}

/** Sums of a period as exact texts: cost, and energy in Wh. Empty if the cost is unknown. */
const sumsOf = (cost: PeriodCost | undefined): { readonly cost: string; readonly wattHours: string } =>
  cost?.ok === true
    ? {
        cost: sumTexts(cost.value.map(({ tariff }) => exactText(tariff?.cost.value ?? 0))),
        wattHours: sumTexts(cost.value.map(one => exactText(one.energy.value))),
      }
    : { cost: '', wattHours: '' }

/** Energy and cost of a period, with a link to its costs. */
const periodCell = (currency: string, { start, end }: Period, cost: PeriodCost | undefined): Html => {
  const href = `/console/costs?${new URLSearchParams({ ...rangeParameters(start, end), currency })}`
  if (cost?.ok === false) return html`<a href="${href}">${cost.fault.message}</a>`
  const sums = sumsOf(cost)
  return html`<span><a href="${href}">${money(sums.cost, currency)}</a><br><span class="hint">${energy(sums.wattHours)}</span></span>`
}

type CurrencyCosts = { readonly currency: string; readonly costs: readonly PeriodCost[] }

/** Columns of a period: the page shows cost and energy in one cell. */
const periodColumns = (period: Period, index: number): readonly Column<CurrencyCosts>[] => {
  const key = period.name.toLowerCase().replace(' ', '_')
  return [
    {
      key: `cost_${key}`,
      name: period.name,
      text: ({ costs }) => sumsOf(costs[index]).cost,
      show: ({ currency, costs }) => periodCell(currency, period, costs[index]),
    },
    {
      key: `energy_${key}_wh`,
      name: 'Energy',
      text: ({ costs }) => sumsOf(costs[index]).wattHours,
      isInFileOnly: true,
    },
  ]
}

/** Show energy and cost of the account by currency, for today, this month and the last month. */
const costTable = async (request: ConsoleRequest): Promise<PageResult> => {
  const { query, at } = request
  const zone = zoneOf(query.get('zone') ?? 'UTC')
  const currencies = (query.get('currencies') ?? '')
    .split(',')
    .filter(one => /^[A-Z]{3}$/.test(one))
    .slice(0, 6)
  const periods = periodsOf(dayOf(zone, at))
  const items = await Promise.all(
    currencies.map(async currency => ({ currency, costs: await periodCosts(request, zone, currency, periods) })),
  )
  const table = dataTable(request, {
    id: 'overview-costs',
    label: 'Cost and energy',
    items,
    empty: 'No costs.',
    isSortable: false,
    hasMore: false,
    columns: [
      { key: 'currency', name: 'Currency', text: one => one.currency },
      ...periods.flatMap((period, index) => periodColumns(period, index)),
    ],
  })
  return {
    tables: [table],
    showsRequests: true,
    fragment: html`<section aria-labelledby="costs"><h2 id="costs">Cost and energy</h2>${table.markup}</section>`,
  }
}

const emptyAccount = (request: ConsoleRequest): Html =>
  html`<div class="empty"><p>No locations yet. ${
    mayDo(request, locationCreate) ? html`<a href="/console/locations/new">Create a location</a>` : 'Create a location'
  }, give it a tariff, and send records. The <a href="/docs">documentation</a> has all requests. The first one is:</p>
${curlBlock(exampleRequest(locationKind))}</div>`

/** Return the path of the costs of the overview. */
export const overviewCostsPath = ({ timezone, currency_codes: currencies }: AccountOverviewWire): string =>
  `/console/overview/costs?${new URLSearchParams({ zone: timezone, currencies: currencies.join(',') })}`

/** Show the state of the account. The costs are loaded after the page, because they add up all records. */
const showOverview = async (request: ConsoleRequest): Promise<PageView> => {
  const { call, at } = request
  const [overview, events] = await Promise.all([call(accountOverviewRetrieve, {}), call(eventList, { limit: 8 })])
  if (!overview.ok)
    return { title: 'Overview', status: overview.status, body: html`<h1>Overview</h1>${errorNotice(overview.fault)}` }
  const { currency_codes: currencies } = overview.value
  const latest = events.ok
    ? dataTable(request, {
        id: 'latest-events',
        label: 'Latest events',
        items: events.value.data,
        isSortable: false,
        columns: eventColumns.filter(({ key }) => key !== 'object'),
        empty: 'No events yet. Create a location with the API.',
        hasMore: events.value.has_more,
      })
    : null
  return {
    title: 'Overview',
    tables: latest === null ? [] : [latest],
    body: html`<h1>Overview</h1>
${currencies.length === 0 ? emptyAccount(request) : html`<div data-load="${overviewCostsPath(overview.value)}"><p class="empty"><a href="/console/costs">View energy and cost</a></p></div>`}
${attentionCards(overview.value, at)}
<section aria-labelledby="latest"><h2 id="latest">Latest events</h2>
${showResult(events, () => latest?.markup)}
<p class="below"><a href="/console/events">View all events</a></p></section>`,
  }
}

export const overviewRoutes: readonly ConsoleRoute[] = [
  getRoute('/console', showOverview),
  getRoute('/console/overview/costs', costTable),
  ...attentionRoutes,
]
