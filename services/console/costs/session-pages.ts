import { sessionCost } from '../../contract/costs/energy-cost.ts'
import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { meterRecordList } from '../../contract/metering/meter-record-read.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ApiResult } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { differenceOf, energy, exactText, kilowattHours, money, unitPrice } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { newestDevices } from '../kit/device-names.ts'
import { firstRecord } from '../kit/first-requests.ts'
import { warningNotices } from '../kit/warning-notices.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, facts, field, instant } from '../page-parts.ts'
import { type CostWire, uncertainFacts } from './cost-view.ts'
import { recordColumns, recordTotals } from './record-pages.ts'

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
    reference,
    currency: currency_code,
    zone: location_timezone,
    start: element.start_time,
    end: element.end_time,
    energy: element.energy.value,
    cost: element.tariff?.cost.value ?? null,
  }
}

/** Mean price of a session, rounded to 5 decimals for display. */
const meanPrice = ({ energy: wattHours, cost }: SessionFigures): number | null => {
  const kwh = Number(kilowattHours(wattHours))
  return cost === null || kwh === 0 ? null : Number(numberText(cost)) / kwh
}

const readSession = ({ call }: ConsoleRequest, reference: string): Promise<ApiResult<CostWire>> =>
  call(sessionCost, { id: reference })

const sessionForm = (reference: string, compare: string): Html =>
  html`<form class="filter" method="get" action="/console/sessions">
${field('reference', 'Session', { value: reference, required: true })}
${field('compare', 'Compare with', { value: compare, hint: 'Optional: another session' })}
<button class="quiet" type="submit">Show</button></form>`

const decimals = (value: number): string => value.toFixed(5)

/** Figure of a session with its exact text. */
type Figure = readonly [text: string, shown: Content]

const comparedFigures = (one: SessionFigures): readonly (readonly [name: string, figure: Figure])[] => {
  const price = meanPrice(one)
  return [
    ['Start', [one.start, instant(one.start, one.zone, 'minute')]],
    ['Energy', [kilowattHours(one.energy), energy(one.energy)]],
    ['Cost', [one.cost === null ? '' : exactText(one.cost), money(one.cost, one.currency)]],
    ['Mean price', price === null ? ['', '–'] : [decimals(price), unitPrice(decimals(price), one.currency)]],
  ]
}

/** Compare the figures of two sessions. */
const comparisonTable = (request: ConsoleRequest, one: SessionFigures, other: SessionFigures): TableView => {
  const others = comparedFigures(other)
  const items = comparedFigures(one).map(([name, first], index) => ({
    name,
    first,
    second: others[index]?.[1] ?? first,
  }))
  type Item = (typeof items)[number]
  const column = (key: 'first' | 'second', name: string): Column<Item> => ({
    key: name,
    name,
    isNamed: true,
    text: item => item[key][0],
    show: item => item[key][1],
  })
  return dataTable<Item>(request, {
    id: 'compared-sessions',
    label: 'Comparison',
    items,
    empty: '',
    isCompact: true,
    isSortable: false,
    columns: [
      { key: 'figure', name: 'Figure', text: ({ name }) => name },
      column('first', one.reference),
      column('second', other.reference),
    ],
  })
}

/** Write an amount without its sign, with a word for the sign: "0.58 EUR less". */
const signed = (text: string, show: (amount: string) => Html, above: string, below: string): Html =>
  html`${show(text.replace('-', ''))} ${text.startsWith('-') ? below : above}`

/** Explain the difference of two sessions by energy and by mean price. */
const differenceText = (one: SessionFigures, other: SessionFigures): Content => {
  const [price, otherPrice] = [meanPrice(one), meanPrice(other)]
  if (
    price === null ||
    otherPrice === null ||
    one.cost === null ||
    other.cost === null ||
    one.currency !== other.currency
  )
    return null
  const difference = differenceOf(exactText(one.cost), exactText(other.cost))
  const moreEnergy = Number(differenceOf(kilowattHours(one.energy), kilowattHours(other.energy)))
  const byEnergy = moreEnergy * otherPrice
  const byPrice = Number(difference) - byEnergy
  const part = (text: string): Html => signed(text, amount => money(amount, one.currency), 'more', 'less')
  const wattHours = String(Math.round(moreEnergy * 1_000))
  return html`<p>Session ${one.reference} costs ${part(difference)} than ${other.reference}: ${part(decimals(byEnergy))} because of
${signed(wattHours, energy, 'more', 'less')} energy, and ${part(decimals(byPrice))} because of a mean price that is
${signed(decimals(price - otherPrice), amount => unitPrice(amount, one.currency), 'higher', 'lower')}.</p>`
}

const showSession = async (request: ConsoleRequest, reference: string): Promise<PageView> => {
  const { call, query } = request
  const compare = query.get('compare')?.trim() ?? ''
  const [cost, records, otherCost, devices] = await Promise.all([
    readSession(request, reference),
    call(meterRecordList, { session_reference_id: reference, limit: 100 }),
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
    id: 'records',
    label: 'Records',
    columns,
    items,
    totals: recordTotals(items).slice(0, columns.length),
    empty: 'No records.',
    hasMore: records.ok && records.value.has_more,
    isCompact: true,
  })
  const compared = figures === null || other === null ? null : comparisonTable(request, figures, other)
  return {
    title: `Session ${reference}`,
    tables: compared === null ? [list] : [list, compared],
    body: html`<h1>Session ${reference}</h1>${form}
${otherCost?.ok === false ? errorNotice(otherCost.fault) : null}${warningNotices(cost.value.warnings, zone)}
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
        ...uncertainFacts(cost.value),
      )}${other === null ? null : html`<section aria-labelledby="compared"><h2 id="compared">Comparison</h2>${compared?.markup}${differenceText(figures, other)}</section>`}`
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
