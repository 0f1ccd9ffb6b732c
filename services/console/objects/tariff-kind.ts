import { type AuditEntriesWire, auditEntryList } from '../../contract/registry/audit-entry.ts'
import { locationRetrieve } from '../../contract/registry/location.ts'
import {
  type TariffWire,
  tariffCreate,
  tariffDelete,
  tariffList,
  tariffRetrieve,
  tariffUpdate,
} from '../../contract/tariffs/tariff.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { instant, showResult } from '../page-parts.ts'
import type { Deletion, ObjectKind, Sections } from './object-kind.ts'
import { createdColumn, nameColumn } from './registry-kinds.ts'
import { schedulePicture } from './tariff-picture.ts'
import { directionTexts, typeTexts } from './tariff-terms.ts'

const nameOf = ({ display_name, id }: TariffWire): string => display_name ?? id

const contractText = ({ contract_start_date: start, contract_end_date: end, timezone }: TariffWire): Content =>
  html`${start === null ? 'open' : instant(start, timezone, 'minute')} to ${end === null ? 'open' : instant(end, timezone, 'minute')}`

const historyColumns: readonly Column<AuditEntriesWire['data'][number]>[] = [
  {
    key: 'time',
    name: 'Time',
    text: one => one.time_created,
    show: one => instant(one.time_created),
  },
  {
    key: 'actor',
    name: 'By',
    text: one => one.actor_address ?? one.actor,
    show: one => one.actor_address ?? html`<code>${one.actor}</code>`,
  },
  { key: 'action', name: 'Change', text: one => one.action },
  {
    key: 'detail',
    name: 'Details',
    text: one => JSON.stringify(one.detail),
    show: one =>
      html`<details><summary>Show</summary><pre class="block" tabindex="0">${JSON.stringify(one.detail, null, 2).slice(0, 2_000)}</pre></details>`,
  },
]

const changesOfPlan = (planId: string): Html =>
  html`A plan keeps these prices. <a href="/console/plans/${planId}#history">See who changed the plan</a>`

/** Max changes on a page, and in its CSV file. */
const [maxShownChanges, maxCsvChanges] = [10, 100]

/** Show who changed an object and when. `planId`: the plan that keeps the object. */
export const historySection = async (
  request: ConsoleRequest,
  id: string,
  planId: string | null = null,
): Promise<{ readonly content: Content; readonly tables: readonly TableView[] }> => {
  const limit = request.query.get('csv') === 'changes' ? maxCsvChanges : maxShownChanges
  const entries = await request.call(auditEntryList, { object_id: id, limit })
  const table = dataTable(request, {
    id: 'changes',
    label: 'Changes',
    columns: historyColumns,
    items: entries.ok ? entries.value.data : [],
    empty: planId === null ? 'No changes are recorded.' : changesOfPlan(planId),
    isSortable: false,
    hasMore: entries.ok && entries.value.has_more,
  })
  return {
    tables: entries.ok ? [table] : [],
    content: html`<section aria-labelledby="history"><h2 id="history">Changes</h2>${showResult(entries, () => table.markup)}</section>`,
  }
}

const sections = async (request: ConsoleRequest, tariff: TariffWire): Promise<Sections> => {
  const [location, history] = await Promise.all([
    request.call(locationRetrieve, { id: tariff.location_id }),
    historySection(request, tariff.id, tariff.plan_id),
  ])
  const currency = location.ok ? location.value.currency_code : ''
  const at = request.query.get('at')
  const earlier = tariff.versions.length < 2 ? [] : tariff.versions.slice(-12)
  return {
    content: html`<section aria-labelledby="prices"><h2 id="prices">Prices</h2>
${at === null ? null : html`<p class="hint">A record at ${instant(at, tariff.timezone, 'minute')} led here.</p>`}
${schedulePicture(tariff.schedule, tariff.market_rates, currency)}</section>
${
  earlier.length === 0
    ? null
    : html`<section aria-labelledby="versions"><h2 id="versions">Versions</h2>${earlier.map(
        ({
          effective_from,
          schedule,
        }) => html`<h3>From ${effective_from === null ? 'the start' : instant(effective_from, tariff.timezone, 'minute')}</h3>
${schedulePicture(schedule, tariff.market_rates, currency)}`,
      )}</section>`
}${history.content}`,
    tables: history.tables,
  }
}

