import { type JsonNumber, numberText } from '../../../contract/json/exact-number.ts'
import type { AccountOverviewWire } from '../../../contract/registry/account-overview.ts'
import { writeDate } from '../../../domain/civil-date.ts'
import { startOfDayNumber } from '../../../domain/civil-time.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { ApiResult, Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { energy, exactText, kilowattHours, money, sumTexts, wholeNumber } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Bar, barChart } from '../kit/bar-chart.ts'
import { type Column, dataTable, withParameters } from '../kit/data-table.ts'
import {
  type DayRange,
  dayOf,
  instantsOf,
  rangeFields,
  rangeLinks,
  rangeParameters,
  readRange,
  zoneOf,
} from '../kit/dates.ts'
import { firstRecord } from '../kit/first-requests.ts'
import { objectName } from '../kit/object-name.ts'
import type { PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field, instant } from '../page-parts.ts'

/** Element of a cost of the API. */
type CostElement = {
  readonly start_time: string
  readonly end_time: string
  readonly records: JsonNumber
  readonly energy: { readonly value: JsonNumber }
  readonly tariff: { readonly cost: { readonly value: JsonNumber | null; readonly confidence: JsonNumber } }
  readonly unpriced_records?: JsonNumber
  readonly unpriced_energy?: { readonly value: JsonNumber }
}

/** Cost of the API. */
export type CostWire = {
  readonly object_id: string
  readonly location_timezone: string
  readonly currency_code: string
  readonly includes_devices?: boolean
  readonly warning?: string
  readonly data: readonly CostElement[]
}

const directions = [
  ['IMPORT', 'Import'],
  ['EXPORT', 'Export'],
  ['LOCAL', 'Local generation'],
] as const

const units = [
  ['DAY', 'Day'],
  ['MONTH', 'Month'],
  ['HOUR', 'Hour'],
] as const

type Unit = (typeof units)[number][0]

/** Longest ranges in days that a page shows by hour and by day. */
const maxDaysBy = { HOUR: 3, DAY: 62 } as const

const unitOf = (query: URLSearchParams, { start, end }: DayRange): Unit => {
  const requested = units.find(([unit]) => unit === query.get('by'))?.[0]
  const days = end - start
  if (requested === 'HOUR' && days <= maxDaysBy.HOUR) return 'HOUR'
  if (requested === 'MONTH' || days > maxDaysBy.DAY) return 'MONTH'
  return requested === undefined && days === 1 ? 'HOUR' : 'DAY'
}

const costText = ({ tariff }: CostElement): string => (tariff.cost.value === null ? '0' : numberText(tariff.cost.value))

/** Path of the records of an object that start in a period. */
const recordsPath = (objectId: string, { start_time, end_time }: CostElement): string | null => {
  const name = { loc_: 'location_id', dev_: 'device_id' }[objectId.slice(0, 4)]
  return name === undefined
    ? null
    : `/console/records?${new URLSearchParams({ [name]: objectId, start_time, end_time })}`
}

/** Page that an element leads to: the days of a month, or the records of a day or an hour. */
const elementPath = (request: ConsoleRequest, cost: CostWire, element: CostElement, unit: Unit): string | null => {
  const zone = zoneOf(cost.location_timezone)
  const [start, end] = [dayOf(zone, Date.parse(element.start_time)), dayOf(zone, Date.parse(element.end_time) - 1) + 1]
  const isWholeDay = unit === 'DAY' && recordsPath(cost.object_id, element) === null
  if (unit === 'MONTH') return withParameters(request, { ...rangeParameters(start, end), by: 'DAY' })
  if (isWholeDay) return withParameters(request, { ...rangeParameters(start, end), by: 'HOUR' })
  return recordsPath(cost.object_id, element)
}

const labelOptions = {
  HOUR: { hour: '2-digit', minute: '2-digit' },
  DAY: { day: 'numeric', month: 'short' },
  MONTH: { month: 'short', year: 'numeric' },
} as const

/** Return the function that labels the elements of a cost. It takes some 0.1 ms to create a format. */
const labelsOf = (zone: string, unit: Unit): ((element: CostElement) => string) => {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...labelOptions[unit] })
  return ({ start_time }) => format.format(Date.parse(start_time))
}

const wattHours = (value: JsonNumber | undefined): number => Number(exactText(value ?? 0))

/** Return whether no record of an element has a price. */
const hasNoPrice = ({ records, unpriced_records: unpriced }: CostElement): boolean =>
  unpriced !== undefined && exactText(unpriced) === exactText(records)

/** The confidence has four decimals. */
const confidenceTolerance = 0.0001

/**
 * Return whether prices of an element are a forecast. Its confidence also counts energy without a price, with
 * confidence 0.
 */
