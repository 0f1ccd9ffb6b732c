import { intervalCost } from '../../contract/costs/energy-cost.ts'
import { deviceRetrieve } from '../../contract/registry/device.ts'
import type { StatementWire } from '../../contract/statements/statement.ts'
import type { StatementLineWire } from '../../contract/statements/statement-line.ts'
import { writeDate } from '../../domain/civil-date.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { exactText, kilowattHours, percent, separated } from '../kit/amount.ts'
import { barChart } from '../kit/bar-chart.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { dayOf, instantsOf, zoneOf } from '../kit/dates.ts'
import type { Sections } from '../objects/object-kind.ts'
import { instant } from '../page-parts.ts'

type Reason = NonNullable<StatementLineWire['reason']>
type Peak = NonNullable<Reason['peaks']>[number]
type Month = NonNullable<Reason['history']>[number]

/** Maximum number of devices of a line whose references a page reads. */
const maxNamedDevices = 8
/** Maximum number of lines that a page explains. */
const maxLines = 4
/** Maximum number of devices in a cell. */
const maxShownUsers = 3
/** A sum of rounded powers can differ from the rounded sum by some 1e-9 kW. */
const tolerance = 1e-6

/** Own references of devices by id. */
type Names = ReadonlyMap<string, string>

/** Chart of the day of a peak, by hour, with the hours of all peaks of the line in another colour. */
const peakDay = async (
  request: ConsoleRequest,
  locationId: string,
  zone: string,
  [peak, ...others]: readonly [Peak, ...Peak[]],
): Promise<Html | null> => {
  const day = dayOf(zoneOf(zone), Date.parse(peak.start_time))
  const cost = await request.call(
    intervalCost,
    { id: locationId, aggregation: 'HOUR' },
    instantsOf({ zone: zoneOf(zone), start: day, end: day + 1 }),
  )
  if (!cost.ok) return null
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' })
  const bars = cost.value.data.map(one => {
    const label = clock.format(Date.parse(one.start_time))
    const isPeak = [peak, ...others].some(
      ({ start_time: start, end_time: end }) =>
        Date.parse(one.start_time) < Date.parse(end) && Date.parse(one.end_time) > Date.parse(start),
    )
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
    label: `Energy on ${writeDate(day)} with the time of the highest power marked`,
    unit: 'kWh',
    bars,
    now: null,
  })
}

/** Read the own references of the first devices of peaks. */
const deviceNames = async ({ call }: ConsoleRequest, peaks: readonly Peak[]): Promise<Names> => {
  const used = peaks.flatMap(({ users }) => users.flatMap(({ device_id: id }) => (id === null ? [] : [id])))
  const ids = [...new Set(used)].slice(0, maxNamedDevices)
  const devices = await Promise.all(ids.map(id => call(deviceRetrieve, { id })))
  return new Map(
    devices.flatMap(one => (one.ok ? [[one.value.id, one.value.display_name ?? one.value.reference_id] as const] : [])),
  )
}

const deviceLink = (device: string | null, names: Names): Content =>
  device === null ? 'location' : html`<a href="/console/devices/${device}">${names.get(device) ?? device}</a>`

/** Devices of a peak with their energy. */
const userTable = (request: ConsoleRequest, id: string, { users }: Peak, names: Names): TableView =>
  dataTable<Peak['users'][number]>(request, {
    id,
    label: 'Energy of the highest power',
    items: users,
    empty: 'No device is known for this time.',
    columns: [
      {
        key: 'device_id',
        name: 'Device',
        text: one => one.device_id ?? 'location',
        show: one => deviceLink(one.device_id, names),
      },
      { key: 'session_reference_id', name: 'Session', text: one => one.session_reference_id ?? '' },
      {
        key: 'energy_kwh',
        name: 'Energy',
        isNumber: true,
        text: one => exactText(one.energy),
        show: one => `${separated(one.energy)} kWh`,
      },
      {
        key: 'share',
        name: 'Share',
        isNumber: true,
        text: one => exactText(one.share),
        show: one => percent(one.share),
      },
    ],
  })

const recordsPath = (locationId: string, { start_time, end_time }: Peak): string =>
  `/console/records?${new URLSearchParams({ location_id: locationId, start_time, end_time })}`

const isWeighted = ({ weight }: Peak): boolean => exactText(weight) !== '1'

const usersOf = ({ users }: Peak, names: Names): Content => {
  if (users.length === 0) return html`<span class="none">unknown</span>`
  const more = users.length - maxShownUsers
  return html`${users
    .slice(0, maxShownUsers)
    .map(
      ({ device_id: device, share }, index) =>
        html`${index === 0 ? '' : ', '}${deviceLink(device, names)} ${percent(share)}`,
    )}${more > 0 ? ` and ${more} more` : ''}`
}

