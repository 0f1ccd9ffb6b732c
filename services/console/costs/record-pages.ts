import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { meterRecordList, meterRecordRetrieve } from '../../contract/metering/meter-record-read.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import { tariffRetrieve } from '../../contract/tariffs/tariff.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { energy, exactText, kilowattHours, money, percent, sumTexts, unitPrice, wholeNumber } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import { instantHint, withInstants } from '../kit/dates.ts'
import { type DeviceNames, deviceLink, newestDevices } from '../kit/device-names.ts'
import { firstRecord } from '../kit/first-requests.ts'
import { objectName } from '../kit/object-name.ts'
import { warningNotices } from '../kit/warning-notices.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, facts, field, hasOlderRows, instant, listParameters, pageLinks } from '../page-parts.ts'
import { correctionsOfRecord } from './correction-pages.ts'
import { estimatedTag, forecastTag } from './cost-view.ts'
import { priceReasons } from './price-reasons.ts'
import { unpricedReasons } from './unpriced-reasons.ts'

/** Stored record of the API. */
export type RecordWire = AnswerOf<typeof meterRecordRetrieve>

type Piece = RecordWire['pieces'][number]

/** Path of the page of a session. */
export const sessionPath = (reference: string): string => `/console/sessions?${new URLSearchParams({ reference })}`

const costOf = ({ data }: RecordWire): string =>
  data.tariff.cost.value === null ? '0' : numberText(data.tariff.cost.value)

const objectLink = (kind: 'locations' | 'devices', id: string, name?: string): Html =>
  html`<a href="/console/${kind}/${id}">${name ?? html`<code>${id}</code>`}</a>`

const isBelowOne = (confidence: JsonNumber): boolean => Number(numberText(confidence)) < 1

const statusTag = ({ status, confidence, pieces, warnings }: RecordWire): Html => {
  const doubtful = warnings === undefined ? null : html` <span class="tag warn">doubtful</span>`
  const estimated = html`${isBelowOne(confidence) ? html` ${estimatedTag}` : null}${doubtful}`
  if (status === 'UNPRICED') return html`<span class="tag bad">no price</span>${estimated}`
  const priced = pieces.some(piece => isBelowOne(piece.confidence))
    ? forecastTag
    : html`<span class="tag good">priced</span>`
  return html`${priced}${estimated}`
}

/** Columns of a list of records, with times in a zone. */
export const recordColumns = (zone: string, devices: DeviceNames): readonly Column<RecordWire>[] => [
  {
    key: 'start_time',
    name: `Start (${zone})`,
    text: one => one.data.start_time,
    show: one => html`<a href="/console/records/${one.id}">${instant(one.data.start_time, zone, 'minute')}</a>`,
  },
  {
    key: 'end_time',
    isNamed: true,
    name: 'End',
    text: one => one.data.end_time,
    show: one => instant(one.data.end_time, zone, 'minute'),
  },
  {
    key: 'energy_wh',
    name: 'Energy',
    isNumber: true,
    text: one => exactText(one.data.energy.value),
    show: one => energy(one.data.energy.value),
  },
  {
    key: 'cost',
    name: 'Cost',
    isNumber: true,
    text: costOf,
    show: one => money(one.data.tariff.cost.value, one.currency_code),
  },
  { key: 'status', name: 'Status', text: one => one.status, show: statusTag },
  {
    key: 'session_reference_id',
    name: 'Session',
    text: one => one.data.session_reference_id ?? '',
    show: ({ data: { session_reference_id: reference } }) =>
      reference === null ? '' : html`<a href="${sessionPath(reference)}">${reference}</a>`,
  },
  {
    key: 'device_id',
    name: 'Device',
    text: one => one.device_id ?? '',
    show: one => (one.device_id === null ? 'location' : deviceLink(devices, one.device_id)),
  },
]

/** Totals of a list of records, in the order of its columns. */
export const recordTotals = (records: readonly RecordWire[]): readonly Content[] => {
  const currencies = new Set(records.map(one => one.currency_code))
  const [currency] = currencies
  return [
    'Total of this page',
    '',
    energy(sumTexts(records.map(one => exactText(one.data.energy.value)))),
    currencies.size === 1 && currency !== undefined ? money(sumTexts(records.map(costOf)), currency) : '',
    '',
    '',
    '',
  ]
}

