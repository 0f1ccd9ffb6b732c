import type { AnswerOf } from '../../contract/operation.ts'
import { type PlanWire, planCreate, planDelete, planList, planRetrieve, planUpdate } from '../../contract/plans/plan.ts'
import { type AssignmentWire, planAssignmentList } from '../../contract/plans/plan-assignment.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, mayDo } from '../console-request.ts'
import { counted, wholeNumber } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'
import { type LocationNames, locationColumn, newestLocations } from '../kit/location-names.ts'
import { hasOlderRows, instant, listParameters, pageLinks, showResult } from '../page-parts.ts'
import { chargeTerms } from './charge-terms.ts'
import type { ObjectKind, Sections } from './object-kind.ts'
import { createdColumn, nameColumn } from './registry-kinds.ts'
import { historySection } from './tariff-kind.ts'
import { schedulePicture } from './tariff-picture.ts'

type Version = PlanWire['versions'][number]

const maxVersions = 6

const nameOf = (charge: Version['charges'][number]): string => String(Reflect.get(charge, 'name') ?? 'Charge')

const versionSection = (plan: PlanWire, { version, from, tariffs, charges }: Version, mayChange: boolean): Html => {
  const path = `/console/plans/${plan.id}/versions/${version}`
  return html`<h3>Version ${version}, from ${from ?? 'the beginning'}</h3>${
    mayChange
      ? html`<div class="actions"><a class="button" href="${path}/edit">Edit version ${version}</a>${
          from === null ? null : html`<a class="button danger" href="${path}/delete">Delete version ${version}</a>`
        }</div>`
      : null
  }${tariffs.map(
    tariff =>
      html`<h4>${tariff.display_name ?? tariff.type.toLowerCase()}, ${tariff.direction.toLowerCase()}</h4>${schedulePicture(tariff.schedule, tariff.market_rates, plan.currency_code)}`,
  )}${charges.map(charge => html`<h4>${nameOf(charge)}</h4>${chargeTerms(charge)}`)}`
}

const versionsSection = (plan: PlanWire, mayChange: boolean): Html =>
  html`<section aria-labelledby="versions"><h2 id="versions">Versions</h2>
${mayChange ? html`<p><a class="button" href="/console/plans/${plan.id}/versions/new">New version</a></p>` : null}
${plan.versions
  .toReversed()
  .slice(0, maxVersions)
  .map(version => versionSection(plan, version, mayChange))}
${plan.versions.length > maxVersions ? html`<p class="hint">The ${maxVersions} latest of ${plan.versions.length} versions.</p>` : null}</section>`

const assignmentActions = (plan: PlanWire, { id }: AssignmentWire): Html => {
  const path = `/console/plans/${plan.id}/assignments/${id}`
  return html`<span><a href="${path}/end">Change end</a> · <a href="${path}/delete">Remove</a></span>`
}

const statusText = ({ status, error }: AssignmentWire): Content =>
  error === null ? status.toLowerCase() : html`<span class="tag bad">failed</span> ${error.message}`

const sitesTable = (
  request: ConsoleRequest,
  plan: PlanWire,
  names: LocationNames,
  list: ListOf<AssignmentWire>,
): TableView => {
  const columns: readonly Column<AssignmentWire>[] = [
    locationColumn<AssignmentWire>(names, one => one.location_id),
    { key: 'start_date', name: 'From', isNamed: true, text: one => one.start_date },
    {
      key: 'end_date',
      name: 'To',
      isNamed: true,
      text: one => one.end_date ?? '',
      show: one => one.end_date ?? 'open',
    },
    { key: 'status', name: 'Status', text: one => one.error?.message ?? one.status.toLowerCase(), show: statusText },
  ]
  const changes: Column<AssignmentWire> = {
    key: 'id',
    name: 'Change',
    text: one => one.id,
    show: one => assignmentActions(plan, one),
  }
  return dataTable(request, {
    id: 'sites',
    label: 'Locations',
    items: list.data,
    isCompact: true,
    hasMore: hasOlderRows(request.query, list),
    columns: mayDo(request, { access: 'all' }) ? [...columns, changes] : columns,
    empty: 'No locations yet. Assign the plan, and its tariffs and charges appear at the locations.',
  })
}

const sections = async (request: ConsoleRequest, plan: PlanWire): Promise<Sections> => {
  const mayChange = mayDo(request, { access: 'all' })
  const [list, names, history] = await Promise.all([
    request.call(planAssignmentList, { id: plan.id, ...listParameters(request.query, [], 50) }),
    newestLocations(request),
    historySection(request, plan.id),
  ])
  const sites = list.ok ? sitesTable(request, plan, names, list.value) : null
  return {
    tables: [...(sites === null ? [] : [sites]), ...history.tables],
    content: html`${versionsSection(plan, mayChange)}<section aria-labelledby="sites-title"><h2 id="sites-title">Locations</h2>
${mayChange ? html`<p><a class="button" href="/console/plans/${plan.id}/assign">Assign locations</a></p>` : null}
${showResult(list, value => html`${sites?.markup}${pageLinks(`/console/plans/${plan.id}`, request.query, ['sort-sites'], value)}`)}</section>${history.content}`,
  }
}

export const planKind: ObjectKind<PlanWire, AnswerOf<typeof planList>['data'][number]> = {
  path: '/plans',
  operations: {
    list: planList,
    retrieve: planRetrieve,
    create: planCreate,
    update: planUpdate,
    delete: planDelete,
  },
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
    [
      'Applied',
      one.applied === one.sites ? 'everywhere' : `${wholeNumber(one.applied)} of ${wholeNumber(one.sites)} locations`,
    ],
    ['Failed', one.failed.length === 0 ? 'none' : html`<span class="tag bad">${one.failed.length}</span>`],
    ['Created', instant(one.time_created)],
  ],
  linksOf: ({ id }) => [['Compare costs', `/console/simulations?plan=${id}`]],
  sections,
  example: {
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
  members: [],
  changeMembers: [{ name: 'name', label: 'Name', isRequired: true }],
  editable: one => ({ name: one.name }),
  deletions: [
    {
      name: 'delete',
      label: 'Delete',
      effects: async (_, { id, sites }) =>
        sites === 0
          ? html`<p>No location has the plan. The deletion cannot be undone.</p>`
          : html`<p>${counted(String(sites), 'location')} ${sites === 1 ? 'has' : 'have'} the plan. Remove the plan from
<a href="/console/plans/${id}#sites-title">its locations</a> first: “Remove” prices their records again. To keep past costs, use “Change end” and keep the plan.</p>`,
    },
  ],
  hasDryRun: true,
}