/** All powers from which the measured power of a line is calculated, each with its time and devices. */
const peakTable = (
  request: ConsoleRequest,
  id: string,
  locationId: string,
  zone: string,
  peaks: readonly Peak[],
  names: Names,
): TableView => {
  const weight: Column<Peak> = {
    key: 'weight',
    name: 'Weight',
    isNumber: true,
    text: one => exactText(one.weight),
    show: one => `× ${separated(one.weight)}`,
  }
  return dataTable<Peak>(request, {
    id,
    label: 'Powers that count',
    items: peaks,
    empty: 'No power was measured.',
    isCompact: true,
    columns: [
      {
        key: 'start_time',
        name: `From (${zone})`,
        text: one => one.start_time,
        show: one => html`<a href="${recordsPath(locationId, one)}">${instant(one.start_time, zone, 'minute')}</a>`,
      },
      {
        key: 'end_time',
        name: 'To',
        isNamed: true,
        text: one => one.end_time,
        show: one => instant(one.end_time, zone, 'minute'),
      },
      {
        key: 'kw',
        name: 'Power',
        isNumber: true,
        text: one => exactText(one.kw),
        show: one => `${separated(one.kw)} kW`,
      },
      ...(peaks.some(isWeighted) ? [weight] : []),
      {
        key: 'devices',
        name: 'Devices',
        isNamed: true,
        text: ({ users }) => users.map(one => `${one.device_id ?? 'location'} ${exactText(one.share)}`).join('; '),
        show: one => usersOf(one, names),
      },
    ],
  })
}

/** Say how the powers make the measured power. The numbers show whether it is their mean or their sum. */
const calculationText = (peaks: readonly Peak[], measured: string): string => {
  const powers = peaks.some(isWeighted) ? 'powers times their weights' : 'powers'
  const sum = peaks.reduce((total, { kw, weight }) => total + Number(exactText(kw)) * Number(exactText(weight)), 0)
  const isMeasured = (value: number): boolean => Math.abs(value - Number(measured)) < tolerance
  const result = `The measured power is ${separated(measured)} kW`
  if (isMeasured(sum / peaks.length)) return `${result}: the mean of these ${peaks.length} ${powers}.`
  if (isMeasured(sum)) return `${result}: the sum of these ${peaks.length} ${powers}.`
  return `${result}. It also counts lower powers. These are the ${peaks.length} highest.`
}

const peakText = (locationId: string, peak: Peak, zone: string): Html => {
  const { start_time, end_time } = peak
  return html`<p>The highest power was <strong>${separated(peak.kw)} kW</strong>, from ${instant(start_time, zone, 'minute')} to
${instant(end_time, zone, 'minute')} (${zone}). <a href="${recordsPath(locationId, peak)}">Records of this time</a></p>`
}

const monthSources = { RECORDS: 'records', GIVEN: 'given with the charge' } as const

/** Powers of the earlier months that a rule of the line compares. */
const monthTable = (request: ConsoleRequest, id: string, months: readonly Month[]): TableView =>
  dataTable<Month>(request, {
    id,
    label: 'Power of earlier months',
    items: months,
    empty: 'No earlier months.',
    isCompact: true,
    columns: [
      { key: 'month', name: 'Month', text: one => one.month },
      {
        key: 'kw',
        name: 'Power',
        isNumber: true,
        text: one => exactText(one.kw),
        show: one => `${separated(one.kw)} kW`,
      },
      { key: 'source', name: 'From', isNamed: true, text: ({ source }) => monthSources[source] },
    ],
  })

/** Explain the power of a line of demand: each power that counts, the devices of the highest one, and earlier months. */
const explainLine = async (
  request: ConsoleRequest,
  { location_id: id, location_timezone: zone }: StatementWire,
  { name, reason }: StatementLineWire,
  number: number,
): Promise<Sections> => {
  const { peaks = [], history = [], measured_kw: measured = 0 } = reason ?? {}
  const [peak, ...others] = peaks
  if (peak === undefined) return { content: null }
  const [chart, names] = await Promise.all([peakDay(request, id, zone, [peak, ...others]), deviceNames(request, peaks)])
  const users = userTable(request, `peak-${number}`, peak, names)
  const all = others.length === 0 ? null : peakTable(request, `peaks-${number}`, id, zone, peaks, names)
  const months = history.length === 0 ? null : monthTable(request, `months-${number}`, history)
  return {
    tables: [users, all, months].filter(one => one !== null),
    content: html`<section><h2>Power of “${name}”</h2>${
      all === null ? null : html`<p>${calculationText(peaks, exactText(measured))}</p>${all.markup}`
    }${peakText(id, peak, zone)}${users.markup}${chart}${
      months === null ? null : html`<h3>Power of earlier months</h3>${months.markup}`
    }</section>`,
  }
}

/** Explain the powers of the demand lines of a statement. */
export const peakSections = async (request: ConsoleRequest, statement: StatementWire): Promise<readonly Sections[]> => {
  const lines = statement.periods
    .flatMap(period => period.lines)
    .filter(({ reason }) => (reason?.peaks ?? []).length > 0)
  const sections = await Promise.all(
    lines.slice(0, maxLines).map((line, index) => explainLine(request, statement, line, index + 1)),
  )
  if (lines.length <= maxLines) return sections
  const others = lines.slice(maxLines).map(({ name }) => `“${name}”`)
  const more = `The page explains ${maxLines} lines of power. The API also explains ${others.join(', ')}.`
  return [...sections, { content: html`<p class="hint">${more}</p>` }]
}