const hasForecast = (element: CostElement): boolean => {
  const { tariff, records, energy: priced, unpriced_energy: unpriced } = element
  if (numberText(records) === '0' || tariff.cost.value === null || hasNoPrice(element)) return false
  const confidence = Number(numberText(tariff.cost.confidence))
  if (unpriced === undefined) return confidence < 1
  const pricedShare = wattHours(priced.value) / (wattHours(priced.value) + wattHours(unpriced.value))
  return confidence < pricedShare - confidenceTolerance
}

const chartOf = (request: ConsoleRequest, cost: CostWire, unit: Unit, range: DayRange): Html => {
  const labelOf = labelsOf(cost.location_timezone, unit)
  const bars = cost.data.map(
    (element): Bar => ({
      label: labelOf(element),
      value: Number(costText(element)),
      title: `${labelOf(element)}: ${costText(element)} ${cost.currency_code}, ${kilowattHours(element.energy.value)} kWh`,
      href: elementPath(request, cost, element, unit),
      isForecast: hasForecast(element),
    }),
  )
  const [from, to] = [startOfDayNumber(range.zone, range.start), startOfDayNumber(range.zone, range.end)]
  const now = request.at > from && request.at < to ? (request.at - from) / (to - from) : null
  return barChart({ label: 'Cost', unit: cost.currency_code, bars, now })
}

const columnsOf = (request: ConsoleRequest, cost: CostWire, unit: Unit): readonly Column<CostElement>[] => {
  const { currency_code: currency, location_timezone: zone, data } = cost
  const isUnpriced = data.some(one => one.unpriced_records !== undefined)
  const precision = unit === 'HOUR' ? 'minute' : 'day'
  const labelOf = labelsOf(zone, unit)
  return [
    {
      key: 'start_time',
      name: `${units.find(([one]) => one === unit)?.[1]} (${zone})`,
      text: one => one.start_time,
      show: one => {
        const path = elementPath(request, cost, one, unit)
        const text = unit === 'MONTH' ? labelOf(one) : instant(one.start_time, zone, precision)
        return path === null ? text : html`<a href="${path}">${text}</a>`
      },
    },
    {
      key: 'energy_wh',
      name: 'Energy',
      isNumber: true,
      text: one => exactText(one.energy.value),
      show: one => energy(one.energy.value),
    },
    {
      key: 'cost',
      name: 'Cost',
      isNumber: true,
      text: costText,
      show: one =>
        hasNoPrice(one)
          ? html`<span class="none">no price</span>`
          : html`${money(costText(one), currency)}${hasForecast(one) ? html` <span class="tag warn">forecast</span>` : null}`,
    },
    {
      key: 'records',
      name: 'Records',
      isNumber: true,
      text: one => exactText(one.records),
      show: one => wholeNumber(one.records),
    },
    ...(isUnpriced
      ? [
          {
            key: 'unpriced_energy_wh',
            name: 'Without a price',
            isNumber: true,
            text: (one: CostElement) => exactText(one.unpriced_energy?.value ?? 0),
            show: (one: CostElement) => (one.unpriced_energy === undefined ? '' : energy(one.unpriced_energy.value)),
          },
        ]
      : []),
  ]
}

const totalsOf = ({ data, currency_code: currency }: CostWire): readonly Content[] => [
  'Total',
  energy(sumTexts(data.map(one => exactText(one.energy.value)))),
  money(sumTexts(data.map(costText)), currency),
  wholeNumber(sumTexts(data.map(one => exactText(one.records)))),
  energy(sumTexts(data.map(one => exactText(one.unpriced_energy?.value ?? 0)))),
]

/** Second before the earliest record: the engine reads no rows. */
const emptySecond = { start_time: '1999-12-31T00:00:00Z', end_time: '1999-12-31T00:00:01Z' }

/** Time zones of objects by the last answers. They are guesses: each answer says its zone. */
const lastZones = new Map<string, string>()
const maxLastZones = 1_000
/** Maximum number of requests for a cost, if its zone changes between them. */
const maxAsks = 3

/** Cost of the requested days. The days are those of the zone of the answer. */
type RangeCost = { readonly cost: CostWire; readonly range: DayRange; readonly unit: Unit }

/**
 * Read the costs of the requested days. The zone decides when days start. If no answer was read before, a request
 * without records asks for the zone.
 */
const readCosts = async (
  request: ConsoleRequest,
  id: string,
  parameters: URLSearchParams,
): Promise<ApiResult<RangeCost>> => {
  const { api, query, session } = request
  const subject = [session.accountId, session.liveMode, id, parameters].join(' ')
  const ask = (more: string, body: object) => api<CostWire>('POST', `/costs/interval/${id}?${more}${parameters}`, body)
  let zone = lastZones.get(subject)
  if (zone === undefined) {
    const found = await ask('', emptySecond)
    if (!found.ok) return found
    zone = found.value.location_timezone
  }
  for (let asks = 1; ; asks += 1) {
    const range = readRange(request, zoneOf(zone))
    const unit = unitOf(query, range)
    const result = await ask(`aggregation=${unit}&`, instantsOf(range))
    if (!result.ok) return result
    const cost = result.value
    lastZones.delete(subject)
    lastZones.set(subject, cost.location_timezone)
    for (const oldest of lastZones.keys()) {
      if (lastZones.size <= maxLastZones) break
      lastZones.delete(oldest)
    }
    if (cost.location_timezone === zone || asks === maxAsks) return { ok: true, value: { cost, range, unit } }
    zone = cost.location_timezone
  }
}