/** Say what records cost without a tariff. Source: docs/rules/tariffs.md #kinds-of-tariffs. */
const withoutTariff = ({ type, direction }: Pick<TariffWire, 'type' | 'direction'>): string => {
  if (type === 'NON_COMMODITY') return 'have no grid fee'
  return direction === 'LOCAL' ? 'have the price 0' : 'have no price'
}

const changeEffects = async (): Promise<Content> =>
  html`<p>The name changes no stored cost. A new contract end prices the stored records again whose time it changes. After the contract end, the prices
continue as a forecast until the next tariff starts.</p>`

const deletions: readonly Deletion<TariffWire>[] = [
  {
    name: 'end',
    label: 'End now',
    effects: async (_, tariff) =>
      html`<p>The tariff ends now. Stored costs up to now stay. Records from now on ${withoutTariff(tariff)} until another tariff starts.</p>`,
  },
  {
    name: 'void',
    label: 'Void',
    parameters: { void: true },
    effects: async (_, tariff) =>
      html`<p>The tariff is removed from its start, as if it had never existed. Without another tariff the records ${withoutTariff(tariff)}.</p>`,
  },
]

export const tariffKind: ObjectKind<TariffWire> = {
  path: '/tariffs',
  operations: {
    list: tariffList,
    retrieve: tariffRetrieve,
    create: tariffCreate,
    update: tariffUpdate,
    delete: tariffDelete,
  },
  name: 'tariff',
  title: 'Tariffs',
  lead: 'Prices for energy and grid fees of a location, in one direction.',
  columns: [
    nameColumn('/tariffs', 'Tariff', nameOf),
    { key: 'direction', name: 'Direction', text: one => one.direction.toLowerCase() },
    { key: 'type', name: 'Type', text: one => (one.type === 'COMMODITY' ? 'energy' : 'grid fee') },
    {
      key: 'contract_end_date',
      name: 'Ends',
      isNamed: true,
      text: one => one.contract_end_date ?? '',
      show: one => (one.contract_end_date === null ? 'open' : instant(one.contract_end_date, one.timezone, 'minute')),
    },
    createdColumn,
  ],
  locationOf: one => one.location_id,
  filters: [
    ['location_id', 'Location ID or reference'],
    ['direction', 'Direction', directionTexts],
    ['type', 'Type', typeTexts],
  ],
  nameOf,
  linkedIds: one => [one.location_id, one.plan_id],
  factsOf: (one, links) => [
    ['Location', links.get(one.location_id)],
    ['Direction', one.direction.toLowerCase()],
    ['Type', one.type === 'COMMODITY' ? 'energy' : 'grid fee'],
    ['Contract', contractText(one)],
    ['Source', one.connection_type.toLowerCase()],
    ['Plan', links.get(one.plan_id) ?? '–'],
  ],
  sections,
  example: {
    location_id: 'loc_…',
    direction: 'IMPORT',
    type: 'COMMODITY',
    display_name: 'Day and night',
    schedule: [
      {
        months: ['All'],
        days_and_hours: [
          {
            days: ['All'],
            hours: [
              { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.31 }] },
              { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.24 }] },
            ],
          },
        ],
      },
    ],
  },
  members: [],
  changeMembers: [
    { name: 'display_name', label: 'Name' },
    {
      name: 'contract_end_date',
      label: 'Contract end',
      hint: 'Such as 2027-01-01T00:00:00+01:00. Leave empty for an open end.',
    },
  ],
  changeEffects,
  editable: ({ display_name, contract_end_date }) => ({ display_name, contract_end_date }),
  lockedBy: one => {
    if (one.plan_id !== null)
      return html`The <a href="/console/plans/${one.plan_id}">plan</a> keeps this tariff. Change the plan instead.`
    return null
  },
  formsOf: one => [
    ...(one.plan_id === null ? [['Change prices', `/console/tariffs/${one.id}/prices`] as const] : []),
    ['Copy to locations', `/console/tariffs/new?copy=${one.id}`],
  ],
  deletions,
  hasDryRun: true,
}
