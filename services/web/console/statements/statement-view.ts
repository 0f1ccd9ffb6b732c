import type { JsonNumber } from '../../../contract/json/exact-number.ts'
import type { DeviceWire } from '../../../contract/registry/device.ts'
import type { StatementWire } from '../../../contract/statements/statement.ts'
import type { StatementLineWire } from '../../../contract/statements/statement-line.ts'
import { writeDate } from '../../../domain/civil-date.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { CostWire } from '../costs/cost-pages.ts'
import { differenceOf, exactText, kilowattHours, money, percent } from '../kit/amount.ts'
import { barChart } from '../kit/bar-chart.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { dayOf, instantsOf, zoneOf } from '../kit/dates.ts'
import { instant, row, table } from '../page-parts.ts'

/** Maximum number of devices of a peak whose references a page reads. */
const maxNamedDevices = 8

type Peak = NonNullable<NonNullable<StatementLineWire['reason']>['peaks']>[number]

/** Units with a plural. Units such as kWh, and those of an account, have none. */
const countedUnits: ReadonlySet<string> = new Set(['day', 'month', 'year', 'minute', 'session'])

const quantity = (value: JsonNumber | null, unit: string | null): string => {
  if (value === null) return ''
  const text = exactText(value)
  return unit === null ? text : `${text} ${unit}${countedUnits.has(unit) && text !== '1' ? 's' : ''}`
}

const boundTexts = {
  MEASURED: 'the measured power',
  ROLLING: 'the months before',
  RATCHET: 'the highest earlier month',
  FLOOR: 'the minimum power',
} as const

/** Write the calculation of a line in words and figures. */
const calculationText = ({ kind, reason, unit_price: price, quantity: amount, unit }: StatementLineWire): string => {
  const { rate, base, limit, measured_kw: measured, bound_by: bound = null } = reason ?? {}
  if (rate !== undefined && base !== undefined) return `${percent(rate)} of ${exactText(base)}`
  if (limit !== undefined && base !== undefined)
    return `${kind === 'MINIMUM' ? 'at least' : 'at most'} ${exactText(limit)}; the lines are ${exactText(base)}`
  const product = price === null ? null : `${quantity(amount, unit)} × ${exactText(price)}`
  if (measured !== undefined) {
    const rule = bound === null ? 'several rules' : boundTexts[bound]
    return `${product ?? quantity(amount, unit)}; set by ${rule}, measured ${exactText(measured)} kW`
  }
  if (reason?.statement_id !== undefined) return `adjusts the final statement ${reason.statement_id}`
  return product ?? (kind === 'ENERGY' ? 'several prices' : '')
}

const calculationOf = (line: StatementLineWire): Content => {
  const id = line.reason?.statement_id
  return id === undefined
    ? calculationText(line)
    : html`adjusts <a href="/console/statements/${id}">a final statement</a>`
}

const sourceOf = ({ tariff_id: tariff, charge_id: charge }: StatementLineWire): Content => {
  if (tariff !== null) return html`<a href="/console/tariffs/${tariff}">tariff</a>`
  return charge === null ? '' : html`<a href="/console/charges/${charge}">charge</a>`
}

const columnsOf = (currency: string): readonly Column<StatementLineWire>[] => [
  { key: 'name', name: 'Line', text: one => one.name },
  { key: 'component', name: 'Component', text: one => one.component },
  { key: 'kind', name: 'Kind', text: one => one.kind.toLowerCase() },
  { key: 'quantity', name: 'Quantity', isNumber: true, text: one => quantity(one.quantity, one.unit) },
  {
    key: 'unit_price',
    name: 'Unit price',
    isNumber: true,
    text: one => (one.unit_price === null ? '' : exactText(one.unit_price)),
  },
  {
    key: 'amount',
    name: 'Amount',
    isNumber: true,
    text: one => exactText(one.amount),
    show: one => money(one.amount, currency),
  },
  { key: 'calculation', name: 'Calculation', text: calculationText, show: calculationOf },
  { key: 'source', name: 'From', text: one => one.tariff_id ?? one.charge_id ?? '', show: sourceOf },
]

/** Table of the lines of all periods. */
export const lineTable = (request: ConsoleRequest, { periods, currency_code, totals }: StatementWire): TableView =>
  dataTable(request, {
    ...{ id: 'lines', label: 'Lines', columns: columnsOf(currency_code) },
    items: periods.flatMap(period => period.lines),
    empty: 'No lines. The location has no records and no charges in this time.',
    totals: ['Total', '', '', '', '', money(totals.gross, currency_code), '', ''],
  })

type PriceLine = {
  readonly name: string
  readonly price: JsonNumber
  readonly energy: JsonNumber
  readonly amount: JsonNumber
}

const maxPriceLines = 300

/** Table of the prices of each line of energy, of a statement with the detail PRICE. */
export const priceTable = (request: ConsoleRequest, { periods, currency_code: currency }: StatementWire): TableView => {
  const items = periods
    .flatMap(({ lines }) => lines.flatMap(({ name, prices = [] }) => prices.map(one => ({ ...one, name }))))
    .slice(0, maxPriceLines)
  const number = (key: 'price' | 'energy' | 'amount', name: string, show?: (one: PriceLine) => Content) => ({
    ...{ key, name, isNumber: true, text: (one: PriceLine) => exactText(one[key]) },
    ...(show === undefined ? {} : { show }),
  })
  return dataTable<PriceLine>(request, {
    ...{ id: 'prices', label: 'Prices of the lines', items, empty: 'No line of energy has prices.', isCompact: true },
    columns: [
      { key: 'name', name: 'Line', text: one => one.name },
      number('energy', 'Energy', one => `${exactText(one.energy)} kWh`),
      number('price', 'Price', one => `${exactText(one.price)} ${currency}/kWh`),
      number('amount', 'Amount', one => money(one.amount, currency)),
    ],
  })
}

