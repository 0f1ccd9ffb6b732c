import type { intervalCost } from '../../contract/costs/energy-cost.ts'
import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import { startOfDayNumber } from '../../domain/civil-time.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { energy, exactText, kilowattHours, money, sumTexts, wholeNumber } from '../kit/amount.ts'
import { type Bar, barChart } from '../kit/bar-chart.ts'
import { type Column, withParameters } from '../kit/data-table.ts'
import { type DayRange, dayOf, rangeParameters, zoneOf } from '../kit/dates.ts'
import { instant } from '../page-parts.ts'

/** Cost of the API. */
export type CostWire = AnswerOf<typeof intervalCost>

type CostElement = CostWire['data'][number]

/** Periods by which a page shows costs, with their names. */
export const costUnits = [
  ['DAY', 'Day'],
  ['MONTH', 'Month'],
  ['HOUR', 'Hour'],
] as const

export type CostUnit = (typeof costUnits)[number][0]

export const costText = ({ tariff }: CostElement): string => numberText(tariff?.cost.value ?? 0)

/** Path of the records of an object that start in a period. */
const recordsPath = (objectId: string, { start_time, end_time }: CostElement): string | null => {
  const name = { loc_: 'location_id', dev_: 'device_id' }[objectId.slice(0, 4)]
  return name === undefined
    ? null
    : `/console/records?${new URLSearchParams({ [name]: objectId, start_time, end_time })}`
}

/**
 * Page that an element leads to: the days of a month, or the records of a day or an hour. Null if it has no records.
 */
const elementPath = (request: ConsoleRequest, cost: CostWire, element: CostElement, unit: CostUnit): string | null => {
  if (numberText(element.records) === '0') return null
  const zone = zoneOf(cost.location_timezone)
  const [start, end] = [dayOf(zone, Date.parse(element.start_time)), dayOf(zone, Date.parse(element.end_time) - 1) + 1]
  const isWholeDay = unit === 'DAY' && recordsPath(cost.object_id, element) === null
  if (unit === 'MONTH') return withParameters(request, { ...rangeParameters(start, end), by: 'DAY' })
  if (isWholeDay) return withParameters(request, { ...rangeParameters(start, end), by: 'HOUR' })
  return recordsPath(cost.object_id, element)
}

/** Formats of the labels. */
const labelOptions = {
  HOUR: { hour: '2-digit', minute: '2-digit' },
  DAY: { day: 'numeric', month: 'short' },
  MONTH: { month: 'short', year: 'numeric' },
} as const

/** Return the function that labels the elements of a cost. It takes some 0.1 ms to create a format. */
const labelsOf = (zone: string, unit: CostUnit): ((element: CostElement) => string) => {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...labelOptions[unit] })
  return ({ start_time }) => format.format(Date.parse(start_time))
}

/** Return whether no record of an element has a price. */
const hasNoPrice = ({ records, unpriced_records: unpriced }: CostElement): boolean =>
  unpriced !== undefined && exactText(unpriced) === exactText(records)

const isPositive = ({ value }: { readonly value: JsonNumber }): boolean => exactText(value) !== '0'

/** Return whether energy of an element is estimated. */
const isEstimated = (element: CostElement): boolean => isPositive(element.estimated_energy)

/** Return whether energy of an element has a forecast price, or the price after the end of a contract. */
const hasForecast = (element: CostElement): boolean => isPositive(element.provisional_energy)

/** Tag of energy from records with a confidence below 1. */
export const estimatedTag: Html = html`<span class="tag warn">estimated</span>`
/** Tag of energy with a forecast price, or the price after the end of a contract. */
export const forecastTag: Html = html`<span class="tag warn">forecast</span>`

/** Facts of the estimated energy and of the energy with a forecast price; none if the energy is 0. */
export const uncertainFacts = ({ data }: Pick<CostWire, 'data'>): readonly (readonly [string, Html])[] =>
  (
    [
      ['Estimated energy', 'estimated_energy'],
      ['Energy with a forecast price', 'provisional_energy'],
    ] as const
  ).flatMap(([name, key]) => {
    const sum = sumTexts(data.map(one => exactText(one[key].value)))
    return sum === '0' ? [] : [[name, energy(sum)] as const]
  })

/** Chart of a cost by hour, day or month, with the forecast part and now marked. */
export const costChart = (request: ConsoleRequest, cost: CostWire, unit: CostUnit, range: DayRange): Html => {
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

/** Columns of the table of a cost. */
export const costColumns = (
  request: ConsoleRequest,
  cost: CostWire,
  unit: CostUnit,
): readonly Column<CostElement>[] => {
  const { currency_code: currency, location_timezone: zone, data } = cost
  const isUnpriced = data.some(one => one.unpriced_records !== undefined)
  const precision = unit === 'HOUR' ? 'minute' : 'day'
  const labelOf = labelsOf(zone, unit)
  return [
    {
      key: 'start_time',
      name: `${costUnits.find(([one]) => one === unit)?.[1]} (${zone})`,
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
          : html`${money(costText(one), currency)}${isEstimated(one) ? html` ${estimatedTag}` : null}${hasForecast(one) ? html` ${forecastTag}` : null}`,
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

/** Last row of the table of a cost. */
export const costTotals = ({ data, currency_code: currency }: CostWire): readonly Content[] => [
  'Total',
  energy(sumTexts(data.map(one => exactText(one.energy.value)))),
  money(sumTexts(data.map(costText)), currency),
  wholeNumber(sumTexts(data.map(one => exactText(one.records)))),
  energy(sumTexts(data.map(one => exactText(one.unpriced_energy?.value ?? 0)))),
]
