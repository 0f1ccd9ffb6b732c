import { eventList } from '../../contract/events/event.ts'
import { priceRetrieve } from '../../contract/prices/price.ts'
import { type DeviceWire, deviceList } from '../../contract/registry/device.ts'
import { type LocationWire, locationRetrieve } from '../../contract/registry/location.ts'
import { scheduleAmount, scheduleAmountRetrieve } from '../../contract/schedules/schedule-amount.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { writeInstant } from '../../domain/instant.ts'
import { dayMs, hourMs } from '../../domain/interval.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { exactText, money, percent } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { dataTable, type TableView } from '../kit/data-table.ts'
import { dayOf, localText, readLocal, zoneOf } from '../kit/dates.ts'
import { type DeviceNames, newestDevices } from '../kit/device-names.ts'
import { firstSchedule } from '../kit/first-requests.ts'
import { type LocationNames, locationField, newestLocations } from '../kit/location-names.ts'
import { objectName } from '../kit/object-name.ts'
import { enteredText } from '../kit/object-text.ts'
import type { ChartBand } from '../kit/step-chart.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, facts, field, instant, showResult } from '../page-parts.ts'
import { intervalPrices, priceChart } from './price-pages.ts'
import {
  powerText,
  type Run,
  runColumns,
  runsOf,
  type ScheduleWire,
  scheduleColumns,
  schedulesPath,
  watts,
  windowTable,
} from './schedule-tables.ts'

/** Areas of the runs in a chart of prices, one colour for each device. */
const bandsOf = (runs: readonly Run[], zone: string, names: DeviceNames): readonly ChartBand[] => {
  const devices = [...new Set(runs.map(({ device }) => device))]
  const highest = runs.reduce((most, { power }) => Math.max(most, watts(power)), 1)
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
  return runs.map(({ device, start, end, power }) => ({
    start: Date.parse(start),
    end: Date.parse(end),
    share: watts(power) / highest,
    title: `${names.get(device) ?? device}, ${clock.format(Date.parse(start))} to ${clock.format(Date.parse(end))}: ${powerText(power)}`,
    tone: (devices.indexOf(device) % 2) + 1,
  }))
}

const maxShownRuns = 200

const planFacts = (schedule: ScheduleWire, location: string): Html => {
  const { currency_code: currency, cost, savings, location_timezone: zone } = schedule
  const forecast = Number(exactText(cost.confidence)) < 1 ? `, confidence ${percent(cost.confidence)}` : ''
  return facts(
    ['ID', html`<code>${schedule.id}</code>`],
    ['Location', html`<a href="/console/locations/${schedule.location_id}">${location}</a>`],
    ['Created', instant(schedule.time_created, zone, 'minute')],
    ['Cost', html`<strong>${money(cost.value ?? 0, currency)}</strong>${forecast}`],
    [
      'Saved, compared with an immediate start',
      html`${money(savings.value, currency)}${savings.percentage === null ? null : ` (${exactText(savings.percentage)} %)`}`,
    ],
  )
}

