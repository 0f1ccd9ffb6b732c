import { callRequest } from '../../contract/call.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { priceRetrieve } from '../../contract/prices/price.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import { tariffCreate } from '../../contract/tariffs/tariff.ts'
import { parseDate, writeDate } from '../../domain/civil-date.ts'
import { startOfDayNumber } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { hourMs, type Interval } from '../../domain/interval.ts'
import { asMarkup, type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { exactText, percent, unitPrice } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { type Column, dataTable, type TableView, withParameters } from '../kit/data-table.ts'
import { type DayRange, dayOf, instantsOf, rangeParameters, zoneOf } from '../kit/dates.ts'
import { firstPrices } from '../kit/first-requests.ts'
import { type LocationNames, locationField, newestLocations } from '../kit/location-names.ts'
import { stepChart } from '../kit/step-chart.ts'
import { tariffKind } from '../objects/tariff-kind.ts'
import type { PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, instant } from '../page-parts.ts'

/** Price of an interval: times in ms, the exact price, and its confidence from 0 to 1. */
export type IntervalPrice = Interval & { readonly price: string; readonly confidence: number }

/** Prices of the API. */
export type PricesWire = AnswerOf<typeof priceRetrieve>

const directions = [
  ['IMPORT', 'Import'],
  ['EXPORT', 'Export'],
  ['LOCAL', 'Local generation'],
] as const

const maxDays = 90
/** Longer lists are a table of days. */
const maxIntervals = 120

/** Return the prices of an answer, in its order. Intervals without a price are left out. */
export const intervalPrices = ({ data }: PricesWire): readonly IntervalPrice[] =>
  data.flatMap(({ valid_from, valid_to, price }) =>
    price === undefined
      ? []
      : [
          {
            start: Date.parse(valid_from),
            end: Date.parse(valid_to),
            price: exactText(price.value),
            confidence: Number(exactText(price.confidence)),
          },
        ],
  )

/** Return a function that checks if a location has a price at an instant. */
const priceTest =
  ({ call }: ConsoleRequest, id: string, direction: string) =>
  async (at: number): Promise<boolean> => {
    const body = { start_time: writeInstant(at), end_time: writeInstant(at + 1_000), tariff_direction: direction }
    return (await call(priceRetrieve, { id }, body)).ok
  }

type PriceTest = ReturnType<typeof priceTest>

/** Return the hour next to `missing` at which a test succeeds. The test fails at `missing` and succeeds at `known`. */
const edgeOf = async (
  succeeds: (hour: number) => Promise<boolean>,
  missing: number,
  known: number,
): Promise<number> => {
  let [failing, passing] = [missing, known]
  while (Math.abs(failing - passing) > 1) {
    const hour = Math.floor((failing + passing) / 2)
    if (await succeeds(hour)) passing = hour
    else failing = hour
  }
  return passing
}

/** Return the hour at which the known and forecast prices end; null if they do not end in 90 days. */
const priceEnd = async (hasPrice: PriceTest, at: number): Promise<number | null> => {
  const first = Math.floor(at / hourMs) * hourMs
  const hasPriceBefore = (hour: number) => hasPrice(first + hour * hourMs - 1_000)
  if (await hasPriceBefore(maxDays * 24)) return null
  return first + (await edgeOf(hasPriceBefore, maxDays * 24, 0)) * hourMs
}

/** Return the hour at which the prices of an interval begin. */
const priceStart = async (hasPrice: PriceTest, { start, end }: Interval): Promise<number> => {
  if (await hasPrice(start)) return start
  const last = Math.max(Math.floor((end - start) / hourMs) - 1, 0)
  return start + (await edgeOf(hour => hasPrice(start + hour * hourMs), 0, last)) * hourMs
}

/** Chart of prices, with the forecast dashed. */
export const priceChart = (
  prices: readonly IntervalPrice[],
  currency: string,
  chart: Omit<Parameters<typeof stepChart>[0], 'steps' | 'label' | 'unit'>,
): Html => {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: chart.zone.name,
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  const forecast = (confidence: number): string =>
    confidence < 1 ? `, forecast, confidence ${percent(String(confidence))}` : ''
  return stepChart({
    ...chart,
    label: prices.some(({ confidence }) => confidence < 1) ? 'Price, forecast dashed' : 'Price',
    unit: `${currency} per kWh`,
    steps: prices.map(({ start, end, price, confidence }) => ({
      start,
      end,
      value: Number(price),
      isForecast: confidence < 1,
      title: `${clock.format(start)} to ${clock.format(end)}: ${price} ${currency}/kWh${forecast(confidence)}`,
    })),
  })
}

const confidenceTag = (confidence: number): Content =>
  confidence === 1 ? 'known' : html`<span class="tag warn">forecast, ${percent(String(confidence))}</span>`

const intervalColumns = (zone: string, currency: string): readonly Column<IntervalPrice>[] => [
  {
    key: 'valid_from',
    name: `From (${zone})`,
    text: one => writeInstant(one.start),
    show: one => instant(writeInstant(one.start), zone, 'minute'),
  },
  {
    key: 'valid_to',
    isNamed: true,
    name: 'To',
    text: one => writeInstant(one.end),
    show: one => instant(writeInstant(one.end), zone, 'minute'),
  },
  { key: 'price', name: 'Price', isNumber: true, text: one => one.price, show: one => unitPrice(one.price, currency) },
  {
    key: 'confidence',
    name: 'Confidence',
    isNumber: true,
    text: one => String(one.confidence),
    show: one => confidenceTag(one.confidence),
  },
]

type DayPrices = { readonly day: number; readonly prices: readonly IntervalPrice[] }

const extreme = (prices: readonly IntervalPrice[], sign: 1 | -1): string =>
  prices.reduce(
    (best, { price }) => (sign * (Number(price) - Number(best)) > 0 ? price : best),
    prices[0]?.price ?? '0',
  )

/** Mean of a day by time, rounded to 5 decimals for display. */
const meanOf = (prices: readonly IntervalPrice[]): string => {
  const hours = prices.reduce((sum, { start, end }) => sum + (end - start), 0)
  return (prices.reduce((sum, { price, start, end }) => sum + Number(price) * (end - start), 0) / hours).toFixed(5)
}

const leastConfidence = ({ prices }: DayPrices): number =>
  prices.reduce((least, { confidence }) => Math.min(least, confidence), 1)

const dayColumns = (request: ConsoleRequest, zone: string, currency: string): readonly Column<DayPrices>[] => {
  const price = (key: string, name: string, of: (prices: readonly IntervalPrice[]) => string): Column<DayPrices> => ({
    key,
    name,
    isNumber: true,
    text: one => of(one.prices),
    show: one => unitPrice(of(one.prices), currency),
  })
  return [
    {
      key: 'day',
      name: `Day (${zone})`,
      text: one => writeDate(one.day),
      show: one =>
        html`<a href="${withParameters(request, rangeParameters(one.day, one.day + 1))}">${writeDate(one.day)}</a>`,
    },
    price('lowest', 'Lowest', prices => extreme(prices, -1)),
    price('mean', 'Mean, rounded', meanOf),
    price('highest', 'Highest', prices => extreme(prices, 1)),
    {
      key: 'confidence',
      name: 'Confidence',
      isNumber: true,
      text: one => String(leastConfidence(one)),
      show: one => confidenceTag(leastConfidence(one)),
    },
  ]
}

const priceTable = (
  request: ConsoleRequest,
  prices: readonly IntervalPrice[],
  { zone, start, end }: DayRange,
  currency: string,
): TableView => {
  const common = { id: 'prices', label: 'Prices', empty: 'No prices in this period.', isCompact: true }
  if (prices.length <= maxIntervals)
    return dataTable(request, { ...common, columns: intervalColumns(zone.name, currency), items: prices })
  const days = Array.from({ length: end - start }, (_, index): DayPrices => {
    const [from, to] = [startOfDayNumber(zone, start + index), startOfDayNumber(zone, start + index + 1)]
    return { day: start + index, prices: prices.filter(one => one.start < to && one.end > from) }
  }).filter(one => one.prices.length > 0)
  return dataTable(request, { ...common, columns: dayColumns(request, zone.name, currency), items: days })
}

/** Days of a page from `from` and `to` (inclusive). Default: today and tomorrow. `last` is the last day with prices. */
const readDays = ({ query }: ConsoleRequest, today: number, last: number | null) => {
  const first = parseDate(query.get('from') ?? '') ?? today
  const requested = parseDate(query.get('to') ?? '') ?? (query.has('from') ? first : today + 1)
  const start = last === null ? first : Math.min(first, last)
  const limited = Math.min(requested, start + maxDays - 1, last ?? Number.POSITIVE_INFINITY)
  return { start, end: Math.max(limited, start) + 1, isShortened: last !== null && requested > last }
}

const presets = (request: ConsoleRequest, today: number, last: number | null, range: DayRange): Html => {
  const ends: readonly (readonly [string, number, number])[] = [
    ['Today and tomorrow', today, today + 1],
    ['Next 7 days', today, today + 6],
    ['Last 7 days', today - 6, today],
    ['Last 30 days', today - 29, today],
  ]
  return html`<nav class="presets" aria-label="Periods">${ends.map(([name, from, to]) => {
    const end = Math.min(to, last ?? to) + 1
    const current = from === range.start && end === range.end ? asMarkup(' aria-current="true"') : null
    return html`<a href="${withParameters(request, rangeParameters(from, end))}"${current}>${name}</a>`
  })}</nav>`
}

/** Input of a day. Days after the last price cannot be chosen. */
const dayField = (name: string, label: string, day: number, last: number | null): Html =>
  html`<div class="field"><label for="${name}">${label}</label><input id="${name}" name="${name}" type="date" value="${writeDate(day)}"${
    last === null ? null : html` max="${writeDate(last)}"`
  }></div>`

const filterForm = (
  request: ConsoleRequest,
  location: string,
  range: DayRange | null,
  last: number | null,
  names: LocationNames = new Map(),
): Html =>
  html`<form class="filter" method="get" action="/console/prices">
${locationField(names, location)}
${range === null ? null : html`${dayField('from', 'From', range.start, last)}${dayField('to', 'To', range.end - 1, last)}`}
${choice('direction', 'Direction', directions, request.query.get('direction') ?? 'IMPORT')}
<button class="quiet" type="submit">Show</button></form>`

const lead = html`<p class="lead">Energy prices of a location, with the forecast for times without a published price.</p>`

const problem = (request: ConsoleRequest, location: string, status: number, fault: Fault): PageView => ({
  title: 'Prices',
  status,
  body: html`<h1>Prices</h1>${filterForm(request, location, null, null)}${errorNotice(fault)}`,
})

/** Page of a location without a tariff: it says how to begin. */
const withoutTariff = (request: ConsoleRequest, id: string): PageView => {
  const example = callRequest(tariffCreate, {}, { ...tariffKind.example, location_id: id })
  return {
    title: 'Prices',
    body: html`<h1>Prices</h1>${filterForm(request, id, null, null)}
<div class="empty"><p>The location has no tariff in this direction. <a href="/console/tariffs?location_id=${id}">Check its tariffs</a>, or create one with
this request:</p>${curlBlock(example)}</div>`,
  }
}

const priceFacts = (prices: readonly IntervalPrice[], at: number, zone: string, currency: string): Html => {
  const now = prices.find(one => one.start <= at && at < one.end)
  const next = prices.filter(one => one.end > at)
  const lowest = next.find(one => one.price === extreme(next, -1))
  const start = lowest === undefined ? '' : writeInstant(Math.max(lowest.start, at))
  return facts(
    ...(now === undefined ? [] : [['Price now', html`<strong>${unitPrice(now.price, currency)}</strong>`] as const]),
    ...(lowest === undefined
      ? []
      : [
          [
            'Lowest price from now on',
            html`${unitPrice(lowest.price, currency)}, ${instant(start, zone, 'minute')}`,
          ] as const,
        ]),
  )
}

/** Show the prices of a location. The choice of days ends where its prices end. */
const showPrices = async (request: ConsoleRequest): Promise<PageView> => {
  const { query, call, at } = request
  const requested = query.get('location_id')?.trim() ?? ''
  if (requested === '')
    return {
      title: 'Prices',
      body: html`<h1>Prices</h1>${lead}${filterForm(request, '', null, null, await newestLocations(request))}
<div class="empty"><p>Enter a location above, or send this request:</p>${curlBlock(firstPrices)}</div>`,
    }
  const direction = query.get('direction') ?? 'IMPORT'
  const location = await call(locationRetrieve, { id: requested })
  if (!location.ok) return problem(request, requested, location.status, location.fault)
  const { timezone, currency_code: currency, id } = location.value
  const zone = zoneOf(timezone)
  const today = dayOf(zone, at)
  const hasPrice = priceTest(request, id, direction)
  const endsAt = await priceEnd(hasPrice, at)
  const last = endsAt === null ? null : dayOf(zone, endsAt - 1)
  const { isShortened, ...days } = readDays(request, today, last)
  const range = { zone, ...days }
  const { start_time: from, end_time: to } = instantsOf(range)
  const interval = { start: Date.parse(from), end: Date.parse(to) }
  const end = Math.min(interval.end, endsAt ?? interval.end)
  const read = (start: number) => {
    const body = { start_time: writeInstant(start), end_time: writeInstant(end), tariff_direction: direction }
    return call(priceRetrieve, { id }, body)
  }
  const first = await read(interval.start)
  const isLate = !first.ok && first.fault.code === 'no_price_data'
  const begin = isLate ? await priceStart(hasPrice, { start: interval.start, end }) : interval.start
  const found = isLate ? await read(begin) : first
  if (!found.ok && found.fault.code === 'no_tariff_connected') return withoutTariff(request, id)
  if (!found.ok) return problem(request, requested, found.status, found.fault)
  const prices = intervalPrices(found.value)
  const table = priceTable(request, prices, range, currency)
  const chart = { interval, zone, now: at }
  return {
    title: 'Prices',
    tables: [table],
    body: html`<h1>Prices of ${location.value.display_name ?? location.value.reference_id ?? 'a location'}</h1>${lead}
${presets(request, today, last, range)}${filterForm(request, requested, range, last)}
${begin > interval.start ? html`<p class="notice warn">Prices of these days begin at ${instant(writeInstant(begin), timezone, 'minute')} (${timezone}).</p>` : null}
${endsAt === null ? null : html`<p class="${isShortened ? 'notice warn' : 'hint'}">Prices and their forecast end at ${instant(writeInstant(endsAt), timezone, 'minute')} (${timezone}).</p>`}
${priceFacts(prices, at, timezone, currency)}${priceChart(prices, currency, chart)}${table.markup}
<p><a href="/console/schedules?location_id=${id}">Plan a charge at these prices</a></p>`,
  }
}

export const priceRoutes: readonly ConsoleRoute[] = [getRoute('/console/prices', showPrices)]
