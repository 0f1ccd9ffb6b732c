import { type CorrectionWire, correctionList } from '../../contract/metering/correction.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { energy, exactText, percent } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { instantHint, withInstants } from '../kit/dates.ts'
import { type LocationNames, locationColumn, newestLocations } from '../kit/location-names.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, field, hasOlderRows, instant, listParameters, pageLinks } from '../page-parts.ts'

type Values = CorrectionWire['before']

const valuesText = ({ energy: { value }, confidence }: Values): string =>
  `${exactText(value)} WH, confidence ${exactText(confidence)}`

const showValues = ({ energy: { value }, confidence }: Values): Html => {
  const isActual = exactText(confidence) === '1'
  if (exactText(value) === '0') return html`${energy(value)} <span class="tag warn">cancelled</span>`
  return html`${energy(value)}${isActual ? null : html` <span class="tag">estimate ${percent(confidence)}</span>`}`
}

const batchLink = ({ batch_id: batch }: Values): Html =>
  batch === null ? html`instant cost` : html`<a href="/console/batches/${batch}"><code>${batch}</code></a>`

const columnsIn = (zone: string): readonly Column<CorrectionWire>[] => [
  {
    key: 'time_corrected',
    name: `Corrected (${zone})`,
    text: one => one.after.time_received,
    show: one => instant(one.after.time_received, zone),
  },
  {
    key: 'record_start',
    name: 'Record',
    text: one => one.start_time,
    show: one => html`<a href="/console/records/${one.record_id}">${instant(one.start_time, zone, 'minute')}</a>`,
  },
  {
    key: 'before',
    name: 'Before',
    isNamed: true,
    text: one => valuesText(one.before),
    show: one => showValues(one.before),
  },
  {
    key: 'after',
    name: 'After',
    isNamed: true,
    text: one => valuesText(one.after),
    show: one => showValues(one.after),
  },
  {
    key: 'batch_before',
    isNamed: true,
    name: 'Sent first in',
    text: one => one.before.batch_id ?? '',
    show: one => batchLink(one.before),
  },
  {
    key: 'batch_after',
    isNamed: true,
    name: 'Corrected in',
    text: one => one.after.batch_id ?? '',
    show: one => batchLink(one.after),
  },
]

const correctionTable = (
  request: ConsoleRequest,
  zone: string,
  { items, hasMore }: { readonly items: readonly CorrectionWire[]; readonly hasMore: boolean },
  empty: string,
  locations: LocationNames | null = null,
): TableView => {
  const [time, record, ...values] = columnsIn(zone)
  const location = locations === null ? [] : [locationColumn<CorrectionWire>(locations, one => one.location_id)]
  return dataTable(request, {
    id: 'corrections',
    label: 'Corrections',
    items,
    hasMore,
    columns: [time, record, ...location, ...values].filter(one => one !== undefined),
    empty,
    isCompact: true,
  })
}

/** Corrections of a record, for its page. The list is short: its first page is enough. */
export const correctionsOfRecord = async (
  request: ConsoleRequest,
  recordId: string,
  zone: string,
): Promise<{ readonly content: Html; readonly tables: readonly TableView[] }> => {
  const list = await request.call(correctionList, { record_id: recordId, limit: 100 })
  if (!list.ok) return { content: errorNotice(list.fault), tables: [] }
  const page = { items: list.value.data, hasMore: list.value.has_more }
  const table = correctionTable(request, zone, page, 'This record was not corrected.')
  const more = list.value.has_more
    ? html`<p><a href="/console/corrections?record_id=${recordId}">All corrections of this record</a></p>`
    : null
  return { content: html`${table.markup}${more}`, tables: [table] }
}

const filters = [
  ['location_id', 'Location ID or reference'],
  ['device_id', 'Device ID or reference'],
  ['record_id', 'Record ID'],
  ['start_time', 'Corrected from', instantHint],
  ['end_time', 'Corrected to', instantHint],
] as const

/** List the corrections of the account, of a location, a device or a record. */
const showCorrections = async (request: ConsoleRequest): Promise<PageView> => {
  const { call, query } = request
  const names = filters.map(([name]) => name)
  const head = html`<h1>Corrections</h1>
<p class="lead">Records that were sent again with another value or confidence, newest correction first.</p>
<form class="filter" method="get" action="/console/corrections">
${filters.map(([name, label, hint]) => field(name, label, { value: query.get(name) ?? '', ...(hint === undefined ? {} : { hint }) }))}
<button class="quiet" type="submit">Show</button></form>`
  const title = 'Corrections'
  const list = await call(correctionList, listParameters(withInstants(query), names, 50))
  if (!list.ok) return { title, status: list.status, body: html`${head}${errorNotice(list.fault)}` }
  const locationId = query.get('location_id') ?? ''
  const location = locationId === '' ? null : await call(locationRetrieve, { id: locationId })
  const zone = location?.ok === true ? location.value.timezone : 'UTC'
  const empty = 'No record was corrected. To correct a record, send it again with another value.'
  const page = { items: list.value.data, hasMore: hasOlderRows(query, list.value) }
  const table = correctionTable(request, zone, page, empty, await newestLocations(request))
  return {
    title,
    tables: [table],
    body: html`${head}${table.markup}${pageLinks('/console/corrections', query, names, list.value)}`,
  }
}

export const correctionRoutes: readonly ConsoleRoute[] = [getRoute('/console/corrections', showCorrections)]
