import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type Content, type Html, html } from '../ui-kit/html.ts'
import type { ApiResult } from './api.ts'
import { type ChartPoint, chartWithTable } from './chart.ts'
import type { ConsoleRequest } from './console-request.ts'
import type { PageView } from './page-frame.ts'
import { choice, errorNotice, facts, instant, row, showResult, table } from './page-parts.ts'

type Location = {
  readonly id: string
  readonly reference_id: string | null
  readonly customer_id: string | null
  readonly timezone: string
  readonly currency_code: string
  readonly postal_address: { readonly city: string; readonly country_code: string } | null
  readonly time_created: string
}

type KindStatus = {
  readonly status: string
  readonly tariff?: {
    readonly id: string
    readonly display_name: string | null
    readonly contract_start_date: string | null
    readonly contract_end_date: string | null
  }
}
type Status = { readonly tariff_status: Readonly<Record<string, KindStatus>> }

type PriceValue = { readonly value: JsonNumber | null; readonly confidence: JsonNumber }
type Prices = {
  readonly data: readonly { readonly valid_from: string; readonly valid_to: string; readonly price: PriceValue }[]
}
type Costs = {
  readonly includes_devices?: boolean
  readonly warning?: string
  readonly data: readonly {
    readonly start_time: string
    readonly end_time: string
    readonly energy: { readonly value: JsonNumber }
    readonly tariff: { readonly cost: PriceValue }
    readonly unpriced_records?: JsonNumber
  }[]
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const directionLabels = [
  ['IMPORT', 'Bought'],
  ['EXPORT', 'Sold'],
  ['LOCAL', 'Own generation'],
] as const
const priceRanges = [
  ['48', 'Two days'],
  ['168', 'A week'],
] as const
const maxElements = 1_000

const kindLabels: Readonly<Record<string, string>> = {
  commodity_import: 'Energy bought',
  commodity_export: 'Energy sold',
  non_commodity_import: 'Grid fees',
  local: 'Own generation',
}

const chooseValue = <const T extends string>(
  options: readonly (readonly [T, string])[],
  requested: string | null,
  fallback: T,
): T => options.find(([value]) => value === requested)?.[0] ?? fallback

const statusTable = (status: ApiResult<Status>, zone: string): Content =>
  showResult(status, ({ tariff_status }) =>
    table(
      'Tariffs',
      ['What', 'State', 'Tariff', 'Contract from', 'Contract until'],
      Object.entries(kindLabels).map(([kind, name]) => {
        const { status: kindState = 'NOT_CONNECTED', tariff } = tariff_status[kind] ?? {}
        const dateOf = (at: string | null = null) => (at === null ? '' : instant(at, zone))
        return row(
          name,
          kindState.toLowerCase().replaceAll('_', ' '),
          tariff?.display_name ?? tariff?.id ?? '',
          dateOf(tariff?.contract_start_date),
          dateOf(tariff?.contract_end_date),
        )
      }),
      '',
    ),
  )

/** A week of prices by hour is enough for a picture; what is finer than that is left to the interface. */
const priceSection = (prices: ApiResult<Prices>, { timezone, currency_code }: Location): Content => {
  const unit = `${currency_code} per kWh`
  return showResult(prices, ({ data }) => {
    const points = data.slice(0, maxElements).flatMap(({ valid_from, valid_to, price }): readonly ChartPoint[] =>
      price.value === null
        ? []
        : [
            {
              from: valid_from,
              to: valid_to,
              value: numberText(price.value),
              cells: [numberText(price.value), numberText(price.confidence)],
            },
          ],
    )
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

/** The first bucket is cut by the span, so it is left out: every day that is shown is whole, but for today. */
const costSection = (costs: ApiResult<Costs>, { timezone, currency_code }: Location): Content =>
  showResult(costs, ({ data, includes_devices: includesDevices, warning }) => {
    const costBasis = includesDevices === true ? "records of the location's devices" : "the location's own records"
    const mixedNote = warning === undefined ? '' : ' The location also has records of devices; these are left out.'
    const days = data.slice(1)
    const isPriced = days.every(({ unpriced_records: unpriced }) => unpriced === undefined)
    const points = days.map(({ start_time, end_time, energy, tariff, unpriced_records: unpriced }): ChartPoint => {
      const cost = tariff.cost.value === null ? '0' : numberText(tariff.cost.value)
      const unpricedCount = unpriced === undefined ? '' : numberText(unpriced)
      return {
        from: start_time,
        to: end_time,
        value: cost,
        cells: [cost, kilowattHours(energy.value), ...(isPriced ? [] : [unpricedCount])],
      }
    })
    const hasNoEnergy = isPriced && days.every(({ energy }) => Number(numberText(energy.value)) === 0)
    const columns = [`Cost (${currency_code})`, 'kWh', ...(isPriced ? [] : ['Unpriced records'])]
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
    return html`<p class="hint">Costs come from ${costBasis}.${mixedNote}</p>${chart}`
  })

const filterForm = (path: string, direction: string, hours: string): Html =>
  html`<form class="filter" method="get" action="${path}">${choice('direction', 'Energy', directionLabels, direction)}${choice('hours', 'Prices of', priceRanges, hours)}<button type="submit">Show</button></form>`

/** Show a location: its tariffs, its prices around the present, and its costs of the last thirty days. */
export const showLocation = async ({ api, ids, path, query, at }: ConsoleRequest): Promise<PageView> => {
  const [id = ''] = ids
  const direction = chooseValue(directionLabels, query.get('direction'), 'IMPORT')
  const hours = chooseValue(priceRanges, query.get('hours'), '48')
  const priceStart = Math.floor(at / hourMs) * hourMs - 12 * hourMs
  const found = await api<Location>('GET', `/locations/${id}`)
  if (!found.ok)
    return { title: 'Location', status: found.status, body: html`<h1>Location</h1>${errorNotice(found.fault)}` }
  const locationRecord = found.value
  const priceInterval = {
    start_time: writeInstant(priceStart),
    end_time: writeInstant(priceStart + Number(hours) * hourMs),
    tariff_direction: direction,
  }
  const costInterval = { start_time: writeInstant(at - 31 * dayMs), end_time: writeInstant(at) }
  const [status, prices, costs] = await Promise.all([
    api<Status>('GET', `/locations/${id}/status`),
    api<Prices>('POST', `/prices/${id}`, priceInterval),
    api<Costs>('POST', `/costs/interval/${id}?aggregation=DAY&tariff_direction=${direction}`, costInterval),
  ])
  const address =
    locationRecord.postal_address === null
      ? 'not given'
      : `${locationRecord.postal_address.city}, ${locationRecord.postal_address.country_code}`
  return {
    title: locationRecord.reference_id ?? 'Location',
    hasCharts: true,
    body: html`<h1>${locationRecord.reference_id ?? locationRecord.id}</h1>
${facts(['Id', html`<code>${locationRecord.id}</code>`], ['Place', address], ['Zone', locationRecord.timezone], ['Currency', locationRecord.currency_code], ['Made', instant(locationRecord.time_created)])}
${filterForm(path, direction, hours)}
<section aria-labelledby="prices-title"><h2 id="prices-title">Prices</h2>${priceSection(prices, locationRecord)}</section>
<section aria-labelledby="costs-title"><h2 id="costs-title">Costs by day</h2>${costSection(costs, locationRecord)}</section>
<section aria-labelledby="tariffs-title"><h2 id="tariffs-title">Tariffs</h2>${statusTable(status, locationRecord.timezone)}</section>`,
  }
}
