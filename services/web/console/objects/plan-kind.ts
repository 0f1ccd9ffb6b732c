import type { PlanWire } from '../../../contract/plans/plan.ts'
import type { AssignmentWire } from '../../../contract/plans/plan-assignment.ts'
import { type Content, type Html, html } from '../../ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import { type ConsoleRequest, mayDo } from '../console-request.ts'
import { wholeNumber } from '../kit/amount.ts'
import { locationLink, newestLocations } from '../kit/location-names.ts'
import { instant, listQuery, pageLinks, row, showResult, table } from '../page-parts.ts'
import { chargeTerms } from './charge-terms.ts'
import type { ObjectKind, Sections } from './object-kind.ts'
import { createdColumn, deletionOf, nameColumn } from './registry-kinds.ts'
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

const sitesSection = async (request: ConsoleRequest, plan: PlanWire, mayChange: boolean): Promise<Html> => {
  const [list, names] = await Promise.all([
    request.api<ListOf<AssignmentWire>>('GET', `/plans/${plan.id}/assignments${listQuery(request.query, [], 50)}`),
    newestLocations(request),
  ])
  return html`<section aria-labelledby="sites"><h2 id="sites">Locations</h2>
${mayChange ? html`<p><a class="button" href="/console/plans/${plan.id}/assign">Assign locations</a></p>` : null}
${showResult(
  list,
  value =>
    html`${table(
      'Locations',
      ['Location', 'From', 'To', 'Status', ...(mayChange ? ['Change'] : [])],
      value.data.map(one =>
        row(
          locationLink(names, one.location_id),
          one.start_date,
          one.end_date ?? 'open',
          statusText(one),
          ...(mayChange ? [assignmentActions(plan, one)] : []),
        ),
      ),
      'No locations yet. Assign the plan, and its tariffs and charges appear at the locations.',
    )}${pageLinks(`/console/plans/${plan.id}`, request.query, [], value)}`,
)}</section>`
}

const sections = async (request: ConsoleRequest, plan: PlanWire): Promise<Sections> => {
  const mayChange = mayDo(request, { access: 'all' })
  const [sites, history] = await Promise.all([sitesSection(request, plan, mayChange), historySection(request, plan.id)])
  return { content: html`${versionsSection(plan, mayChange)}${sites}${history}` }
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
  members: [],
  changeMembers: [{ name: 'name', label: 'Name', isRequired: true }],
  editable: one => ({ name: one.name }),
  deletions: [deletionOf('Only a plan without locations can be deleted. Remove it from its locations first.')],
  hasDryRun: true,
}