/** Show a stored schedule over the prices of its time. */
const showSchedule = async (request: ConsoleRequest): Promise<PageView> => {
  const { call, ids, at } = request
  const found = await call(scheduleAmountRetrieve, { id: ids[0] })
  if (!found.ok)
    return {
      title: 'Schedule',
      status: found.status,
      body: html`<h1>Schedule</h1>${errorNotice(found.fault)}<p>A schedule is stored for 24 hours. <a href="/console/schedules">Calculate another one</a>.</p>`,
    }
  const schedule = found.value
  const { location_timezone: zone, data, currency_code: currency } = schedule
  const start = data.reduce((first, one) => Math.min(first, Date.parse(one.start_time)), Number.POSITIVE_INFINITY)
  const end = data.reduce((last, one) => Math.max(last, Date.parse(one.end_time)), start + hourMs)
  const direction = data.every(one => one.tariff_direction === 'EXPORT') ? 'EXPORT' : 'IMPORT'
  const interval = { start_time: writeInstant(start), end_time: writeInstant(end), tariff_direction: direction }
  const [prices, names, location] = await Promise.all([
    call(priceRetrieve, { id: schedule.location_id }, interval),
    newestDevices(request),
    objectName(request, schedule.location_id),
  ])
  const runs = runsOf(schedule)
  const list = dataTable(request, {
    id: 'runs',
    label: 'Runs',
    columns: runColumns(zone, names),
    items: runs.slice(0, maxShownRuns),
    hasMore: runs.length > maxShownRuns,
    empty: 'No device runs.',
    isCompact: true,
  })
  const windows = windowTable(request, schedule, names)
  const chart = { bands: bandsOf(runs, zone, names), interval: { start, end }, zone: zoneOf(zone), now: at }
  return {
    title: 'Schedule',
    tables: [list, windows],
    body: html`<p class="trail"><a href="/console/schedules">Schedules</a></p><h1>Schedule from ${instant(interval.start_time, zone, 'minute')}</h1>
${planFacts(schedule, location)}
<p class="hint">The coloured areas are the power of the devices. The line is the price.</p>
${showResult(prices, value => priceChart(intervalPrices(value), currency, chart))}
<section aria-labelledby="runs-title"><h2 id="runs-title">Times of the devices</h2>${list.markup}
${runs.length > maxShownRuns ? html`<p class="hint">The first ${maxShownRuns} of ${runs.length} times.</p>` : null}</section>
<section aria-labelledby="devices"><h2 id="devices">Windows</h2>${windows.markup}</section>`,
  }
}

/** Default window: from the next hour to the next 07:00. */
const defaultWindow = (zoneName: string, at: number): { readonly from: string; readonly until: string } => {
  const next = (Math.floor(at / hourMs) + 1) * hourMs
  const zone = zoneOf(zoneName)
  const from = localText(zone, next)
  const day = dayOf(zone, next) + (from.slice(11) < '07:00' ? 0 : 1)
  return { from, until: `${writeDate(day)}T07:00` }
}

const planForm = (
  { csrf, form: sent, at }: ConsoleRequest,
  { id, timezone }: Pick<LocationWire, 'id' | 'timezone'>,
  devices: readonly DeviceWire[],
  fault: Fault | null,
): Html => {
  const { from, until } = defaultWindow(timezone, at)
  const value = (name: string, fallback = ''): string => sent.get(name) ?? fallback
  const input = (name: string, label: string, fallback = '', type = 'text') =>
    field(name, label, { value: value(name, fallback), required: true, fault, type })
  return form(
    csrf,
    '/console/schedules/new',
    html`<input type="hidden" name="location_id" value="${id}">
<div class="field"><label for="device_id">Device ID or reference</label>
<input id="device_id" name="device_id" value="${enteredText(value('device_id'))}" list="devices" required autocomplete="off" spellcheck="false">
<datalist id="devices">${devices.map(one => html`<option value="${one.id}">${one.reference_id}</option>`)}</datalist>
${fault?.field === 'device_id' ? html`<p class="fault">${fault.message}</p>` : null}</div>
${input('energy', 'Energy in kWh')}${input('power', 'Maximum power in kW')}
${input('start_time', `From (${timezone})`, from, 'datetime-local')}${input('end_time', `Until (${timezone})`, until, 'datetime-local')}
<div class="actions"><button type="submit">Calculate schedule</button></div>`,
  )
}

/** Names of the inputs by the members of the request. */
const inputOf: Readonly<Record<string, string>> = {
  'data[0].energy.value': 'energy',
  'data[0].max_power.value': 'power',
  'data[0].device_id': 'device_id',
  'data[0].start_time': 'start_time',
  'data[0].end_time': 'end_time',
}

const maxShownSchedules = 20

type Latest = { readonly content: Html; readonly tables: readonly TableView[] }

