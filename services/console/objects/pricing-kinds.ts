import {
  type CalendarWire,
  calendarCreate,
  calendarDelete,
  calendarList,
  calendarObject,
  calendarRetrieve,
  calendarUpdate,
} from '../../contract/calendars/calendar.ts'
import { chargeCreate, chargeDelete, chargeList, chargeRetrieve, chargeUpdate } from '../../contract/charges/charge.ts'
import type { AnswerOf } from '../../contract/operation.ts'
import type { ChargeKind } from '../../domain/charge/charge.ts'
import { html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { dataTable, type TableView } from '../kit/data-table.ts'
import { chargeChangeEffects, chargeDeletionEffects } from './charge-effects.ts'
import { chargeTerms } from './charge-terms.ts'
import { days, dayTypes, namedDays, numberFormat, powerSteps } from './line-formats.ts'
import { membersOf } from './object-form.ts'
import type { FormMember, ObjectKind } from './object-kind.ts'
import { createdColumn, deletionOf, nameColumn } from './registry-kinds.ts'
import { historySection } from './tariff-kind.ts'

type ChargeWire = AnswerOf<typeof chargeRetrieve>

const validity: readonly FormMember[] = [
  { name: 'start_date', label: 'First day', hint: 'Such as 2026-01-01. Leave empty for an open start.' },
  { name: 'end_date', label: 'Day after the last', hint: 'Such as 2027-01-01. Leave empty for an open end.' },
]

const chargeKindNames: Readonly<Record<ChargeKind, string>> = {
  FIXED: 'Fixed fee',
  DEMAND: 'Demand: highest power',
  SESSION: 'Sessions',
  USAGE: 'Energy',
  MINIMUM: 'Minimum bill',
  MAXIMUM: 'Maximum bill',
  PERCENTAGE: 'Percentage or tax',
}

const units = ['DAY', 'MONTH', 'YEAR', 'PERIOD', 'SESSION', 'MINUTE'] as const

/** Members of a form for a charge, without its location. */
export const chargeTermMembers: readonly FormMember[] = [
  { name: 'kind', label: 'Kind', options: Object.entries(chargeKindNames) },
  { name: 'name', label: 'Name', hint: 'Line of the statement', isRequired: true },
  { name: 'component', label: 'Component', hint: 'Name that groups lines, such as grid' },
  {
    name: 'price',
    label: 'Price',
    format: numberFormat,
    hint: 'Of a fee, a session or a minute, or for each kWh or kW. In the currency of the location.',
  },
  {
    name: 'per',
    label: 'Per',
    options: [['', 'Default of the kind'], ...units.map(unit => [unit, unit.toLowerCase()] as const)],
  },
  { name: 'amount', label: 'Amount of a minimum or maximum', format: numberFormat },
  { name: 'rate', label: 'Rate of a percentage', hint: 'A fraction: 0.25 is 25 percent.', format: numberFormat },
  {
    name: 'steps',
    label: 'Steps of a demand',
    format: powerSteps,
    hint: 'One step on each line: power in kW from which the amount applies, and the amount, such as 2 206.',
  },
  ...validity,
  {
    name: 'terms',
    label: 'Other terms',
    type: 'whole',
    hint: 'JSON object with further members of the kind, such as {"highest": 3}. Leave empty for none.',
  },
]

/** Members among the facts of the page of a charge. */
const chargeFacts = ['kind', 'name', 'component', 'start_date', 'end_date']

export const chargeKind: ObjectKind<ChargeWire> = {
  path: '/charges',
  operations: {
    list: chargeList,
    retrieve: chargeRetrieve,
    create: chargeCreate,
    update: chargeUpdate,
    delete: chargeDelete,
  },
  name: 'charge',
  title: 'Charges',
  lead: 'Prices in addition to the tariffs of a location: fixed fees, demand, sessions, limits and taxes. They appear on statements.',
  columns: [
    nameColumn('/charges', 'Charge', one => one.name),
    { key: 'kind', name: 'Kind', text: one => one.kind.toLowerCase() },
    { key: 'component', name: 'Component', text: one => one.component },
    { key: 'start_date', name: 'From', isNamed: true, text: one => one.start_date ?? 'open' },
    { key: 'end_date', name: 'To', isNamed: true, text: one => one.end_date ?? 'open' },
    createdColumn,
  ],
  locationOf: one => one.location_id,
  filters: [['location_id', 'Location ID or reference']],
  nameOf: one => one.name,
  linkedIds: one => [one.location_id],
  factsOf: (one, links) => [
    ['Kind', one.kind.toLowerCase()],
    ['Component', one.component],
    ['Location', links.get(one.location_id)],
    ['From', one.start_date ?? 'open'],
    ['To', one.end_date ?? 'open'],
  ],
  sections: async (request, one) => {
    const { content, tables } = await historySection(request, one.id, one.plan_id)
    return {
      tables,
      content: html`<section aria-labelledby="terms"><h2 id="terms">Terms</h2>${chargeTerms(one, chargeFacts)}</section>${content}`,
    }
  },
  example: {
    location_id: 'loc_…',
    kind: 'FIXED',
    name: 'Standing charge',
    component: 'base',
    start_date: '2026-01-01',
    price: 9.9,
    per: 'MONTH',
  },
  members: [{ name: 'location_id', label: 'Location ID or reference', isRequired: true }, ...chargeTermMembers],
  changeMembers: [
    { name: 'name', label: 'Name', isRequired: true },
    { name: 'component', label: 'Component', hint: 'Name of its part of a statement' },
    ...validity,
  ],
  editable: one => ({
    name: one.name,
    component: one.component,
    start_date: one.start_date,
    end_date: one.end_date,
  }),
  lockedBy: one =>
    one.plan_id === null
      ? null
      : html`The <a href="/console/plans/${one.plan_id}">plan</a> keeps this charge. Change the plan instead.`,
  changeEffects: chargeChangeEffects,
  deletions: [{ name: 'delete', label: 'Delete', effects: chargeDeletionEffects }],
}

type NamedDay = { readonly date: string; readonly name: string }
type DayType = CalendarWire['day_types'][number]

const [maxShownHolidays, maxShownDates] = [40, 60]

/** Holidays from today. The file has all of them. */
const holidayTable = (request: ConsoleRequest, days: readonly NamedDay[]): TableView => {
  const today = new Date(request.at).toISOString().slice(0, 10)
  const next = days.filter(({ date }) => date >= today)
  return dataTable(request, {
    id: 'holidays',
    label: 'Next holidays',
    empty: 'No holidays.',
    hasMore: false,
    items: request.query.get('csv') === 'holidays' ? next : next.slice(0, maxShownHolidays),
    columns: [
      { key: 'date', name: 'Date', text: one => one.date },
      { key: 'name', name: 'Name', text: one => one.name },
    ],
  })
}

/** Special days by type. The file has all dates. */
const specialDayTable = (request: ConsoleRequest, items: readonly DayType[]): TableView =>
  dataTable(request, {
    id: 'special-days',
    label: 'Special days',
    items,
    empty: '',
    hasMore: false,
    columns: [
      { key: 'day_type', name: 'Day type', text: one => one.name },
      {
        key: 'dates',
        name: 'Dates',
        text: one => one.dates.join(', '),
        show: one => one.dates.slice(0, maxShownDates).join(', '),
      },
    ],
  })

export const calendarKind: ObjectKind<CalendarWire & { readonly dates?: readonly NamedDay[] }> = {
  path: '/calendars',
  operations: {
    list: calendarList,
    retrieve: calendarRetrieve,
    create: calendarCreate,
    update: calendarUpdate,
    delete: calendarDelete,
  },
  name: 'calendar',
  title: 'Calendars',
  lead: 'Public holidays and special days, which schedules of tariffs name.',
  columns: [
    nameColumn('/calendars', 'Calendar', one => one.name),
    { key: 'country_code', name: 'Country', text: one => one.country_code ?? '' },
    { key: 'state', name: 'State', text: one => one.state ?? '' },
    { key: 'account_id', name: 'Owner', text: one => (one.account_id === null ? 'shared' : 'this account') },
    createdColumn,
  ],
  filters: [],
  nameOf: one => one.name,
  factsOf: one => [
    ['Country', one.country_code ?? '–'],
    ['State', one.state ?? '–'],
    ['Owner', one.account_id === null ? 'shared by all accounts' : 'this account'],
  ],
  sections: async (request, one) => {
    const [holidays, special] = [holidayTable(request, one.dates ?? []), specialDayTable(request, one.day_types)]
    const types =
      one.day_types.length === 0
        ? null
        : html`<section aria-labelledby="types"><h2 id="types">Special days</h2>${special.markup}</section>`
    return {
      tables: [holidays, special],
      content: html`<section aria-labelledby="dates"><h2 id="dates">Next holidays</h2>${holidays.markup}</section>${types}`,
    }
  },
  example: { name: 'Berlin', country_code: 'DE', state: 'BE' },
  ...membersOf(calendarObject.members, { add: namedDays, remove: days, day_types: dayTypes }),
  lockedBy: one => (one.account_id === null ? 'This calendar is shared by all accounts and cannot be changed.' : null),
  deletions: [deletionOf('Locations with this calendar return to the calendar of their country.')],
  hasDryRun: true,
}