const filters = [
  ['location_id', 'Location ID or reference'],
  ['device_id', 'Device ID or reference'],
  ['session_reference_id', 'Session'],
  ['record_reference_id', 'Record reference'],
  ['batch_id', 'Batch ID'],
  ['start_time', 'From', instantHint],
  ['end_time', 'To', instantHint],
] as const

const zoneOfLocation = async ({ call }: ConsoleRequest, id: string | undefined): Promise<string> => {
  if (id === undefined) return 'UTC'
  const location = await call(locationRetrieve, { id })
  return location.ok ? location.value.timezone : 'UTC'
}

/** List the records of a location, device, session, reference or batch. */
const showRecords = async (request: ConsoleRequest): Promise<PageView> => {
  const { call, query } = request
  const names = filters.map(([name]) => name)
  const form = html`<form class="filter" method="get" action="/console/records">
${filters.map(([name, label, hint]) => field(name, label, { value: query.get(name) ?? '', ...(hint === undefined ? {} : { hint }) }))}
<button class="quiet" type="submit">Show</button></form>`
  const hasFilter = names.slice(0, 5).some(name => (query.get(name) ?? '') !== '')
  const list = hasFilter ? await call(meterRecordList, listParameters(withInstants(query), names, 50)) : null
  const head = html`<h1>Records</h1><p class="lead">Stored records with their costs, newest start first.</p>${form}`
  if (list === null)
    return {
      title: 'Records',
      body: html`${head}<div class="empty"><p>Enter a location, device, session, reference or batch. This request sends a record:</p>${curlBlock(firstRecord())}</div>`,
    }
  if (!list.ok) return { title: 'Records', status: list.status, body: html`${head}${errorNotice(list.fault)}` }
  const { data } = list.value
  const [zone, devices] = await Promise.all([zoneOfLocation(request, data[0]?.location_id), newestDevices(request)])
  const columns = recordColumns(zone, devices)
  const table = dataTable(request, {
    id: 'records',
    label: 'Records',
    columns,
    items: data,
    totals: recordTotals(data),
    empty: 'No records match. Choose a longer time, or leave a field empty.',
    hasMore: hasOlderRows(query, list.value),
    isCompact: true,
  })
  return {
    title: 'Records',
    tables: [table],
    body: html`${head}${table.markup}${pageLinks('/console/records', query, names, list.value)}`,
  }
}

const pieceColumns = (zone: string, currency: string): readonly Column<Piece>[] => [
  {
    key: 'start_time',
    name: `Start (${zone})`,
    text: one => one.start_time,
    show: one => instant(one.start_time, zone),
  },
  { key: 'end_time', name: 'End', text: one => one.end_time, show: one => instant(one.end_time, zone) },
  {
    key: 'energy_wh',
    name: 'Energy',
    isNumber: true,
    text: one => exactText(one.energy),
    show: one => energy(one.energy),
  },
  {
    key: 'price',
    name: 'Price',
    isNumber: true,
    text: one => exactText(one.price),
    show: one => unitPrice(one.price, currency),
  },
  {
    key: 'tier_kwh',
    name: 'Tier',
    isNumber: true,
    text: one => exactText(one.tier),
    show: one => (exactText(one.tier) === '0' ? 'first' : `from ${wholeNumber(one.tier)} kWh`),
  },
  {
    key: 'cost',
    name: 'Cost',
    isNumber: true,
    text: one => exactText(one.cost),
    show: one => money(one.cost, currency),
  },
]

/** Write the calculation of a record in figures: each piece is energy × price. */
const calculation = ({ pieces, currency_code: currency, data }: RecordWire): Html =>
  html`<pre class="block" tabindex="0" role="group" aria-label="Calculation">${pieces
    .map(
      ({ energy: watthours, price, cost }) =>
        `${kilowattHours(watthours)} kWh × ${exactText(price)} ${currency}/kWh = ${exactText(cost)} ${currency}`,
    )
    .join('\n')}${
    pieces.length > 1 && data.tariff.cost.value !== null
      ? `\nSum of ${pieces.length} pieces = ${numberText(data.tariff.cost.value)} ${currency}`
      : ''
  }</pre>`

