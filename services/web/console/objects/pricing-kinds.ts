import type { CalendarWire } from '../../../contract/calendars/calendar.ts'
import type { JsonNumber } from '../../../contract/json/exact-number.ts'
import type { PlanWire } from '../../../contract/plans/plan.ts'
import type { AssignmentWire } from '../../../contract/plans/plan-assignment.ts'
import { html } from '../../ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { exactText, wholeNumber } from '../kit/amount.ts'
import { instant, row, showResult, table } from '../page-parts.ts'
import type { FormMember, ObjectKind, Sections } from './object-kind.ts'
import { createdColumn, deletionOf, nameColumn } from './registry-kinds.ts'
import { historySection } from './tariff-kind.ts'
import { schedulePicture } from './tariff-picture.ts'

/** Members of a charge that the pages use. Its terms depend on its kind. */
type ChargeWire = {
  readonly id: string
  readonly location_id: string
  readonly plan_id: string | null
  readonly kind: string
  readonly name: string
  readonly component: string
  readonly start_date: string | null
  readonly end_date: string | null
  readonly price?: JsonNumber | null
  readonly time_created: string
}

const wholeBody = (label: string): readonly FormMember[] => [
  { name: 'body', label, type: 'whole', hint: 'JSON object.' },
]

const json = (value: object): Sections => ({
  content: html`<section aria-labelledby="terms"><h2 id="terms">Terms</h2><pre class="block" tabindex="0">${JSON.stringify(value, null, 2)}</pre></section>`,
})

export const chargeKind: ObjectKind<ChargeWire> = {
  path: '/charges',
  name: 'charge',
  title: 'Charges',
  lead: 'Prices in addition to the tariffs of a location: fixed fees, demand, sessions, limits and taxes. They appear on statements.',
  columns: [
    nameColumn('/charges', 'Charge', one => one.name),
    { key: 'kind', name: 'Kind', text: one => one.kind.toLowerCase() },
    { key: 'component', name: 'Component', text: one => one.component },
    { key: 'start_date', name: 'From', text: one => one.start_date ?? 'open' },
    { key: 'end_date', name: 'To', text: one => one.end_date ?? 'open' },
    {
      key: 'location_id',
      name: 'Location',
      text: one => one.location_id,
      show: one => html`<a href="/console/locations/${one.location_id}"><code>${one.location_id}</code></a>`,
    },
    createdColumn,
  ],
  filters: [['location_id', 'Location ID']],
  nameOf: one => one.name,
  factsOf: one => [
    ['Kind', one.kind.toLowerCase()],
    ['Component', one.component],
    ['Location', html`<a href="/console/locations/${one.location_id}"><code>${one.location_id}</code></a>`],
    ['From', one.start_date ?? 'open'],
    ['To', one.end_date ?? 'open'],
    ['Price', one.price === null || one.price === undefined ? '–' : exactText(one.price)],
  ],
  sections: async (request, one) => ({
    content: html`${json(one).content}${await historySection(request, one.id)}`,
  }),
  example: {
    method: 'POST',
    path: '/charges',
    body: {
      location_id: 'loc_…',
      kind: 'FIXED',
      name: 'Standing charge',
      component: 'base',
      start_date: '2026-01-01',
      price: 9.9,
      per: 'MONTH',
    },
  },
  members: wholeBody('Charge'),
  editable: one => ({ name: one.name, end_date: one.end_date }),
  deletions: [deletionOf('The charge appears on no further statement. Final statements stay unchanged.')],
}

