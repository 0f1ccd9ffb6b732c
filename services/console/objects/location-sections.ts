import { intervalCost } from '../../contract/costs/energy-cost.ts'
import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { priceRetrieve } from '../../contract/prices/price.ts'
import type { LocationWire } from '../../contract/registry/location.ts'
import { type LocationStatusWire, locationStatusRetrieve } from '../../contract/registry/location-status.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs } from '../../domain/interval.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ApiResult } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { money } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { choice, instant, showResult } from '../page-parts.ts'
import type { Sections } from './object-kind.ts'

type Prices = AnswerOf<typeof priceRetrieve>
type Costs = AnswerOf<typeof intervalCost>

const dayMs = 24 * hourMs
const directionLabels = [
  ['IMPORT', 'Import'],
  ['EXPORT', 'Export'],
  ['LOCAL', 'Local generation'],
] as const
const priceRanges = [
  ['48', '2 days'],
  ['168', '7 days'],
] as const
const maxElements = 1_000

const kindLabels = [
  ['commodity_import', 'Energy import'],
  ['commodity_export', 'Energy export'],
  ['non_commodity_import', 'Grid fees'],
  ['local', 'Local generation'],
] as const

const chooseValue = <const T extends string>(
  options: readonly (readonly [T, string])[],
  requested: string | null,
  fallback: T,
): T => options.find(([value]) => value === requested)?.[0] ?? fallback

/** Value over [from, to); `cells` are the cells of its table row. */
type ChartPoint = {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly cells: readonly Content[]
}

type Chart = {
  readonly id: string
  /** A step line, or one bar per interval. */
  readonly kind: 'steps' | 'bars'
  readonly label: string
  readonly unit: string
  readonly timezone: string
  readonly columns: readonly string[]
  readonly points: readonly ChartPoint[]
}

const seconds = (iso: string): number => Date.parse(iso) / 1_000

const pointRow = ({ from, to, value, cells }: ChartPoint, { timezone, kind }: Chart): Html =>
  html`<tr data-from="${seconds(from)}" data-to="${seconds(to)}" data-value="${value}">
<th scope="row">${instant(from, timezone, kind === 'bars' ? 'day' : 'minute')}</th>
${cells.map(cell => html`<td class="number">${cell}</td>`)}</tr>`

/**
 * Create a chart and a table with the exact values. The script draws the chart from the table.
 * Screen readers use the table.
 */
const chartWithTable = (chart: Chart): Html => {
  const { id, kind, label, unit, timezone, columns, points } = chart
  if (points.length === 0) return html`<p class="empty">No data in this period. Send records or add a tariff.</p>`
  const valueNames = columns.map(name => html`<th scope="col" class="number">${name}</th>`)
  return html`<div class="charted">
<figure class="chart" data-of="${id}" data-kind="${kind}" data-unit="${unit}" data-zone="${timezone}" role="img"
aria-label="${label}. The table next to the chart has the values."></figure>
<div class="scroll tall" role="group" tabindex="0" aria-label="${label}"><table id="${id}">
<thead><tr><th scope="col">${kind === 'bars' ? 'Day' : 'From'} (${timezone})</th>${valueNames}</tr></thead>
<tbody>${points.map(point => pointRow(point, chart))}</tbody></table></div></div>`
}

const statusTable = (
  request: ConsoleRequest,
  { tariff_status: kinds }: LocationStatusWire,
  zone: string,
): TableView => {
  const items = kindLabels.map(([kind, name]) => ({ name, ...kinds[kind] }))
  type Item = (typeof items)[number]
  const dateOf = (at: string | null = null): Content => (at === null ? '' : instant(at, zone, 'minute'))
  const columns: readonly Column<Item>[] = [
    { key: 'type', name: 'Type', text: ({ name }) => name },
    { key: 'status', name: 'Status', text: ({ status }) => status.toLowerCase().replaceAll('_', ' ') },
    {
      key: 'tariff_id',
      name: 'Tariff',
      text: ({ tariff }) => tariff?.id ?? '',
      show: ({ tariff }) =>
        tariff == null ? '' : html`<a href="/console/tariffs/${tariff.id}">${tariff.display_name ?? tariff.id}</a>`,
    },
    {
      key: 'contract_start_date',
      name: 'Contract start',
      isNamed: true,
      text: ({ tariff }) => tariff?.contract_start_date ?? '',
      show: ({ tariff }) => dateOf(tariff?.contract_start_date),
    },
    {
      key: 'contract_end_date',
      name: 'Contract end',
      isNamed: true,
      text: ({ tariff }) => tariff?.contract_end_date ?? '',
      show: ({ tariff }) => dateOf(tariff?.contract_end_date),
    },
  ]
  return dataTable(request, {
    id: 'tariffs',
    label: 'Tariffs',
    columns,
    items,
    empty: '',
    isCompact: true,
    isSortable: false,
  })
}

