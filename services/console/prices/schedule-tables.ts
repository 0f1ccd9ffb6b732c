import type { EventWire } from '../../contract/events/event.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import type { scheduleAmountRetrieve } from '../../contract/schedules/schedule-amount.ts'
import { html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { exactText, money, power } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { type DeviceNames, deviceLink } from '../kit/device-names.ts'
import { type LocationNames, locationColumn } from '../kit/location-names.ts'
import { instant } from '../page-parts.ts'

/** Answer of the API with a schedule. */
export type ScheduleWire = AnswerOf<typeof scheduleAmountRetrieve>

type Planned = ScheduleWire['data'][number]
type Power = Planned['max_power']

const unitNames = { W: 'W', KW: 'kW', WH: 'Wh', KWH: 'kWh' } as const

/** Run of a device at one power. */
export type Run = { readonly device: string; readonly start: string; readonly end: string; readonly power: Power }

/** Return the runs of all devices of a schedule. */
export const runsOf = ({ data }: ScheduleWire): readonly Run[] =>
  data.flatMap(({ device_id: device, schedule }) =>
    schedule.map(({ start_time: start, end_time: end, power }) => ({ device, start, end, power })),
  )

/** Write a power with its unit. */
export const powerText = ({ units, value }: Power): string => `${exactText(value)} ${unitNames[units]}`

/** Return a power in W. */
export const watts = ({ units, value }: Power): number => Number(exactText(value)) * (units === 'KW' ? 1_000 : 1)

/** Columns of the runs of a schedule in a time zone. */
export const runColumns = (zone: string, names: DeviceNames): readonly Column<Run>[] => [
  {
    key: 'start_time',
    name: `Start (${zone})`,
    text: one => one.start,
    show: one => instant(one.start, zone, 'minute'),
  },
  { key: 'end_time', name: 'End', text: one => one.end, show: one => instant(one.end, zone, 'minute') },
  {
    key: 'device_id',
    name: 'Device',
    text: one => one.device,
    show: one => deviceLink(names, one.device),
  },
  {
    key: 'power',
    name: 'Power',
    isNumber: true,
    text: one => powerText(one.power),
    show: one => power(one.power.value, unitNames[one.power.units]),
  },
]

const maxShownWindows = 50

/** Table of the windows of a schedule, with energy and cost of each. */
export const windowTable = (
  request: ConsoleRequest,
  { data, location_timezone: zone, currency_code: currency }: ScheduleWire,
  names: DeviceNames,
): TableView =>
  dataTable<Planned>(request, {
    id: 'windows',
    label: 'Windows',
    items: data.slice(0, maxShownWindows),
    empty: 'No devices.',
    columns: [
      {
        key: 'device_id',
        name: 'Device',
        text: one => one.device_id,
        show: one => deviceLink(names, one.device_id),
      },
      {
        key: 'start_time',
        name: `From (${zone})`,
        text: one => one.start_time,
        show: one => instant(one.start_time, zone, 'minute'),
      },
      { key: 'end_time', name: 'To', text: one => one.end_time, show: one => instant(one.end_time, zone, 'minute') },
      {
        key: 'energy',
        name: 'Energy',
        text: one => `${exactText(one.energy.value)} ${unitNames[one.energy.units]}`,
      },
      {
        key: 'cost',
        name: 'Cost',
        isNumber: true,
        text: one => exactText(one.cost.value ?? 0),
        show: one => money(one.cost.value ?? 0, currency),
      },
    ],
    hasMore: data.length > maxShownWindows,
  })

/** Path of the page of schedules. */
export const schedulesPath = '/console/schedules'

/** Columns of the events of created schedules. */
export const scheduleColumns = (names: LocationNames): readonly Column<EventWire>[] => [
  {
    key: 'time_created',
    name: 'Created',
    text: one => one.time_created,
    show: one => instant(one.time_created),
  },
  {
    key: 'schedule_id',
    name: 'Schedule',
    text: ({ data }) => String(data['id']),
    show: ({ data }) => html`<a href="${schedulesPath}/${String(data['id'])}"><code>${String(data['id'])}</code></a>`,
  },
  locationColumn(names, ({ data }) => String(data['location_id'])),
]