const assignmentsOf = async (request: ConsoleRequest, plan: PlanWire): Promise<Sections> => {
  const list = await request.api<ListOf<AssignmentWire>>('GET', `/plans/${plan.id}/assignments?limit=50`)
  const last = plan.versions.at(-1)
  return {
    content: html`<section aria-labelledby="versions"><h2 id="versions">Prices of version ${last?.version}</h2>
${(last?.tariffs ?? []).map(
  tariff =>
    html`<h3>${tariff.display_name ?? tariff.type}</h3>${schedulePicture(tariff.schedule, tariff.market_rates, plan.currency_code)}`,
)}
${last === undefined || last.charges.length === 0 ? null : html`<h3>Charges</h3><pre class="block" tabindex="0">${JSON.stringify(last.charges, null, 2)}</pre>`}</section>
<section aria-labelledby="sites"><h2 id="sites">Locations</h2>${showResult(list, ({ data }) =>
      table(
        'Locations',
        ['Location', 'From', 'To', 'Status'],
        data.map(one =>
          row(
            html`<a href="/console/locations/${one.location_id}"><code>${one.location_id}</code></a>`,
            one.start_date,
            one.end_date ?? 'open',
            one.status.toLowerCase(),
          ),
        ),
        'No locations yet. Assign the plan with POST /plans/{id}/assignments.',
      ),
    )}</section>
${await historySection(request, plan.id)}`,
  }
}

export const planKind: ObjectKind<PlanWire> = {
  path: '/plans',
  name: 'plan',
  title: 'Plans',
  lead: 'Tariffs and charges that are defined once for many locations.',
  columns: [
    nameColumn('/plans', 'Plan', one => one.name),
    { key: 'currency_code', name: 'Currency', text: one => one.currency_code },
    { key: 'versions', name: 'Versions', isNumber: true, text: one => String(one.versions.length) },
    {
      key: 'sites',
      name: 'Locations',
      isNumber: true,
      text: one => String(one.sites),
      show: one => wholeNumber(one.sites),
    },
    createdColumn,
  ],
  filters: [],
  nameOf: one => one.name,
  factsOf: one => [
    ['Currency', one.currency_code],
    ['Locations', wholeNumber(one.sites)],
    ['Applied', wholeNumber(one.applied)],
    ['Failed', wholeNumber(one.failed.length)],
    ['Created', instant(one.time_created)],
  ],
  sections: assignmentsOf,
  example: {
    method: 'POST',
    path: '/plans',
    body: {
      name: 'Night saver',
      currency_code: 'EUR',
      tariffs: [
        {
          direction: 'IMPORT',
          type: 'COMMODITY',
          display_name: 'Night saver',
          schedule: [
            {
              days_and_hours: [
                {
                  hours: [
                    { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.33 }] },
                    { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.21 }] },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  },
  members: wholeBody('Plan'),
  editable: one => ({ name: one.name }),
  deletions: [deletionOf('The tariffs and charges of the plan end at its locations.')],
  hasDryRun: true,
}

type NamedDay = { readonly date: string; readonly name: string }

export const calendarKind: ObjectKind<CalendarWire & { readonly dates?: readonly NamedDay[] }> = {
  path: '/calendars',
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
  sections: async ({ at }, one) => {
    const today = new Date(at).toISOString().slice(0, 10)
    const next = (one.dates ?? []).filter(({ date }) => date >= today).slice(0, 40)
    return {
      content: html`<section aria-labelledby="dates"><h2 id="dates">Next holidays</h2>${table(
        'Next holidays',
        ['Date', 'Name'],
        next.map(({ date, name }) => row(date, name)),
        'No holidays.',
      )}</section>${
        one.day_types.length === 0
          ? null
          : html`<section aria-labelledby="types"><h2 id="types">Special days</h2>${table(
              'Special days',
              ['Day type', 'Dates'],
              one.day_types.map(({ name, dates }) => row(name, dates.slice(0, 60).join(', '))),
              '',
            )}</section>`
      }`,
    }
  },
  example: { method: 'POST', path: '/calendars', body: { name: 'Berlin', country_code: 'DE', state: 'BE' } },
  members: wholeBody('Calendar'),
  editable: ({ name, country_code, state, add, remove, day_types }) => ({
    name,
    country_code,
    state,
    add,
    remove,
    day_types,
  }),
  deletions: [deletionOf('Locations with this calendar return to the calendar of their country.')],
  hasDryRun: true,
}