/** Latest schedules, by their events. A schedule is stored for 24 hours. */
const latestSchedules = async ({ call, at, query }: ConsoleRequest, names: LocationNames): Promise<Latest> => {
  const events = await call(eventList, { event_type: 'schedule.created', limit: maxShownSchedules })
  const latest = events.ok ? events.value.data.filter(({ time_created }) => at - Date.parse(time_created) < dayMs) : []
  const next = Math.ceil(at / hourMs) * hourMs
  const example = firstSchedule(writeInstant(next), writeInstant(next + 12 * hourMs))
  const table = dataTable(
    { path: schedulesPath, query },
    {
      id: 'schedules',
      label: 'Schedules',
      columns: scheduleColumns(names),
      items: latest,
      empty: html`<p>No schedules in the last 24 hours. This request calculates one:</p>${curlBlock(example)}`,
      hasMore: events.ok && events.value.has_more && latest.length === maxShownSchedules,
    },
  )
  return {
    tables: [table],
    content: html`<section aria-labelledby="latest"><h2 id="latest">Schedules of the last 24 hours</h2>${showResult(
      events,
      () => table.markup,
    )}</section>`,
  }
}

const lead = html`<p class="lead">A schedule is the cheapest time at which a device takes its energy, such as a car before the morning.</p>`

const schedulesPage = async (request: ConsoleRequest, fault: Fault | null): Promise<PageView> => {
  const requested = (request.form.get('location_id') ?? request.query.get('location_id') ?? '').trim()
  const location = requested === '' ? null : await request.call(locationRetrieve, { id: requested })
  const names = await newestLocations(request)
  const devices = location?.ok === true ? await request.call(deviceList, { limit: 100 }) : null
  const mayCreate = mayDo(request, { access: 'all' })
  const latest = await latestSchedules(request, names)
  return {
    title: 'Schedules',
    tables: latest.tables,
    status: fault === null ? (location?.ok === false ? location.status : 200) : 400,
    body: html`<h1>Schedules</h1>${lead}${fault !== null && fault.field === null ? errorNotice(fault) : null}
${
  mayCreate
    ? html`<section aria-labelledby="create"><h2 id="create">Calculate a schedule</h2>
<form class="filter" method="get" action="/console/schedules">${locationField(names, requested)}
<button class="quiet" type="submit">Choose location</button></form>
${location === null ? null : showResult(location, one => planForm(request, one, devices?.ok === true ? devices.value.data : [], fault))}</section>`
    : null
}
${latest.content}`,
  }
}

/** Calculate a schedule of one device and show it. */
const createSchedule = async (request: ConsoleRequest): Promise<PageResult> => {
  const { call, form: sent } = request
  const location = await call(locationRetrieve, { id: sent.get('location_id') ?? '' })
  if (!location.ok) return schedulesPage(request, { ...location.fault, field: null })
  const zone = location.value.timezone
  const times = ['start_time', 'end_time'].map(name => readLocal(zoneOf(zone), sent.get(name) ?? ''))
  const wrong = times.indexOf(null)
  if (wrong >= 0)
    return schedulesPage(request, {
      code: 'field_invalid',
      message: 'Enter a date and a time, such as 2026-03-29 22:00.',
      field: wrong === 0 ? 'start_time' : 'end_time',
    })
  const number = (name: string): number => Number((sent.get(name) ?? '').trim().replace(',', '.'))
  for (const name of ['energy', 'power'])
    if (!(number(name) > 0))
      return schedulesPage(request, {
        code: 'field_invalid',
        message: 'Enter a number above 0, such as 22.',
        field: name,
      })
  const created = await call(
    scheduleAmount,
    { id: location.value.id },
    {
      data: [
        {
          device_id: (sent.get('device_id') ?? '').trim(),
          start_time: times[0] ?? '',
          end_time: times[1] ?? '',
          max_power: { units: 'KW', value: number('power') },
          energy: { units: 'KWH', value: number('energy') },
        },
      ],
    },
  )
  if (created.ok) return { to: `/console/schedules/${created.value.id}?done=created` }
  return schedulesPage(request, { ...created.fault, field: inputOf[created.fault.field ?? ''] ?? null })
}

export const scheduleRoutes: readonly ConsoleRoute[] = [
  getRoute(schedulesPath, request => schedulesPage(request, null)),
  postRoute('/console/schedules/new', createSchedule),
  getRoute('/console/schedules/:schedule', showSchedule),
]
