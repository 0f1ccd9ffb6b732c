import { type JsonNumber, numberText } from '../../contract/exact-number.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type Content, type Html, html } from '../reference/html.ts'
import type { Answered } from './api.ts'
import { chartWithTable, type Point } from './chart.ts'
import type { View } from './frame.ts'
import { choice, facts, faultNotice, instant, row, shown, table } from './parts.ts'
import type { Visit } from './visit.ts'

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

type Valued = { readonly value: JsonNumber | null; readonly confidence: JsonNumber }
type Prices = { readonly data: readonly { readonly valid_from: string; readonly valid_to: string; readonly price: Valued }[] }
type Costs = {
  readonly includes_devices?: boolean
  readonly warning?: string
  readonly data: readonly {
    readonly start_time: string
    readonly end_time: string
    readonly energy: { readonly value: JsonNumber }
    readonly tariff: { readonly cost: Valued }
    readonly unpriced_records?: JsonNumber
  }[]
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const directions = [
  ['IMPORT', 'Bought'],
  ['EXPORT', 'Sold'],
  ['LOCAL', 'Own generation'],
] as const
const spans = [
  ['48', 'Two days'],
  ['168', 'A week'],
] as const
const mostElements = 1_000

const kinds: Readonly<Record<string, string>> = {
  commodity_import: 'Energy bought',
  commodity_export: 'Energy sold',
  non_commodity_import: 'Grid fees',
  local: 'Own generation',
}

const chosen = <const T extends string>(among: readonly (readonly [T, string])[], given: string | null, otherwise: T): T =>
  among.find(([value]) => value === given)?.[0] ?? otherwise

const statusTable = (status: Answered<Status>, zone: string): Content =>
  shown(status, ({ tariff_status }) =>
    table(
      'Tariffs',
      ['What', 'State', 'Tariff', 'Contract from', 'Contract until'],
      Object.entries(kinds).map(([kind, name]) => {
        const { status: state = 'NOT_CONNECTED', tariff } = tariff_status[kind] ?? {}
        const dateOf = (at: string | null = null) => (at === null ? '' : instant(at, zone))
        return row(
          name,
          state.toLowerCase().replaceAll('_', ' '),
          tariff?.display_name ?? tariff?.id ?? '',
          dateOf(tariff?.contract_start_date),
          dateOf(tariff?.contract_end_date),
        )
      }),
      '',
    ),
  )

/** A week of prices by hour is enough for a picture; what is finer than that is left to the interface. */
const priceSection = (prices: Answered<Prices>, { timezone, currency_code }: Location): Content => {
  const unit = `${currency_code} per kWh`
  return shown(prices, ({ data }) => {
    const points = data.slice(0, mostElements).flatMap(({ valid_from, valid_to, price }): readonly Point[] =>
      price.value === null
        ? []
        : [
            {
              from: valid_from,
              to: valid_to,
              value: numberText(price.value),
              shown: [numberText(price.value), numberText(price.confidence)],
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
const costSection = (costs: Answered<Costs>, { timezone, currency_code }: Location): Content =>
  shown(costs, ({ data, includes_devices: includesDevices, warning }) => {
    const basis = includesDevices === true ? "records of the location's devices" : "the location's own records"
    const mixed = warning === undefined ? '' : ' The location also has records of devices; these are left out.'
    const days = data.slice(1)
    const isPriced = days.every(({ unpriced_records: unpriced }) => unpriced === undefined)
    const points = days.map(({ start_time, end_time, energy, tariff, unpriced_records: unpriced }): Point => {
      const cost = tariff.cost.value === null ? '0' : numberText(tariff.cost.value)
      const remark = unpriced === undefined ? '' : numberText(unpriced)
      return { from: start_time, to: end_time, value: cost, shown: [cost, kilowattHours(energy.value), ...(isPriced ? [] : [remark])] }
    })
    const isQuiet = isPriced && days.every(({ energy }) => Number(numberText(energy.value)) === 0)
    const columns = [`Cost (${currency_code})`, 'kWh', ...(isPriced ? [] : ['Unpriced records'])]
    const label = `Cost by day in ${currency_code}`
    const chart = chartWithTable({
      id: 'costs',
      kind: 'bars',
      label,
      unit: currency_code,
      timezone,
      columns,
      points: isQuiet ? [] : points,
    })
    return html`<p class="hint">Costs come from ${basis}.${mixed}</p>${chart}`
  })

const chooser = (path: string, direction: string, hours: string): Html =>
  html`<form class="filter" method="get" action="${path}">${choice('direction', 'Energy', directions, direction)}${choice('hours', 'Prices of', spans, hours)}<button type="submit">Show</button></form>`

/** Show a location: its tariffs, its prices around the present, and its costs of the last thirty days. */
export const location = async ({ api, ids, path, query, at }: Visit): Promise<View> => {
  const [id = ''] = ids
  const direction = chosen(directions, query.get('direction'), 'IMPORT')
  const hours = chosen(spans, query.get('hours'), '48')
  const begin = Math.floor(at / hourMs) * hourMs - 12 * hourMs
  const found = await api<Location>('GET', `/locations/${id}`)
  if (!found.ok) return { title: 'Location', status: found.status, body: html`<h1>Location</h1>${faultNotice(found.fault)}` }
  const one = found.value
  const span = { start_time: writeInstant(begin), end_time: writeInstant(begin + Number(hours) * hourMs), tariff_direction: direction }
  const month = { start_time: writeInstant(at - 31 * dayMs), end_time: writeInstant(at) }
  const [status, prices, costs] = await Promise.all([
    api<Status>('GET', `/locations/${id}/status`),
    api<Prices>('POST', `/prices/${id}`, span),
    api<Costs>('POST', `/costs/interval/${id}?aggregation=DAY&tariff_direction=${direction}`, month),
  ])
  const address = one.postal_address === null ? 'not given' : `${one.postal_address.city}, ${one.postal_address.country_code}`
  return {
    title: one.reference_id ?? 'Location',
    charts: true,
    body: html`<h1>${one.reference_id ?? one.id}</h1>
${facts(['Id', html`<code>${one.id}</code>`], ['Place', address], ['Zone', one.timezone], ['Currency', one.currency_code], ['Made', instant(one.time_created)])}
${chooser(path, direction, hours)}
<section aria-labelledby="prices-title"><h2 id="prices-title">Prices</h2>${priceSection(prices, one)}</section>
<section aria-labelledby="costs-title"><h2 id="costs-title">Costs by day</h2>${costSection(costs, one)}</section>
<section aria-labelledby="tariffs-title"><h2 id="tariffs-title">Tariffs</h2>${statusTable(status, one.timezone)}</section>`,
  }
}