const submittedNote = (record: RecordWire): Content =>
  exactText(record.energy_submitted) === exactText(record.data.energy.value)
    ? null
    : html`<p>${energy(record.energy_submitted)} were submitted as an estimate. Actual records of the same time replaced a part,
so ${energy(record.data.energy.value)} count.</p>`

/** Own references of the location and the device of a record. */
type Names = { readonly location: string; readonly device: string }

const recordFacts = (record: RecordWire, zone: string, names: Names): Html =>
  facts(
    ['ID', html`<code>${record.id}</code>`],
    ['Location', objectLink('locations', record.location_id, names.location)],
    ['Device', record.device_id === null ? '–' : objectLink('devices', record.device_id, names.device)],
    [
      'Time',
      html`${instant(record.data.start_time, zone, 'minute')} to ${instant(record.data.end_time, zone, 'minute')} (${zone})`,
    ],
    ['Energy', energy(record.data.energy.value)],
    ['Cost', html`<strong>${money(record.data.tariff.cost.value, record.currency_code)}</strong>`],
    ['Status', statusTag(record)],
    ['Confidence of the cost', percent(record.data.tariff.cost.confidence)],
    ['Direction', `${record.energy_flow_direction.toLowerCase()}, ${record.tariff_direction.toLowerCase()} tariff`],
    ['Own reference', record.data.record_reference_id ?? '–'],
    [
      'Session',
      record.data.session_reference_id === null
        ? '–'
        : html`<a href="${sessionPath(record.data.session_reference_id)}">${record.data.session_reference_id}</a>`,
    ],
    [
      'Batch',
      record.batch_id === null
        ? '–'
        : html`<a href="/console/batches/${record.batch_id}"><code>${record.batch_id}</code></a>`,
    ],
    ['Received', instant(record.time_created)],
    ['Revision of the pricing', String(record.pricing_revision)],
    ['Revision of the market price', record.price_revision === null ? '–' : String(record.price_revision)],
  )

/** Show a record: its pieces, its calculation, and the reasons for its prices. */
const showRecord = async (request: ConsoleRequest): Promise<PageView> => {
  const { call, ids } = request
  const found = await call(meterRecordRetrieve, { id: ids[0] })
  if (!found.ok)
    return { title: 'Record', status: found.status, body: html`<h1>Record</h1>${errorNotice(found.fault)}` }
  const record = found.value
  const [zone, location, device, tariffs] = await Promise.all([
    zoneOfLocation(request, record.location_id),
    objectName(request, record.location_id),
    record.device_id === null ? '' : objectName(request, record.device_id),
    Promise.all(record.tariff_ids.slice(0, 4).map(id => call(tariffRetrieve, { id }))),
  ])
  const known = tariffs.flatMap(one => (one.ok ? [one.value] : []))
  const corrections = await correctionsOfRecord(request, record.id, zone)
  const reasons = record.status === 'PRICED' ? await priceReasons(request, record, zone, known) : null
  const pieces = dataTable(request, {
    id: 'pieces',
    label: 'Pieces',
    columns: pieceColumns(zone, record.currency_code),
    items: record.pieces,
    empty: 'No pieces: the record has no price.',
    isSortable: false,
  })
  return {
    title: 'Record',
    tables: [pieces, ...(reasons === null ? [] : [reasons.table]), ...corrections.tables],
    body: html`<h1>Record of ${instant(record.data.start_time, zone, 'minute')}</h1>
${recordFacts(record, zone, { location, device })}${warningNotices(record.warnings, zone)}${record.status === 'UNPRICED' ? await unpricedReasons(request, record, zone) : null}
<section aria-labelledby="why"><h2 id="why">Calculation of this amount</h2>${submittedNote(record)}
${
  record.pieces.length === 0
    ? null
    : html`<p>The record is cut where its price changes. The cost of each piece is its energy times its price, rounded half to even to
9 decimals.</p>${calculation(record)}`
}
<h3>Pieces</h3>${pieces.markup}${reasons?.content}</section>
<section aria-labelledby="corrected"><h2 id="corrected">Corrections</h2>${corrections.content}</section>`,
  }
}

export const recordRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/records', showRecords),
  getRoute('/console/records/:record', showRecord),
]
