import { type JsonNumber, numberText } from '../../../contract/json/exact-number.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { ApiResult, ListOf } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { differenceOf, energy, exactText, kilowattHours, money, unitPrice } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { dataTable } from '../kit/data-table.ts'
import { newestDevices } from '../kit/device-names.ts'
import { firstRecord } from '../kit/first-requests.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, facts, field, instant, row, table } from '../page-parts.ts'
import type { CostWire } from './cost-pages.ts'
import { type RecordWire, recordColumns, recordTotals } from './record-pages.ts'

/** Cost of a session as figures. */
type SessionFigures = {
  readonly reference: string
  readonly currency: string
  readonly zone: string
  readonly start: string
  readonly end: string
  readonly energy: JsonNumber
  readonly cost: JsonNumber | null
}

const figuresOf = (reference: string, { data, currency_code, location_timezone }: CostWire): SessionFigures | null => {
  const [element] = data
  if (element === undefined) return null
  return {
    ...{
      reference,
      currency: currency_code,
      zone: location_timezone,
      start: element.start_time,
      end: element.end_time,
    },
    ...{ energy: element.energy.value, cost: element.tariff.cost.value },
  }
}

/** Mean price of a session, rounded to 5 decimals for display. */
const meanPrice = ({ energy: wattHours, cost }: SessionFigures): number | null => {
  const kwh = Number(kilowattHours(wattHours))
  return cost === null || kwh === 0 ? null : Number(numberText(cost)) / kwh
}

const readSession = ({ api }: ConsoleRequest, reference: string): Promise<ApiResult<CostWire>> =>
  api<CostWire>('POST', `/costs/session/${encodeURIComponent(reference)}`, {})

const sessionForm = (reference: string, compare: string): Html =>
  html`<form class="filter" method="get" action="/console/sessions">
${field('reference', 'Session', { value: reference, required: true })}
${field('compare', 'Compare with', { value: compare, hint: 'Optional: another session' })}
<button class="quiet" type="submit">Show</button></form>`

const decimals = (value: number): string => value.toFixed(5)

/** Explain the difference of two sessions by energy and by mean price. */
const comparison = (one: SessionFigures, other: SessionFigures): Content => {
  const [price, otherPrice] = [meanPrice(one), meanPrice(other)]
  const names = ['', one.reference, other.reference]
  const lines = table(
    'Comparison',
    names,
    [
      row('Start', instant(one.start, one.zone, 'minute'), instant(other.start, other.zone, 'minute')),
      row('Energy', energy(one.energy), energy(other.energy)),
      row('Cost', money(one.cost, one.currency), money(other.cost, other.currency)),
      row(
        'Mean price',
        price === null ? '–' : unitPrice(decimals(price), one.currency),
        otherPrice === null ? '–' : unitPrice(decimals(otherPrice), other.currency),
      ),
    ],
    '',
  )
  if (
    price === null ||
    otherPrice === null ||
    one.cost === null ||
    other.cost === null ||
    one.currency !== other.currency
  )
    return lines
  const difference = differenceOf(exactText(one.cost), exactText(other.cost))
  const moreEnergy = Number(differenceOf(kilowattHours(one.energy), kilowattHours(other.energy)))
  const byEnergy = moreEnergy * otherPrice
  const byPrice = Number(difference) - byEnergy
  const part = (amount: number): Html => money(decimals(amount), one.currency)
  return html`${lines}<p>Session ${one.reference} costs ${money(difference, one.currency)} more than ${other.reference}:
${part(byEnergy)} because of ${energy(String(Math.round(moreEnergy * 1_000)))} more energy, and ${part(byPrice)} because of a mean price that is
${unitPrice(decimals(price - otherPrice), one.currency)} higher. Negative amounts are lower.</p>`
}

const showSession = async (request: ConsoleRequest, reference: string): Promise<PageView> => {
  const { api, query } = request
  const compare = query.get('compare')?.trim() ?? ''
  const [cost, records, otherCost, devices] = await Promise.all([
    readSession(request, reference),
    api<ListOf<RecordWire>>(
      'GET',
      `/meters/records?${new URLSearchParams({ session_reference_id: reference, limit: '100' })}`,
    ),
    compare === '' ? null : readSession(request, compare),
    newestDevices(request),
  ])
  const form = sessionForm(reference, compare)
  if (!cost.ok)
    return { title: 'Session', status: cost.status, body: html`<h1>Session</h1>${form}${errorNotice(cost.fault)}` }
  const figures = figuresOf(reference, cost.value)
  const other = otherCost?.ok === true ? figuresOf(compare, otherCost.value) : null
  const items = records.ok ? records.value.data : []
  const zone = cost.value.location_timezone
  const columns = recordColumns(zone, devices).filter(({ key }) => key !== 'session_reference_id')
  const list = dataTable(request, {
    ...{ id: 'records', label: 'Records', columns, items, totals: recordTotals(items).slice(0, columns.length) },
    empty: 'No records.',
    isCompact: true,
  })
  return {
    title: `Session ${reference}`,
    tables: [list],
    body: html`<h1>Session ${reference}</h1>${form}
${otherCost?.ok === false ? errorNotice(otherCost.fault) : null}
${
  figures === null
    ? html`<div class="empty"><p>The session has no records in this direction.</p></div>`
    : html`${facts(
        ['Start', instant(figures.start, zone, 'minute')],
        ['End', instant(figures.end, zone, 'minute')],
        ['Energy', energy(figures.energy)],
        ['Cost', html`<strong>${money(figures.cost, figures.currency)}</strong>`],
        [
          'Mean price',
          meanPrice(figures) === null ? '–' : unitPrice(decimals(meanPrice(figures) ?? 0), figures.currency),
        ],
      )}${other === null ? null : html`<section aria-labelledby="compared"><h2 id="compared">Comparison</h2>${comparison(figures, other)}</section>`}`
}
<section aria-labelledby="parts"><h2 id="parts">Records</h2>${list.markup}
${records.ok && records.value.has_more ? html`<p><a href="/console/records?session_reference_id=${encodeURIComponent(reference)}">All records</a></p>` : null}</section>`,
  }
}

const showSessions = async (request: ConsoleRequest): Promise<PageView> => {
  const reference = request.query.get('reference')?.trim() ?? ''
  if (reference !== '') return showSession(request, reference)
  return {
    title: 'Sessions',
    body: html`<h1>Sessions</h1>
<p class="lead">A session adds up the records with one session reference, such as a charging session.</p>${sessionForm('', '')}
<p class="hint">The search at the top finds sessions by a part of their reference.</p>
<div class="empty"><p>A record with a session reference begins a session:</p>${curlBlock(firstRecord({ session_reference_id: 'session-1' }))}</div>`,
  }
}

export const sessionRoutes: readonly ConsoleRoute[] = [getRoute('/console/sessions', showSessions)]
