import type { JsonNumber } from '../../../contract/json/exact-number.ts'
import type { DeviceWire } from '../../../contract/registry/device.ts'
import type { StatementWire } from '../../../contract/statements/statement.ts'
import type { StatementLineWire } from '../../../contract/statements/statement-line.ts'
import { civilDate, dayNumber, parseDate, writeDate } from '../../../domain/civil-date.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import type { CostWire } from '../costs/cost-pages.ts'
import { differenceOf, exactText, kilowattHours, money, percent } from '../kit/amount.ts'
import { barChart } from '../kit/bar-chart.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import { dayOf, instantsOf, zoneOf } from '../kit/dates.ts'
import { objectName } from '../kit/object-name.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, facts, field, instant, row, table } from '../page-parts.ts'

/** Maximum number of devices of a peak whose references a page reads. */
const maxNamedDevices = 8

type Peak = NonNullable<NonNullable<StatementLineWire['reason']>['peaks']>[number]

const quantity = (value: JsonNumber | null, unit: string | null): string =>
  value === null ? '' : `${exactText(value)}${unit === null ? '' : ` ${unit}`}`

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
  {
    key: 'source',
    name: 'From',
    text: one => one.tariff_id ?? one.charge_id ?? '',
    show: ({ tariff_id: tariff, charge_id: charge }) =>
      tariff !== null
        ? html`<a href="/console/tariffs/${tariff}">tariff</a>`
        : charge !== null
          ? html`<a href="/console/charges/${charge}">charge</a>`
          : '',
  },
]

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

const peakText = (peak: Peak, zone: string, names: ReadonlyMap<string, string>): Html =>
  html`<p>The highest power was <strong>${exactText(peak.kw)} kW</strong>, from ${instant(peak.start_time, zone, 'minute')} to
${instant(peak.end_time, zone, 'minute')} (${zone}).</p>
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

/** Explain the peaks of the demand lines of a statement. */
const peakSections = async (request: ConsoleRequest, statement: StatementWire): Promise<Content> => {
  const lines = statement.periods
    .flatMap(period => period.lines)
    .filter(({ reason }) => (reason?.peaks ?? []).length > 0)
  return Promise.all(
    lines.slice(0, 4).map(async ({ name, reason }) => {
      const [peak] = reason?.peaks ?? []
      if (peak === undefined) return null
      const [chart, names] = await Promise.all([
        peakDay(request, statement.location_id, statement.location_timezone, peak),
        deviceNames(request, peak),
      ])
      return html`<section><h2>Peak of ${name}</h2>${peakText(peak, statement.location_timezone, names)}${chart}</section>`
    }),
  )
}

/** Compare the lines of two statements by component and name. */
const comparison = (statement: StatementWire, before: StatementWire): Html => {
  const { currency_code: currency } = statement
  const amounts = (one: StatementWire): ReadonlyMap<string, string> =>
    new Map(
      one.periods
        .flatMap(period => period.lines)
        .map(line => [`${line.component}: ${line.name}`, exactText(line.amount)]),
    )
  const [now, then] = [amounts(statement), amounts(before)]
  return table(
    'Comparison with the month before',
    ['Line', `${before.start_date} on`, `${statement.start_date} on`, 'Difference'],
    [...new Set([...then.keys(), ...now.keys()])].map(name => {
      const [a, b] = [then.get(name) ?? '0', now.get(name) ?? '0']
      return row(name, money(a, currency), money(b, currency), money(differenceOf(b, a), currency))
    }),
    'No lines.',
  )
}

const monthOf = (day: number, months: number): number => {
  const { year, month } = civilDate(day)
  const index = year * 12 + month - 1 + months
  return dayNumber(Math.floor(index / 12), (index % 12) + 1, 1)
}

const statementForm = (locationId: string, start: number, end: number): Html =>
  html`<form class="filter" method="get" action="/console/statements">
${field('location_id', 'Location ID or reference:…', { value: locationId, required: true })}
${field('start', 'First day', { type: 'date', value: writeDate(start) })}
${field('end', 'Day after the last', { type: 'date', value: writeDate(end) })}
<button class="quiet" type="submit">Calculate</button></form>`

const statementView = async (
  request: ConsoleRequest,
  form: Html,
  statement: StatementWire,
  before: StatementWire | null,
): Promise<PageView> => {
  const { currency_code: currency, totals } = statement
  const lines = dataTable(request, {
    ...{
      id: 'lines',
      label: 'Lines',
      columns: columnsOf(currency),
      items: statement.periods.flatMap(period => period.lines),
    },
    empty: 'No lines. The location has no records and no charges in this time.',
    totals: ['Total', '', '', '', '', money(totals.gross, currency), ''],
  })
  return {
    title: 'Statement',
    tables: [lines],
    body: html`<h1>Statement</h1>${form}
${facts(
  ['ID', html`<code>${statement.id}</code>`],
  [
    'Location',
    html`<a href="/console/locations/${statement.location_id}">${await objectName(request, statement.location_id)}</a>`,
  ],
  ['Period', `${statement.start_date} to ${statement.end_date} (${statement.location_timezone})`],
  ['Status', `${statement.status.toLowerCase()}${statement.complete ? '' : ', incomplete'}`],
  ['Net', money(totals.net, currency)],
  ['Tax', money(totals.tax, currency)],
  ['Gross', html`<strong>${money(totals.gross, currency)}</strong>`],
)}
${
  statement.gaps.length === 0
    ? null
    : html`<p class="notice warn">${statement.gaps.length} times have no records or no price. The amounts can still change.</p>`
}
<section aria-labelledby="lines-title"><h2 id="lines-title">Lines</h2>${lines.markup}</section>
${await peakSections(request, statement)}
${before === null ? null : html`<section aria-labelledby="compared"><h2 id="compared">Compared with the month before</h2>${comparison(statement, before)}</section>`}`,
  }
}

/** Show the bill of a location: its lines, the cause of each peak, and the month before. */
const showStatement = async (request: ConsoleRequest): Promise<PageView> => {
  const { query, api, at } = request
  const locationId = query.get('location_id')?.trim() ?? ''
  const today = Math.floor(at / 86_400_000)
  const start = parseDate(query.get('start') ?? '') ?? monthOf(today, 0)
  const end = Math.max(parseDate(query.get('end') ?? '') ?? monthOf(start, 1), start + 1)
  const form = statementForm(locationId, start, end)
  if (locationId === '')
    return {
      title: 'Statements',
      body: html`<h1>Statements</h1><p class="lead">A bill of a location with a line for each component and charge.</p>${form}`,
    }
  const calculate = (from: number, to: number) =>
    api<StatementWire>('POST', `/statements/${encodeURIComponent(locationId)}`, {
      start_date: writeDate(from),
      end_date: writeDate(to),
    })
  const [statement, before] = await Promise.all([
    calculate(start, end),
    calculate(monthOf(start, -1), monthOf(start, 0)),
  ])
  if (!statement.ok)
    return {
      title: 'Statement',
      status: statement.status,
      body: html`<h1>Statement</h1>${form}${errorNotice(statement.fault)}`,
    }
  return statementView(request, form, statement.value, before.ok ? before.value : null)
}

export const statementRoutes: readonly ConsoleRoute[] = [getRoute('/console/statements', showStatement)]