/** Chart of the day of a peak, by hour, with the hour of the peak in another colour. */
const peakDay = async (request: ConsoleRequest, locationId: string, zone: string, peak: Peak): Promise<Html | null> => {
  const day = dayOf(zoneOf(zone), Date.parse(peak.start_time))
  const cost = await request.api<CostWire>(
    'POST',
    `/costs/interval/${locationId}?aggregation=HOUR`,
    instantsOf({ zone: zoneOf(zone), start: day, end: day + 1 }),
  )
  if (!cost.ok) return null
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
  const bars = cost.value.data.map(one => {
    const label = clock.format(Date.parse(one.start_time))
    const isPeak =
      Date.parse(one.start_time) < Date.parse(peak.end_time) && Date.parse(one.end_time) > Date.parse(peak.start_time)
    const kwh = kilowattHours(one.energy.value)
    return {
      label,
      value: Number(kwh),
      title: `${label}: ${kwh} kWh`,
      href: null,
      isForecast: false,
      tone: isPeak ? 2 : 0,
    }
  })
  return barChart({
    label: `Energy on ${writeDate(day)} with the time of the peak marked`,
    unit: 'kWh',
    bars,
    now: null,
  })
}

/** Read the own references of the first devices of a peak. */
const deviceNames = async ({ api }: ConsoleRequest, { users }: Peak): Promise<ReadonlyMap<string, string>> => {
  const ids = [...new Set(users.flatMap(({ device_id: id }) => (id === null ? [] : [id])))].slice(0, maxNamedDevices)
  const devices = await Promise.all(ids.map(id => api<DeviceWire>('GET', `/devices/${id}`)))
  return new Map(devices.flatMap(one => (one.ok ? [[one.value.id, one.value.reference_id] as const] : [])))
}

const peakText = (locationId: string, peak: Peak, zone: string, names: ReadonlyMap<string, string>): Html => {
  const { start_time, end_time } = peak
  const records = `/console/records?${new URLSearchParams({ location_id: locationId, start_time, end_time })}`
  return html`<p>The highest power was <strong>${exactText(peak.kw)} kW</strong>, from ${instant(start_time, zone, 'minute')} to
${instant(end_time, zone, 'minute')} (${zone}). <a href="${records}">Records of this time</a></p>
${table(
  'Energy of the peak',
  ['Device', 'Session', 'Energy', 'Share'],
  peak.users.map(user =>
    row(
      user.device_id === null
        ? 'location'
        : html`<a href="/console/devices/${user.device_id}">${names.get(user.device_id) ?? user.device_id}</a>`,
      user.session_reference_id ?? '',
      `${exactText(user.energy)} kWh`,
      percent(user.share),
    ),
  ),
  'No device is known for this peak.',
)}`
}

/** Explain the peaks of the demand lines of a statement. */
export const peakSections = async (request: ConsoleRequest, statement: StatementWire): Promise<Content> => {
  const { location_id: id, location_timezone: zone } = statement
  const lines = statement.periods
    .flatMap(period => period.lines)
    .filter(({ reason }) => (reason?.peaks ?? []).length > 0)
  return Promise.all(
    lines.slice(0, 4).map(async ({ name, reason }) => {
      const [peak] = reason?.peaks ?? []
      if (peak === undefined) return null
      const [chart, names] = await Promise.all([peakDay(request, id, zone, peak), deviceNames(request, peak)])
      return html`<section><h2>Highest power of “${name}”</h2>${peakText(id, peak, zone, names)}${chart}</section>`
    }),
  )
}

type Compared = { readonly name: string; readonly before: string; readonly now: string }

/** Compare the lines of two statements by component and name. */
export const monthComparison = (
  request: ConsoleRequest,
  statement: StatementWire,
  before: StatementWire,
): TableView => {
  const { currency_code: currency } = statement
  const amounts = (one: StatementWire): ReadonlyMap<string, string> =>
    new Map(
      one.periods
        .flatMap(period => period.lines)
        .map(line => [`${line.component}: ${line.name}`, exactText(line.amount)]),
    )
  const [now, then] = [amounts(statement), amounts(before)]
  const items = [...new Set([...then.keys(), ...now.keys()])].map(name => ({
    ...{ name, before: then.get(name) ?? '0', now: now.get(name) ?? '0' },
  }))
  const amount = (key: string, name: string, of: (one: Compared) => string): Column<Compared> => ({
    ...{ key, name, isNumber: true, text: of },
    show: one => money(of(one), currency),
  })
  const [first, second] = [exactText(before.totals.gross), exactText(statement.totals.gross)]
  return dataTable<Compared>(request, {
    ...{ id: 'months', label: 'Comparison with the month before', items, empty: 'No lines.', isCompact: true },
    columns: [
      { key: 'name', name: 'Line', text: one => one.name },
      amount('before', `${before.start_date} on`, one => one.before),
      amount('now', `${statement.start_date} on`, one => one.now),
      amount('difference', 'Difference', one => differenceOf(one.now, one.before)),
    ],
    totals: ['Total', money(first, currency), money(second, currency), money(differenceOf(second, first), currency)],
  })
}