const filterForm = (request: ConsoleRequest, id: string, range: DayRange | null, unit: Unit): Html =>
  html`<form class="filter" method="get" action="/console/costs">
${field('object', 'Location, device, customer or account', { value: id })}
${range === null ? null : rangeFields(range)}
${choice('by', 'By', units, unit)}
${choice('direction', 'Direction', directions, request.query.get('direction') ?? 'IMPORT')}
${field('currency', 'Currency', { value: request.query.get('currency') ?? '', hint: 'If there are several' })}
<button class="quiet" type="submit">Show</button></form>`

const refusedPage = (request: ConsoleRequest, id: string, status: number, fault: Fault): PageView => ({
  title: 'Costs',
  status,
  body: html`<h1>Costs</h1>${filterForm(request, id, null, 'DAY')}${errorNotice(fault)}`,
})

/** Show a link for each currency of the account, for objects with costs in several currencies. */
const currencyPage = async (request: ConsoleRequest, id: string): Promise<PageView> => {
  const overview = await request.api<AccountOverviewWire>('GET', '/account/overview')
  if (!overview.ok) return refusedPage(request, id, overview.status, overview.fault)
  const links = overview.value.currency_codes.map(
    currency => html`<a href="${withParameters(request, { currency })}">${currency}</a>`,
  )
  return {
    title: 'Costs',
    body: html`<h1>Costs</h1><p class="lead">There are costs in several currencies. Choose one.</p>
<nav class="presets" aria-label="Currencies">${links}</nav>`,
  }
}

const noteOf = ({ includes_devices: includesDevices, warning }: CostWire): Content => {
  if (includesDevices === undefined) return null
  const basis = includesDevices ? "the location's devices" : 'the location itself'
  const mixed = warning === undefined ? '' : ' Records of its devices are not included.'
  return html`<p class="hint">Costs of the records of ${basis}.${mixed}</p>`
}

/** Show the costs of an object by hour, day or month. */
const showCosts = async (request: ConsoleRequest): Promise<PageView> => {
  const { query, session } = request
  const requested = query.get('object')?.trim() ?? ''
  const id = requested === '' ? session.accountId : requested
  const parameters = new URLSearchParams({ tariff_direction: query.get('direction') ?? 'IMPORT' })
  for (const [name, value] of [
    ['currency_code', query.get('currency')],
    ['location_id', query.get('location')],
  ] as const)
    if (value) parameters.set(name, value)
  const path = encodeURIComponent(id)
  const [found, name] = await Promise.all([
    readCosts(request, path, parameters),
    requested === '' ? 'the account' : objectName(request, id),
  ])
  if (!found.ok && found.fault.code === 'currency_ambiguous' && !query.get('currency')) return currencyPage(request, id)
  if (!found.ok) return refusedPage(request, id, found.status, found.fault)
  const { cost, range, unit } = found.value
  const isEmpty = cost.data.every(({ records }) => numberText(records) === '0')
  const table = dataTable(request, {
    ...{
      id: 'costs',
      label: 'Costs',
      columns: columnsOf(request, cost, unit),
      items: cost.data,
      totals: totalsOf(cost),
    },
    empty: 'No costs in this period.',
    isCompact: true,
  })
  const total = sumTexts(cost.data.map(costText))
  const totalEnergy = sumTexts(cost.data.map(one => exactText(one.energy.value)))
  return {
    title: 'Costs',
    tables: [table],
    body: html`<h1>Costs of ${name}</h1>
${rangeLinks(request, range)}${filterForm(request, id, range, unit)}
${facts(
  ['Period', `${writeDate(range.start)} to ${writeDate(range.end - 1)} (${cost.location_timezone})`],
  ['Energy', html`<strong>${energy(totalEnergy)}</strong>`],
  ['Cost', html`<strong>${money(total, cost.currency_code)}</strong>`],
)}
${noteOf(cost)}${
  isEmpty
    ? html`<div class="empty"><p>No records in this period. Choose another period, or send records:</p>${curlBlock(firstRecord(/^loc_/.test(id) ? { location_id: id } : {}))}</div>`
    : html`${chartOf(request, cost, unit, range)}${table.markup}`
}`,
  }
}

export const costRoutes: readonly ConsoleRoute[] = [getRoute('/console/costs', showCosts)]