/** Show prices as a chart: at most 1,000 prices. */
const priceSection = (prices: ApiResult<Prices>, { timezone, currency_code }: LocationWire): Content => {
  const unit = `${currency_code} per kWh`
  return showResult(prices, ({ data }) => {
    const points = data.slice(0, maxElements).flatMap(({ valid_from, valid_to, price }): readonly ChartPoint[] => {
      if (price === undefined) return []
      const value = numberText(price.value)
      return [{ from: valid_from, to: valid_to, value, cells: [value, numberText(price.confidence)] }]
    })
    return chartWithTable({
      id: 'prices',
      kind: 'steps',
      label: `Price in ${unit}`,
      unit,
      timezone,
      columns: ['Price', 'Confidence'],
      points,
    })
  })
}

const kilowattHours = (wattHours: JsonNumber): string =>
  (Number(numberText(wattHours)) / 1_000).toLocaleString('en', { maximumFractionDigits: 3 })

/** Show costs by day. The first bucket is incomplete and therefore omitted. */
const costSection = (costs: ApiResult<Costs>, { timezone, currency_code }: LocationWire): Content =>
  showResult(costs, ({ data, includes_devices: includesDevices, warning }) => {
    const costBasis = includesDevices === true ? "the location's devices" : 'the location itself'
    const mixedNote = warning === undefined ? '' : ' Records of its devices are not included.'
    const days = data.slice(1)
    const isPriced = days.every(({ unpriced_records: unpriced }) => unpriced === undefined)
    const points = days.map(({ start_time, end_time, energy, tariff, unpriced_records: unpriced }): ChartPoint => {
      const cost = numberText(tariff?.cost.value ?? 0)
      const unpricedCount = unpriced === undefined ? '' : numberText(unpriced)
      return {
        from: start_time,
        to: end_time,
        value: cost,
        cells: [money(cost, currency_code), kilowattHours(energy.value), ...(isPriced ? [] : [unpricedCount])],
      }
    })
    const hasNoEnergy = isPriced && days.every(({ energy }) => Number(numberText(energy.value)) === 0)
    const columns = ['Cost', 'kWh', ...(isPriced ? [] : ['Unpriced records'])]
    const label = `Cost by day in ${currency_code}`
    const chart = chartWithTable({
      id: 'costs',
      kind: 'bars',
      label,
      unit: currency_code,
      timezone,
      columns,
      points: hasNoEnergy ? [] : points,
    })
    return html`<p class="hint">Costs of the records of ${costBasis}.${mixedNote}</p>${chart}`
  })

const filterForm = (path: string, direction: string, hours: string): Html =>
  html`<form class="filter" method="get" action="${path}">
${choice('direction', 'Direction', directionLabels, direction)}
${choice('hours', 'Price period', priceRanges, hours)}
<button class="quiet" type="submit">Apply</button></form>`

/** Show current prices of a location, its costs of the last 30 days, and the status of its tariffs. */
export const locationSections = async (request: ConsoleRequest, location: LocationWire): Promise<Sections> => {
  const { call, path, query, at } = request
  const { id, timezone } = location
  const direction = chooseValue(directionLabels, query.get('direction'), 'IMPORT')
  const hours = chooseValue(priceRanges, query.get('hours'), '48')
  const priceStart = Math.floor(at / hourMs) * hourMs - 12 * hourMs
  const priceInterval = {
    start_time: writeInstant(priceStart),
    end_time: writeInstant(priceStart + Number(hours) * hourMs),
    tariff_direction: direction,
  }
  const costInterval = { start_time: writeInstant(at - 31 * dayMs), end_time: writeInstant(at) }
  const [status, prices, costs] = await Promise.all([
    call(locationStatusRetrieve, { id }),
    call(priceRetrieve, { id }, priceInterval),
    call(intervalCost, { id, aggregation: 'DAY', tariff_direction: direction }, costInterval),
  ])
  const tariffs = status.ok ? statusTable(request, status.value, timezone) : null
  return {
    hasCharts: true,
    tables: tariffs === null ? [] : [tariffs],
    content: html`${filterForm(path, direction, hours)}
<section aria-labelledby="prices-title"><h2 id="prices-title">Prices</h2>
${priceSection(prices, location)}</section>
<section aria-labelledby="costs-title"><h2 id="costs-title">Costs by day</h2>
${costSection(costs, location)}</section>
<section aria-labelledby="tariffs-title"><h2 id="tariffs-title">Tariffs</h2>
${showResult(status, () => tariffs?.markup)}
<p class="below"><a href="/console/tariffs?location_id=${id}">All tariffs of this location</a></p></section>`,
  }
}
